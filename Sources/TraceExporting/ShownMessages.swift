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

  init(_ messages: [JSONValue]) {
    var kept: [JSONValue] = []
    var bytes = 0
    var rest = messages[...]
    // What a model is told first, and what it was told last.
    if let first = rest.first, first["role"] == "system" {
      let message = Self.message(first)
      bytes += CanonicalJSON.encode(message, form: .plain).count
      kept.append(message)
      rest = rest.dropFirst()
    }
    var last: [JSONValue] = []
    while let message = rest.last {
      let converted = Self.message(message)
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
  private static func message(_ message: JSONValue) -> JSONValue {
    let parts = (message["content"]?.arrayValue ?? []).map { part -> JSONValue in
      switch part["type"]?.stringValue {
      case "text": return ["type": "text", "content": part["text"] ?? ""]
      case "reasoning": return ["type": "reasoning", "content": part["text"] ?? ""]
      case "tool_call":
        return [
          "type": "tool_call", "id": part["callId"] ?? "",
          "name": part["name"] ?? "", "arguments": part["input"] ?? .null,
        ]
      case "tool_result":
        return [
          "type": "tool_call_response", "id": part["callId"] ?? "",
          "response": part["data"] ?? part["reason"] ?? .null,
        ]
      default: return part
      }
    }
    return ["role": message["role"] ?? "user", "parts": .array(parts)]
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
      (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
      hour < 24, minute < 60, second <= 60
    else { return nil }
    var fraction = 0
    if bytes[19] == UInt8(ascii: ".") {
      let digits = bytes.count - 21
      guard (1...9).contains(digits), let value = number(20..<bytes.count - 1) else { return nil }
      fraction = value
      for _ in digits..<9 { fraction *= 10 }
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    guard seconds >= 0, seconds < 9_000_000_000 else { return nil }
    return UInt64(seconds) * 1_000_000_000 + UInt64(fraction)
  }

  /// Days since 1970-01-01 of a day of the Gregorian calendar, counted from March on so that the leap day comes
  /// last.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// A moment as text, `2026-01-01T00:00:00.000000Z`.
  static func text(_ nanoseconds: UInt64) -> String {
    let micros = nanoseconds / 1_000
    let (seconds, fraction) = (Int(micros / 1_000_000), Int(micros % 1_000_000))
    let day = seconds / 86_400 + 719_468
    let era = day / 146_097
    let dayOfEra = day - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let (hour, minute, second) = (seconds % 86_400 / 3_600, seconds % 3_600 / 60, seconds % 60)
    func padded(_ value: Int, _ width: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return
      "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfYear - (153 * shifted + 2) / 5 + 1, 2))"
      + "T\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2)).\(padded(fraction, 6))Z"
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
