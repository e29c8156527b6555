import AgentTrace

/// What a model says is to go into a call.
enum ReplyArguments {
  /// The input of a call, and what is wrong with it.
  ///
  /// No input and no arguments, and arguments that are empty text, are an empty object: so models call
  /// tools that take nothing.
  static func input(of call: JSONValue) -> (JSONValue, fault: String?) {
    guard let object = call.objectValue else { return (.object([:]), nil) }
    let name = (object["name"]?.stringValue ?? "").prefix(utf8Bytes: 100)
    if let input = object["input"] { return checked(input, "the input", name) }
    switch object["arguments"] {
    case nil, .null?: return (.object([:]), nil)
    case .string(let text)?: return parsed(text, name)
    case let other?: return checked(other, "the arguments", name)
    }
  }

  private static func parsed(_ text: String, _ name: String) -> (JSONValue, fault: String?) {
    guard text.utf8.count <= ModelReply.inputLimitBytes else {
      return (JSONValue.string(text).cut(toBytes: 1_024), tooLarge("the arguments", name))
    }
    if text.unicodeScalars.allSatisfy(\.properties.isWhitespace) { return (.object([:]), nil) }
    do {
      let value = try JSONValue(parsing: text, options: .init(depthLimit: 64))
      return checked(value, "the arguments", name)
    } catch {
      return (.string(text), "the arguments are no JSON: \(error)")
    }
  }

  private static func checked(
    _ value: JSONValue, _ noun: String, _ name: String
  ) -> (JSONValue, fault: String?) {
    if isHidden(value) || value.isLarger(thanBytes: ModelReply.inputLimitBytes) {
      return (value.cut(toBytes: 1_024), tooLarge(noun, name))
    }
    guard value.objectValue != nil else {
      return (
        value,
        "\(noun) of \(name.isEmpty ? "a call" : name) should be an object, not \(value.typeName)"
      )
    }
    return (value, nil)
  }

  private static func tooLarge(_ noun: String, _ name: String) -> String {
    "\(noun) of \(name.isEmpty ? "a call" : name) "
      + "holds more than \(ModelReply.inputLimitBytes >> 10) KiB or too many values, or is not whole"
  }

  /// Whether a part of the value was cut or lost. Nests as deep as a reply, which is bounded.
  private static func isHidden(_ value: JSONValue) -> Bool {
    switch value {
    case .cut, .lost: true
    case .array(let elements): elements.contains(where: isHidden)
    case .object(let object): object.contains { isHidden($0.value) }
    default: false
    }
  }
}
