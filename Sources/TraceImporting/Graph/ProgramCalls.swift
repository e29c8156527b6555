import AgentTrace

/// Calls that some programs read in what a model says, in languages of their own: coding agents whose tools are tags with
/// the tools' names (Cline, Roo Code, Kilo Code), and agents that act by code (smolagents).
enum ProgramCalls {
  /// The tools of coding agents that models call by tags. One that only asks or answers does nothing.
  static let tools: Set<String> = [
    "access_mcp_resource", "apply_diff", "browser_action", "codebase_search", "delete_file",
    "edit_file", "execute_command", "fetch_instructions", "generate_image", "insert_content",
    "list_code_definition_names", "list_files", "load_mcp_documentation", "new_rule", "new_task",
    "read_file", "replace_in_file", "report_bug", "run_slash_command", "search_and_replace",
    "search_files", "switch_mode", "update_todo_list", "use_mcp_tool", "web_fetch", "web_search",
    "write_to_file",
  ]

  /// The calls in a text.
  ///
  /// - Complexity: O(*n*) in the text's bytes.
  static func calls(in text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    guard text.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "[") }) else {
      return []
    }
    let tags = callsInTags(text)
    if !tags.isEmpty { return tags }
    let printed = printedCalls(text)
    return printed.isEmpty ? callsInCode(text) : printed
  }

  // MARK: Coding agents

  /// The tags of tools that begin a line outside of fences, and end.
  private static func callsInTags(_ text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    var calls: [CallSightings.Call] = []
    // Whether a tag ends behind the first that begins so.
    var closed: [String: Bool] = [:]
    var isInFence = false
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let begin = line.drop(while: CallsInTexts.isSpace)
      if begin.starts(with: CallsInTexts.fence) { isInFence.toggle() }
      guard !isInFence, begin.first == UInt8(ascii: "<") else { continue }
      let tag = begin.dropFirst().prefix(64).prefix(while: CallsInTexts.isOfName)
      guard tag.endIndex < begin.endIndex, begin[tag.endIndex] == UInt8(ascii: ">") else {
        continue
      }
      let name = String(decoding: tag, as: UTF8.self)
      let rest = text[tag.endIndex...]
      // What completes a task may run a command.
      let isCall =
        tools.contains(name)
        || name == "attempt_completion" && word(in: "command", of: rest) != nil
      guard isCall else { continue }
      let ends = closed[name] ?? CallsInTexts.holds(Array("</\(name)>".utf8), in: rest)
      closed[name] = ends
      guard ends else { continue }
      calls.append(
        CallSightings.Call(
          name: name == "use_mcp_tool" ? word(in: "tool_name", of: rest) ?? name : name,
          input: nil))
    }
    return calls
  }

  /// What stands in the first tag of a name, near the beginning of a text.
  private static func word(in tag: String, of text: ArraySlice<UInt8>) -> String? {
    let open = Array("<\(tag)>".utf8)
    var rest = text.prefix(16 << 10)
    while let place = rest.firstIndex(of: open[0]) {
      guard rest[place...].starts(with: open) else {
        rest = rest[(place + 1)...]
        continue
      }
      let word = rest[(place + open.count)...].prefix { $0 != UInt8(ascii: "<") }
      return String(decoding: CallsInTexts.trim(word), as: UTF8.self)
    }
    return nil
  }

  /// The call that a message gives back, as these programs write what came of it: `[read_file for 'a.txt'] Result:`.
  static func calls(answeredBy message: GraphMessage) -> [CallSightings.Call] {
    let texts = [message.text?.stringValue] + message.parts.map { $0["text"]?.stringValue }
    for text in texts {
      guard let text, text.hasPrefix("[") else { continue }
      let line = text.utf8.prefix(2048).prefix { $0 != UInt8(ascii: "\n") }
      let name = line.dropFirst().prefix(while: CallsInTexts.isOfName)
      guard !name.isEmpty, String(decoding: line, as: UTF8.self).contains("] Result:") else {
        continue
      }
      return [CallSightings.Call(name: String(decoding: name, as: UTF8.self), input: nil)]
    }
    return []
  }

  // MARK: Agents that act by code

  /// The calls that smolagents' agents of tools repeat in a text, as Python prints them.
  private static func printedCalls(_ text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    guard
      let start = CallsInTexts.firstLine(
        beginningWithAnyOf: [Array("Calling tools:".utf8)], in: text)
    else { return [] }
    let mark = Array("'function': {'name': '".utf8)
    var calls: [CallSightings.Call] = []
    var isAnswer = false
    var rest = text[start...]
    while let place = rest.firstIndex(of: mark[0]) {
      guard rest[place...].starts(with: mark) else {
        rest = rest[(place + 1)...]
        continue
      }
      let name = rest[(place + mark.count)...].prefix(while: CallsInTexts.isOfName)
      rest = rest[name.endIndex...]
      if name.elementsEqual("final_answer".utf8) {
        isAnswer = true
        continue
      }
      calls.append(CallSightings.Call(name: String(decoding: name, as: UTF8.self), input: nil))
    }
    return calls.isEmpty && !isAnswer
      ? [CallSightings.Call(name: CallsInTexts.unknownName, input: nil)] : calls
  }

  /// The functions that smolagents' agents of code call: in `<code>` that ends a text, or behind `Code:` in a fence that
  /// `<end_code>` closes.
  private static func callsInCode(_ text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    let (open, close) = (Array("<code>".utf8), Array("</code>".utf8))
    if text.suffix(close.count).elementsEqual(close),
      let start = CallsInTexts.firstLine(beginningWithAnyOf: [open], in: text)
    {
      return functions(in: text[start...].dropFirst(open.count).dropLast(close.count))
    }
    guard CallsInTexts.holds(Array("<end_code>".utf8), in: text),
      let start = text.indices.first(where: { text[$0...].starts(with: CallsInTexts.fence) })
    else { return [] }
    return functions(in: text[start...])
  }

  /// What is called in code of Python: names before a bracket that are neither methods, its own words, nor the answer.
  private static func functions(in code: ArraySlice<UInt8>) -> [CallSightings.Call] {
    var calls: [CallSightings.Call] = []
    for place in code.indices where code[place] == UInt8(ascii: "(") {
      let before = code[..<place].suffix(128)
      let name = before.suffix(
        from: before.lastIndex { !CallsInTexts.isOfName($0) }.map { $0 + 1 } ?? before.startIndex)
      guard let first = name.first, CallsInTexts.isLetter(first) || first == UInt8(ascii: "_"),
        !name.contains(UInt8(ascii: ".")), !name.contains(UInt8(ascii: "-"))
      else { continue }
      let word = String(decoding: name, as: UTF8.self)
      if !harmless.contains(word) { calls.append(CallSightings.Call(name: word, input: nil)) }
    }
    return calls
  }

  /// Words of Python before which a bracket stands and nothing happens outside, and the call that is the answer.
  private static let harmless: Set<String> = [
    "abs", "all", "and", "any", "assert", "bool", "def", "dict", "elif", "enumerate", "filter",
    "final_answer", "float", "for", "if", "in", "int", "is", "isinstance", "len", "list", "map",
    "max", "min", "not", "or", "print", "range", "repr", "return", "reversed", "round", "set",
    "sorted", "str", "sum", "tuple", "type", "while", "zip",
  ]
}
