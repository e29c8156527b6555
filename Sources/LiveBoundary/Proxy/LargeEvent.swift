import AgentRuntime
import AgentTrace

/// What is written of an event that is too large for a line of the log.
///
/// What stands cut says so: whoever judges the run later knows that there was more.
enum LargeEvent {
  /// How many bytes each of its values may keep, tried one after the other.
  static let limits = [64 << 10, 4 << 10, 256]

  /// The event with each value cut that may be large; names, ids and numbers stay.
  ///
  /// - Complexity: O(*n*) in the bytes of the event.
  static func cut(_ event: Event, toBytes limitBytes: Int) -> Event {
    var event = event
    for key in ["answer", "error", "goal", "input", "question", "reason", "reply", "text"] {
      // What calls are told of besides is read as a text alone.
      guard key != "reason" || event.type == .decision, let value = event.data[key] else {
        continue
      }
      event.data[key] = value.cut(toBytes: limitBytes)
    }
    if let calls = event.data["calls"]?.arrayValue {
      event.data["calls"] = .array(
        calls.map { members(of: $0, toBytes: limitBytes, only: "input") })
    }
    if let tools = event.data["tools"]?.arrayValue, event.type == .toolsListed {
      let tools = JSONValue.array(tools.map { members(of: $0, toBytes: limitBytes) })
      event.data["tools"] = tools
      event.data["digest"] = .string(Digest(of: tools).hex)
    }
    if var prompt = event.data["prompt"]?.objectValue, let messages = prompt["messages"]?.arrayValue
    {
      prompt["messages"] = .array(messages.map { message($0, limitBytes) })
      event.data["prompt"] = .object(prompt)
    }
    if var wire = WireRecord(.object(event.data["wire"]?.objectValue ?? [:])), wire.reply != nil {
      wire.omitted = "its body has \(wire.reply?.body.count ?? 0) bytes, and is escaped in the log"
      wire.reply = nil
      event.data["wire"] = .object(wire.encoded)
    }
    return event
  }

  /// An object with its members cut, but for its name.
  ///
  /// - Parameters:
  ///   - value: the object; anything else is cut as a whole.
  ///   - limitBytes: The most bytes of a member.
  ///   - key: the one member that is cut; `nil` for all.
  static func members(
    of value: JSONValue, toBytes limitBytes: Int, only key: String? = nil
  ) -> JSONValue {
    guard var object = value.objectValue else { return value.cut(toBytes: limitBytes) }
    for member in value.objectValue ?? [:]
    where member.key != "name" && (key ?? member.key) == member.key {
      guard member.key == "description", let text = member.value.stringValue else {
        object[member.key] = member.value.cut(toBytes: limitBytes)
        continue
      }
      // A text, whoever reads it.
      if text.utf8.count > limitBytes {
        object[member.key] = .string(text.prefix(utf8Bytes: limitBytes) + "… (cut)")
      }
    }
    return .object(object)
  }

  private static func message(_ message: JSONValue, _ limitBytes: Int) -> JSONValue {
    guard var object = message.objectValue, let parts = object["content"]?.arrayValue else {
      return message.cut(toBytes: limitBytes)
    }
    object["content"] = .array(
      parts.map { part in
        // What names a part tells which it is.
        guard var fields = part.objectValue else { return part.cut(toBytes: limitBytes) }
        for field in part.objectValue ?? [:]
        where !["callId", "name", "status", "type"].contains(field.key) {
          fields[field.key] = field.value.cut(toBytes: limitBytes)
        }
        return .object(fields)
      })
    object["extra"] = object["extra"]?.cut(toBytes: limitBytes)
    return .object(object)
  }
}
