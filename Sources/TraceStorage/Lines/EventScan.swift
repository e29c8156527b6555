@_spi(Scanning) import AgentTrace

/// Finds a few of an event's data without reading the others: no value is made of what nobody asks
/// for.
///
/// Only lines as this project writes them are taken apart this way; of any other the answer is `nil`,
/// and the plain way has to be gone. `EventScanTests` holds both against each other.
struct EventScan {
  /// Which data are wanted.
  struct Wanted {
    var keys: [StaticString]
    /// A list of objects, and which of their members are wanted.
    var list: StaticString?
    var elementKeys: [StaticString] = []
  }

  private var scanner: LineScanner

  private init?(_ line: UnsafeBufferPointer<UInt8>) {
    guard let scanner = LineScanner(line), !line.holdsMoreValues(than: LogFormat.readValueLimit)
    else {
      return nil
    }
    self.scanner = scanner
  }

  /// The event of a line, without its time, with only those data that have some of these keys.
  ///
  /// - Parameter runId: used again, where the line's is the same.
  static func event(
    of line: UnsafeBufferPointer<UInt8>, withOnly wanted: Wanted, runId: String = ""
  ) -> Event? {
    guard var scan = EventScan(line) else { return nil }
    return scan.event(withOnly: wanted, runId: runId)
  }

  private mutating func event(withOnly wanted: Wanted, runId: String) -> Event? {
    guard let envelope = Envelope(&scanner), scanner.skip(UInt8(ascii: "{")),
      let data = members(wanted), scanner.skip(UInt8(ascii: "}")), scanner.isAtEnd,
      let runId = scanner.text(envelope.runId, known: runId)
    else { return nil }
    return Event(
      seq: envelope.seq, step: envelope.step, type: envelope.type, runId: runId, t: envelope.t,
      data: data)
  }

  /// The decision of a line, if it calls tools and nothing in that stands for something else.
  ///
  /// - Parameter passesAnswers: an answer is then a decision without calls, its text unread.
  static func decision(
    of line: UnsafeBufferPointer<UInt8>, passesAnswers: Bool = false
  ) -> DecisionOutline? {
    guard var scan = EventScan(line), let decision = scan.decision(passesAnswers) else {
      return nil
    }
    // What stands for something else may do so in an answer, which nobody reads.
    return decision.calls.isEmpty || !line.mayHoldForms ? decision : nil
  }

  private mutating func decision(_ passesAnswers: Bool) -> DecisionOutline? {
    guard let envelope = Envelope(&scanner), envelope.type == .decision else { return nil }
    var (caller, kind): (Range<Int>?, Range<Int>?)
    var calls: [DecisionOutline.Call]?
    var (hasText, isOfUser) = (false, false)
    let isWhole = scanner.members { scanner, key in
      switch scanner.bytes(key) {
      case "caller":
        caller = scanner.quotedName()
        return caller != nil
      case "calls":
        calls = scanner.calls()
        return calls != nil
      case "evidenceRefs": return scanner.elements { $0.quotedName() != nil }
      case "kind":
        kind = scanner.quotedName()
        return kind != nil
      case "modelResult": return scanner.number() != nil
      case "ofUser":
        isOfUser = scanner.skip("true")
        return isOfUser || scanner.skip("false")
      case "text":
        hasText = scanner.byte == UInt8(ascii: "\"") || scanner.isAtForm
        return hasText && scanner.skipValue()
      default: return scanner.skipValue()
      }
    }
    guard isWhole, scanner.skip(UInt8(ascii: "}")), scanner.isAtEnd, let kind else { return nil }
    if scanner.isText("answer", at: kind) {
      guard passesAnswers, hasText, calls == nil else { return nil }
    } else {
      guard scanner.isText("tool", at: kind), calls != nil else { return nil }
    }
    return DecisionOutline(
      seq: envelope.seq, step: envelope.step, caller: caller.map(scanner.text), calls: calls ?? [],
      isOfUser: isOfUser)
  }

  /// The stop of a line, if nothing in it stands for something else.
  static func stop(of line: UnsafeBufferPointer<UInt8>) -> Trajectory.StopFact? {
    guard !line.mayHoldForms, var scanner = LineScanner(line), let stop = scanner.stop(),
      scanner.skip(UInt8(ascii: "}")), scanner.isAtEnd
    else { return nil }
    return stop.ending
  }

  /// What a line says of its call.
  static func callNote(of line: UnsafeBufferPointer<UInt8>) -> CallNote? {
    guard var scan = EventScan(line) else { return nil }
    return scan.callNote()
  }

  private mutating func callNote() -> CallNote? {
    guard let envelope = Envelope(&scanner), scanner.skip("{\"") else { return nil }
    var callId: String?
    var status: String?
    var isEffectUnknown = false
    var tool: String?
    var attempt: Int?
    var lastKey: Range<Int>?
    repeat {
      guard let key = scanner.plainText(), scanner.skip(UInt8(ascii: ":")),
        lastKey.map({ scanner.precedes($0, key) }) ?? true
      else { return nil }
      lastKey = key
      if scanner.isText("callId", at: key) {
        guard scanner.skip(UInt8(ascii: "\"")), let name = scanner.name() else { return nil }
        callId = text(name)
      } else if scanner.isText("tool", at: key) {
        guard scanner.skip(UInt8(ascii: "\"")), let name = scanner.name() else { return nil }
        tool = text(name)
      } else if scanner.isText("attempt", at: key) {
        guard let number = scanner.number() else { return nil }
        attempt = number
      } else if scanner.isText("status", at: key) {
        guard scanner.skip(UInt8(ascii: "\"")), let name = scanner.name() else { return nil }
        status = text(name)
      } else if scanner.isText("effect", at: key) {
        guard scanner.skip(UInt8(ascii: "\"")), let name = scanner.name() else { return nil }
        isEffectUnknown = scanner.isText("unknown", at: name)
      } else if !scanner.skipValue() {
        return nil
      }
    } while scanner.skip(",\"")
    guard let callId, scanner.skip("}}"), scanner.isAtEnd else { return nil }
    return CallNote(
      seq: envelope.seq, type: envelope.type, callId: callId, status: status,
      isEffectUnknown: isEffectUnknown, tool: tool, attempt: attempt)
  }

  private func text(_ range: Range<Int>) -> String {
    String(decoding: scanner.bytes(range), as: UTF8.self)
  }

  // MARK: Data

  /// The members asked for, up to the end of the object; the position is behind its brace.
  private mutating func members(_ wanted: Wanted) -> JSONObject? {
    var found: [JSONObject.Member] = []
    if scanner.skip(UInt8(ascii: "}")) { return JSONObject() }
    var lastKey: Range<Int>?
    repeat {
      guard scanner.skip(UInt8(ascii: "\"")), let key = scanner.plainText(),
        scanner.skip(UInt8(ascii: ":"))
      else { return nil }
      // Keys of canonical data grow; a key that stands twice is the plain reader's to refuse.
      guard lastKey.map({ scanner.precedes($0, key) }) ?? true else { return nil }
      lastKey = key
      if let list = wanted.list, scanner.isText(list, at: key), scanner.byte == UInt8(ascii: "[") {
        guard let elements = elements(wanted.elementKeys) else { return nil }
        found.append(JSONObject.Member(key: Self.string(list), value: .array(elements)))
        continue
      }
      let start = scanner.position
      guard scanner.skipValue() else { return nil }
      if let name = wanted.keys.first(where: { scanner.isText($0, at: key) }) {
        guard let value = value(start..<scanner.position) else { return nil }
        found.append(JSONObject.Member(key: Self.string(name), value: value))
      } else if !key.isEmpty, scanner.line[key.lowerBound] == UInt8(ascii: "$") {
        return nil
      }
    } while scanner.skip(UInt8(ascii: ","))
    return scanner.skip(UInt8(ascii: "}")) ? JSONObject(growing: found) : nil
  }

  /// The value that stands at a place; `nil` where it is not to be read, or holds a form.
  private func value(_ range: Range<Int>) -> JSONValue? {
    let bytes = scanner.bytes(range)
    if bytes.count >= 2, bytes[0] == UInt8(ascii: "\""), bytes.allSatisfy(Self.isPlain) {
      return .string(
        String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self))
    }
    guard !bytes.mayHoldForms else { return nil }
    return try? JSONValue(
      parsing: bytes, options: .init(depthLimit: LogFormat.depthLimit - 2))
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "\\")
  }

  /// The elements of a list of objects, which begins here; `nil` where one is something else.
  private mutating func elements(_ keys: [StaticString]) -> [JSONValue]? {
    guard scanner.skip(UInt8(ascii: "[")) else { return nil }
    if scanner.skip(UInt8(ascii: "]")) { return [] }
    var elements: [JSONValue] = []
    repeat {
      guard scanner.skip(UInt8(ascii: "{")), let members = members(Wanted(keys: keys)) else {
        return nil
      }
      elements.append(.object(members))
    } while scanner.skip(UInt8(ascii: ","))
    return scanner.skip(UInt8(ascii: "]")) ? elements : nil
  }

  private static func string(_ text: StaticString) -> String {
    text.withUTF8Buffer { String(decoding: $0, as: UTF8.self) }
  }
}

extension LineScanner {
  /// Reads the calls of a decision; `nil` where there is none, or one is of another form.
  fileprivate mutating func calls() -> [DecisionOutline.Call]? {
    guard skip("[{") else { return nil }
    var calls: [DecisionOutline.Call] = []
    repeat {
      guard skip("\"callId\":\""), let callId = name(), skip(",\"input\":") else { return nil }
      let start = position
      guard skipValue(), case let input = start..<position, !input.isEmpty,
        skip(",\"name\":\""), let name = name()
      else { return nil }
      if skip(",\"providerCallId\":\""), plainText() == nil { return nil }
      guard skip(UInt8(ascii: "}")) else { return nil }
      calls.append(
        DecisionOutline.Call(
          callId: text(callId), name: text(name), input: Array(bytes(input))))
    } while skip(",{")
    return skip(UInt8(ascii: "]")) ? calls : nil
  }
}
