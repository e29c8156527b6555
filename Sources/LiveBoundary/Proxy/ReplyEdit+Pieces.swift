import AgentRuntime
import AgentTrace

// MARK: - Pieces that are of the form of a whole reply

extension ReplyEdit {
  /// What was met in the pieces before.
  struct Met {
    /// How many calls.
    var count = 0
    var hasText = false
  }

  /// Takes calls out of a piece; `nil` where it is of no known form.
  typealias Take = (JSONValue, Notices, inout Met) -> JSONValue?

  func pieces(_ body: JSONValue, _ notices: Notices, _ take: Take) -> JSONValue? {
    var met = Met()
    guard let list = body.arrayValue else { return take(body, notices, &met) }
    var edited: [JSONValue] = []
    for piece in list {
      guard let new = take(piece, notices, &met) else { return nil }
      edited.append(new)
    }
    return .array(edited)
  }

  func pieces(
    _ notices: Notices, _ take: Take
  ) -> [(ServerSentEvent, JSONValue?)]? {
    var met = Met()
    var events: [(ServerSentEvent, JSONValue?)] = []
    for case (let event?, let value) in values {
      guard let value else {
        events.append((event, nil))
        continue
      }
      guard let new = take(value, notices, &met) else { return nil }
      events.append((event, new))
    }
    return events
  }

  static func candidates(
    _ piece: JSONValue, _ notices: Notices, _ met: inout Met
  ) -> JSONValue? {
    guard var root = piece.objectValue else { return nil }
    guard var candidates = piece["candidates"]?.arrayValue else { return piece }
    for (place, candidate) in candidates.enumerated()
    where (candidate["index"]?.intValue ?? 0) == 0 {
      guard var object = candidate.objectValue, var content = candidate["content"]?.objectValue,
        let parts = content["parts"]?.arrayValue
      else { continue }
      var edited: [JSONValue] = []
      for part in parts {
        guard isCall(part), var fields = part.objectValue else {
          edited.append(part)
          continue
        }
        defer { met.count += 1 }
        if let notice = notices[met.count] {
          fields["functionCall"] = nil
          // What is said in its place is no thought.
          fields["thought"] = nil
          let said = part["text"]?.stringValue.map { $0.isEmpty ? "" : "\($0)\n" } ?? ""
          fields["text"] = .string(said + notice)
        }
        edited.append(.object(fields))
      }
      content["parts"] = .array(edited)
      object["content"] = .object(content)
      candidates[place] = .object(object)
    }
    root["candidates"] = .array(candidates)
    return .object(root)
  }

  static func chatPiece(
    _ piece: JSONValue, _ notices: Notices, _ met: inout Met
  ) -> JSONValue? {
    guard var root = piece.objectValue else { return nil }
    guard var message = piece["message"]?.objectValue else { return piece }
    if let calls = message["tool_calls"]?.arrayValue {
      var (kept, words): ([JSONValue], [String]) = ([], [])
      for call in calls {
        if let notice = notices[met.count] { words.append(notice) } else { kept.append(call) }
        met.count += 1
      }
      message["tool_calls"] = kept.isEmpty ? nil : .array(kept)
      if !words.isEmpty {
        let before = message["content"]?.stringValue ?? ""
        let start = met.hasText || !before.isEmpty ? "\n" : ""
        message["content"] = .string(before + start + words.joined(separator: "\n"))
      }
    }
    met.hasText = met.hasText || message["content"]?.stringValue?.isEmpty == false
    root["message"] = .object(message)
    return .object(root)
  }
}
