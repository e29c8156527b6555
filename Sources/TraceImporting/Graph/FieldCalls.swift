import AgentTrace

/// Calls that a reply tells in fields, as DSPy's agents ask models to write: the name of the tool in one that is called
/// `next_tool_name`, what it is given in one behind it.
enum FieldCalls {
  private static let word = Array("next_tool_name".utf8)
  /// What stands before the field's name and behind it: between marks, as a tag, as a member of JSON.
  private static let forms: [(before: [UInt8], behind: [UInt8])] = [
    ("[[ ## ", " ## ]]"), ("<", ">"), ("\"", "\""),
  ].map { (Array($0.0.utf8), Array($0.1.utf8)) }
  /// The tool by which such an agent says that it is done.
  private static let done = "finish"

  /// The call that a text tells; none where it names the tool that ends the run.
  static func calls(in text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    var rest = text
    while let place = rest.firstIndex(of: word[0]) {
      guard rest[place...].starts(with: word) else {
        rest = rest[(place + 1)...]
        continue
      }
      rest = rest[(place + word.count)...]
      guard
        let form = forms.first(where: { form in
          text[..<place].suffix(form.before.count).elementsEqual(form.before)
            && rest.starts(with: form.behind)
        })
      else { continue }
      let value = rest.dropFirst(form.behind.count).drop {
        CallsInTexts.isSpace($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "\"")
      }
      let name = String(decoding: value.prefix(while: CallsInTexts.isOfName), as: UTF8.self)
      if !name.isEmpty, name != done { return [CallSightings.Call(name: name, input: nil)] }
    }
    return []
  }
}
