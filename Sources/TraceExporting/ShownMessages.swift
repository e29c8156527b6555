import AgentTrace

/// What a model was shown, as the messages of OpenTelemetry's conventions, as JSON text; the oldest are left out
/// beyond a limit, since each call repeats those before.
struct ShownMessages {
  /// The most bytes of a call's messages.
  private static let limitBytes = 32 * 1024

  /// The messages; ids of calls are those of the log.
  private var messages: [JSONValue]
  /// How many messages are not there.
  var omitted: Int

  /// - Parameter ids: the log's ids of calls by those of the model, for packets that know these alone.
  init(_ messages: [JSONValue], ids: [String: String] = [:]) {
    var kept: [JSONValue] = []
    var bytes = 0
    var rest = messages[...]
    // What a model is told first, and what it was told last.
    if let first = rest.first, first["role"] == "system" {
      let message = Self.message(first, ids)
      bytes += CanonicalJSON.encode(message, form: .plain).count
      kept.append(message)
      rest = rest.dropFirst()
    }
    var last: [JSONValue] = []
    while let message = rest.last {
      let converted = Self.message(message, ids)
      bytes += CanonicalJSON.encode(converted, form: .plain).count
      if bytes > Self.limitBytes, !last.isEmpty { break }
      last.append(converted)
      rest = rest.dropLast()
    }
    omitted = rest.count
    self.messages = kept + last.reversed()
  }

  /// The text, with ids of calls that no other run has.
  func text(of identity: String) -> String {
    let own = messages.map { message -> JSONValue in
      guard var object = message.objectValue, let parts = object["parts"]?.arrayValue else {
        return message
      }
      object["parts"] = .array(
        parts.map { part in
          guard var call = part.objectValue, let id = call["id"]?.stringValue else { return part }
          call["id"] = .string("\(identity)/\(id)")
          return .object(call)
        })
      return .object(object)
    }
    return CanonicalJSON.string(.array(own), form: .plain)
  }

  /// A message of a packet with the parts that the conventions name.
  private static func message(_ message: JSONValue, _ ids: [String: String]) -> JSONValue {
    func id(of part: JSONValue) -> JSONValue? {
      if let own = part["callId"] { return own }
      guard let told = part["providerCallId"]?.stringValue else { return nil }
      return .string(ids[told] ?? told)
    }
    let parts = (message["content"]?.arrayValue ?? []).map { part -> JSONValue in
      switch part["type"]?.stringValue {
      case "text": return ["type": "text", "content": part["text"] ?? ""]
      case "reasoning": return ["type": "reasoning", "content": part["text"] ?? ""]
      case "tool_call":
        return .object(
          JSONObject(present: [
            ("type", "tool_call"), ("id", id(of: part)), ("name", part["name"] ?? ""),
            ("arguments", arguments(part["input"] ?? .null)),
          ]))
      case "tool_result":
        return .object(
          JSONObject(present: [
            ("type", "tool_call_response"), ("id", id(of: part)),
            ("response", part["data"] ?? part["reason"] ?? .null),
          ]))
      default: return part
      }
    }
    return ["role": message["role"] ?? "user", "parts": .array(parts)]
  }

  /// What a call was given, as parts of messages have it. Arguments that are a text are read as JSON everywhere: a text is
  /// told as the JSON of it.
  static func arguments(_ input: JSONValue) -> JSONValue {
    guard input.stringValue != nil else { return input }
    return .string(CanonicalJSON.string(input, form: .plain))
  }

  /// The text of a packet's message.
  static func text(of message: JSONValue) -> String {
    if let text = message["content"]?.stringValue { return text }
    return (message["content"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
      .joined(separator: "\n")
  }
}

/// Moments as logs write them.
enum UTCTime {
  /// Nanoseconds since 1970 of `2026-01-01T00:00:00.000000Z`; `nil` for anything else, and before 1970.
  static func nanoseconds(_ text: String) -> UInt64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes[10] == UInt8(ascii: "T"), bytes.last == UInt8(ascii: "Z") else {
      return nil
    }
    func number(_ range: Range<Int>) -> Int? {
      var value = 0
      for byte in bytes[range] {
        guard (0x30...0x39).contains(byte) else { return nil }
        value = value * 10 + Int(byte - 0x30)
      }
      return value
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      year >= 1970, let date = CalendarDay(year: year, month: month, day: day), hour < 24,
      minute < 60, second <= 60
    else { return nil }
    var fraction = 0
    if bytes[19] == UInt8(ascii: ".") {
      let digits = bytes.count - 21
      guard (1...9).contains(digits), let value = number(20..<bytes.count - 1) else { return nil }
      fraction = value
      for _ in digits..<9 { fraction *= 10 }
    }
    let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second
    guard seconds >= 0, seconds < 9_000_000_000 else { return nil }
    return UInt64(seconds) * 1_000_000_000 + UInt64(fraction)
  }

  /// A moment as text, `2026-01-01T00:00:00.000000Z`.
  static func text(_ nanoseconds: UInt64) -> String {
    UTC.text(microsecondsSince1970: Int(nanoseconds / 1_000))
  }
}

extension JSONValue {
  /// Whether something in it is cut, lost, or no text that JSON can hold.
  var isCutSomewhere: Bool {
    switch self {
    case .cut, .lost, .bytes: true
    case .array(let elements): elements.contains(where: \.isCutSomewhere)
    case .object(let object): object.contains { $0.value.isCutSomewhere }
    default: false
    }
  }
}
