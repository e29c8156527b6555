import AgentRuntime
import AgentTrace

extension ProviderReply {
  /// The same with what its text says between `<tool_call>` and `</tool_call>` read as calls, as models of the
  /// Hermes kind write them: `{"name":…,"arguments":{…}}`. The rest of the text stays. Where there are calls
  /// already, or one of these cannot be read, nothing changes.
  func readingHermesCalls() -> ProviderReply {
    guard var object = reply.objectValue, object["calls"] == nil,
      let text = object["text"]?.stringValue
    else { return self }
    var (rest, said): (Substring, String) = (text[...], "")
    var calls: [JSONValue] = []
    while let start = rest.firstRange(of: "<tool_call>") {
      said += rest[..<start.lowerBound]
      rest = rest[start.upperBound...]
      // The last one may have no end.
      let end = rest.firstRange(of: "</tool_call>")
      let body = String(rest[..<(end?.lowerBound ?? rest.endIndex)])
      rest = end.map { rest[$0.upperBound...] } ?? ""
      guard let call = try? JSONValue(parsing: body, options: .init(depthLimit: 64)),
        let name = call["name"], name.stringValue != nil
      else { return self }
      let input = call["arguments"] ?? call["parameters"] ?? .object([:])
      calls.append(
        input.stringValue == nil
          ? ["name": name, "input": input] : ["name": name, "arguments": input])
    }
    guard !calls.isEmpty else { return self }
    said += rest
    object["calls"] = .array(calls)
    let isSaid = said.unicodeScalars.contains { !$0.properties.isWhitespace }
    object["text"] = isSaid ? .string(said) : nil
    object["parts"] = nil
    var read = self
    read.reply = .object(object)
    return read
  }
}
