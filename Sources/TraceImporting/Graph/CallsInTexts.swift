import AgentTrace

/// Calls that a model wrote as its text: some programs read them there and run them, others ask models that call so
/// because nobody read what they wrote. Which of the two, the text does not say.
///
/// A text is a call where it is nothing but JSON of one, or of a list of them, also behind a mark or in a fence of code;
/// where it is nothing but a list of calls as Python writes them; where one in the tags that models are taught begins a line
/// of it; where a model's own sign for calls, or a fence of Gemini's `tool_code`, stands in it; where lines name an action
/// and its input, as agents of thought and action write (ReAct); and where it has the tags of coding agents' tools, or the
/// code of agents that act by it (``ProgramCalls``). What speaks of calls otherwise, or shows one in what it says, is text.
enum CallsInTexts {
  /// The calls that a text is or ends with. One whose name cannot be read is called as no tool is.
  ///
  /// - Complexity: O(*n*) in the text's bytes.
  static func calls(in text: String) -> [CallSightings.Call] {
    let bytes = Array(text.utf8)
    let actions = holdsAction(bytes) ? actionLines(in: bytes[...]) : []
    if !actions.isEmpty { return actions }
    let trimmed = trim(bytes[...])
    if holdsToolCode(bytes) { return [CallSightings.Call(name: unknownName, input: nil)] }
    let ofPrograms = ProgramCalls.calls(in: trimmed)
    if !ofPrograms.isEmpty { return ofPrograms }
    let fields = FieldCalls.calls(in: trimmed)
    if !fields.isEmpty { return fields }
    let python = pythonCalls(trimmed)
    if !python.isEmpty { return python }
    guard bytes.contains(where: { marks.contains($0) }) else { return [] }
    let named = callsBehindMark(trimmed)
    if !named.isEmpty { return named }
    if let body = jsonBody(of: trimmed) { return callsOfJSON(body) }
    return callsInTags(trimmed, alsoBeforeText: true)
  }

  /// The calls that what a model thought ends with, in tags; some models begin to call before they have ended thinking.
  static func calls(inThought text: String) -> [CallSightings.Call] {
    guard text.utf8.contains(UInt8(ascii: "<")) else { return [] }
    return callsInTags(trim(Array(text.utf8)[...]), alsoBeforeText: false)
  }

  /// What none of the forms of JSON and tags is without.
  private static let marks: Set<UInt8> = [UInt8(ascii: "{"), UInt8(ascii: "<")]
  /// A name that no call that was read has.
  static let unknownName = "\u{0}"

  // MARK: JSON

  /// A text that is JSON: as it stands, behind the mark of a model's calls, or in a fence of code.
  private static func jsonBody(of text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var body = text
    for mark in ["[TOOL_CALLS]", "<|python_tag|>", "<|tool_call|>", "functools"] {
      if body.starts(with: mark.utf8) { body = trim(body.dropFirst(mark.utf8.count)) }
    }
    if body.starts(with: fence), body.count > 6, body.suffix(3).elementsEqual(fence),
      let line = body.firstIndex(of: UInt8(ascii: "\n"))
    {
      body = trim(body[(line + 1)...].dropLast(3))
    }
    guard let first = body.first, let last = body.last else { return nil }
    let isObject = first == UInt8(ascii: "{") && last == UInt8(ascii: "}")
    let isList = first == UInt8(ascii: "[") && last == UInt8(ascii: "]")
    return isObject || isList ? body : nil
  }

  static let fence = Array("```".utf8)

  /// The calls that Mistral's models write with the tool's name behind the mark, `[TOOL_CALLS]look_up[ARGS]{…}`.
  private static func callsBehindMark(_ text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    let mark = Array("[TOOL_CALLS]".utf8)
    var calls: [CallSightings.Call] = []
    var rest = text
    while let place = rest.firstIndex(of: mark[0]) {
      guard rest[place...].starts(with: mark) else {
        rest = rest[(place + 1)...]
        continue
      }
      rest = rest[(place + mark.count)...]
      let name = rest.prefix(128).prefix(while: isOfName)
      let behind = rest[name.endIndex...]
      if !name.isEmpty,
        ["[ARGS]", "[CALL_ID]", "{"].contains(where: { behind.starts(with: $0.utf8) })
      {
        calls.append(CallSightings.Call(name: String(decoding: name, as: UTF8.self), input: nil))
      }
    }
    return calls
  }

  /// Whether a byte may stand in the name of a tool.
  static func isOfName(_ byte: UInt8) -> Bool {
    isLetter(byte) || (0x30...0x39).contains(byte) || "_-.".utf8.contains(byte)
  }

  private static func callsOfJSON(_ body: ArraySlice<UInt8>) -> [CallSightings.Call] {
    if let value = parse(body) { return calls(of: value) }
    // Parallel calls stand a line each.
    var calls: [CallSightings.Call] = []
    for line in body.split(separator: UInt8(ascii: "\n")) {
      guard let value = parse(trim(line)), value.objectValue != nil else { return [] }
      let found = self.calls(of: value)
      if found.isEmpty { return [] }
      calls += found
    }
    return calls
  }

  private static func parse(_ bytes: ArraySlice<UInt8>) -> JSONValue? {
    try? JSONValue(parsing: Array(bytes), options: SourceDocument.options)
  }

  /// The calls that a value is: itself, the elements of a list, or those of a message in the chat interface's shape.
  private static func calls(of value: JSONValue) -> [CallSightings.Call] {
    (value.arrayValue ?? [value]).flatMap { element -> [CallSightings.Call] in
      guard let object = element.objectValue else { return [] }
      if let call = call(object) { return [call] }
      return object.flatMap { member -> [CallSightings.Call] in
        let key = JSONValue.plainKey(member.key)
        guard
          CallSightings.listKeys.contains(key) || CallSightings.singleKeys.contains(key)
        else { return [] }
        return (member.value.arrayValue ?? [member.value]).compactMap { call in
          CallSightings.name(in: call).map {
            CallSightings.Call(name: $0, input: CallSightings.input(in: call))
          }
        }
      }
    }
  }

  private static let nameKeys = [
    "name", "tool", "tool_name", "toolName", "function", "function_name", "action",
  ]
  private static let inputKeys = [
    "arguments", "args", "parameters", "input", "tool_input", "toolInput", "action_input",
    "params", "kwargs",
  ]
  /// What may stand beside a name and its arguments where these are not called so.
  private static let besideKeys: Set<String> = [
    "id", "call_id", "callId", "index", "type", "thought", "thoughts", "reasoning", "reason",
  ]

  /// A name beside arguments that are an object, and nothing that says that it is something else.
  private static func call(_ object: JSONObject) -> CallSightings.Call? {
    guard let nameKey = nameKeys.first(where: { object[$0]?.stringValue?.isEmpty == false }),
      let name = object[nameKey]?.stringValue,
      let inputKey = inputKeys.first(where: { object[$0] != nil }), let input = object[inputKey]
    else {
      return CallSightings.call(object).map { CallSightings.Call(name: $0.name, input: $0.input) }
    }
    let isAction = nameKey == "action" && inputKey == "action_input"
    // In this form of thought and action the last action is the answer.
    if isAction, ["finalanswer", "finish"].contains(JSONValue.plainKey(name)) { return nil }
    guard isAction || CallSightings.whole(input) != nil else { return nil }
    // A tool's description has its parameters, too.
    guard object["description"] == nil, input["properties"] == nil || input["type"] == nil else {
      return nil
    }
    let isNamedSo = inputKey.hasPrefix("arg") || isAction || nameKey.hasPrefix("tool")
    guard
      isNamedSo
        || object.allSatisfy({
          $0.key == nameKey || $0.key == inputKey || besideKeys.contains($0.key)
        })
    else { return nil }
    return CallSightings.Call(name: name, input: CallSightings.whole(input))
  }

  // MARK: Python

  private static let toolCode = Array("```tool_code".utf8)

  /// Whether a fence begins in a line of its own whose code Gemini's programs run as calls.
  private static func holdsToolCode(_ text: [UInt8]) -> Bool {
    var rest = text[...]
    while let place = rest.firstIndex(of: toolCode[0]) {
      let before = text[..<place].last { $0 != 0x20 && $0 != 0x09 }
      if before ?? 0x0a == 0x0a, rest[place...].starts(with: toolCode) { return true }
      rest = rest[(place + 1)...]
    }
    return false
  }

  /// The calls of a text that is `[look_up(town="Graz"), …]` and nothing else, as Llama's models call.
  private static func pythonCalls(_ text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    guard text.first == UInt8(ascii: "["), text.suffix(2).elementsEqual(")]".utf8) else {
      return []
    }
    var calls: [CallSightings.Call] = []
    var rest = text.dropFirst()
    while true {
      rest = rest.drop(while: isSpace)
      let name = rest.prefix {
        isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
          || $0 == UInt8(ascii: ".")
      }
      guard let first = name.first, !(0x30...0x39).contains(first),
        let end = endOfArguments(rest[name.endIndex...])
      else { return [] }
      calls.append(CallSightings.Call(name: String(decoding: name, as: UTF8.self), input: nil))
      rest = rest[end...].drop(while: isSpace)
      guard let sign = rest.popFirst() else { return [] }
      if sign == UInt8(ascii: "]") { return rest.isEmpty ? calls : [] }
      guard sign == UInt8(ascii: ",") else { return [] }
    }
  }

  /// Behind the bracket that closes the one that stands here; `nil` where none does.
  private static func endOfArguments(_ text: ArraySlice<UInt8>) -> Int? {
    guard text.first == UInt8(ascii: "(") else { return nil }
    var depth = 0
    var quote: UInt8?
    var isEscaped = false
    for index in text.indices {
      let byte = text[index]
      if let open = quote {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == open {
          quote = nil
        }
        continue
      }
      if isQuote(byte) {
        quote = byte
      } else if "([{".utf8.contains(byte) {
        depth += 1
      } else if ")]}".utf8.contains(byte) {
        depth -= 1
        if depth == 0 { return index + 1 }
      }
    }
    return nil
  }

  // MARK: Actions

  private static let action = Array("Action".utf8)

  private static func holdsAction(_ text: [UInt8]) -> Bool {
    var rest = text[...]
    while let place = rest.firstIndex(of: action[0]) {
      if rest[place...].starts(with: action) { return true }
      rest = rest[(place + 1)...]
    }
    return false
  }

  /// The calls that lines tell: `Action: look_up` above `Action Input: …`, and `Action 1: look_up[Graz]`. An action without
  /// an input, and the last one, which is the answer, are none.
  private static func actionLines(in text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    var calls: [CallSightings.Call] = []
    var named: ArraySlice<UInt8>?
    // Where a fence began whose text is the action.
    var fenced: Int?
    var isInFence = false
    for line in text.split(separator: UInt8(ascii: "\n")) {
      if trim(line).starts(with: fence) {
        if isInFence, let start = fenced, let value = parse(trim(text[start..<line.startIndex])) {
          calls += self.calls(of: value)
        }
        fenced = !isInFence && named?.isEmpty == true ? line.endIndex : nil
        isInFence.toggle()
        if fenced == nil { named = nil }
      }
      guard !isInFence else { continue }
      // Some set the word in bold.
      let line = trim(line).drop { $0 == UInt8(ascii: "*") }
      guard line.starts(with: action),
        let colon = line.prefix(24).firstIndex(of: UInt8(ascii: ":"))
      else { continue }
      let word = line[line.startIndex..<colon].dropFirst(action.count).filter {
        !isSpace($0) && $0 != UInt8(ascii: "*")
      }
      let body = trim(line[(colon + 1)...].drop { $0 == UInt8(ascii: "*") })
      let isNumbered = !word.isEmpty && word.allSatisfy { (0x30...0x39).contains($0) }
      if word.elementsEqual("Input".utf8) || word.elementsEqual("input".utf8) {
        if let name = named { calls += call(ofAction: name) }
        named = nil
      } else if isNumbered, body.last == UInt8(ascii: "]"),
        let bracket = body.firstIndex(of: UInt8(ascii: "["))
      {
        calls += call(ofAction: body[..<bracket])
        named = nil
      } else if word.isEmpty || isNumbered {
        named = body
      }
    }
    return calls
  }

  private static func call(ofAction name: ArraySlice<UInt8>) -> [CallSightings.Call] {
    let name = String(decoding: trim(name).filter { $0 != UInt8(ascii: "`") }, as: UTF8.self)
    guard !name.isEmpty, !["finalanswer", "finish", "none"].contains(JSONValue.plainKey(name))
    else {
      return []
    }
    return [CallSightings.Call(name: name, input: nil)]
  }

  // MARK: Tags

  /// The tags that models are taught, with what ends them; a text that ends with one ends with a call.
  private static let tags: [(open: [UInt8], close: [UInt8])] = [
    ("<tool_call>", "</tool_call>"), ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"), ("<function_calls>", "</function_calls>"),
    ("<function=", "</function>"), ("<invoke name=", "</invoke>"),
  ].map { (Array($0.0.utf8), Array($0.1.utf8)) }

  /// Signs of models that nobody writes who speaks of something else.
  private static let signs = [
    "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>", "<|python_tag|>", "<|tool_call|>", "<start_function_call>",
    "<|channel|>commentary to=", "<|channel|>analysis to=", "<|start|>assistant to=",
    "<｜DSML｜function_calls>", "<｜DSML｜invoke",
  ].map { Array($0.utf8) }
  /// Those before which, in the same line, what the model thought may end.
  private static let signsWithin = ["commentary", "analysis"].map {
    Array("<|start|>assistant<|channel|>\($0) to=".utf8)
  }

  /// A text without the words and colons that some models write before the names of their tags.
  private static func withoutPrefixes(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard text.contains(UInt8(ascii: ":")) else { return text }
    var plain: [UInt8] = []
    plain.reserveCapacity(text.count)
    var index = text.startIndex
    while index < text.endIndex {
      let byte = text[index]
      plain.append(byte)
      index += 1
      guard byte == UInt8(ascii: "<") else { continue }
      if index < text.endIndex, text[index] == UInt8(ascii: "/") {
        plain.append(text[index])
        index += 1
      }
      let word = text[index...].prefix(20).prefix { isLetter($0) || $0 == UInt8(ascii: "_") }
      if !word.isEmpty, word.endIndex < text.endIndex, text[word.endIndex] == UInt8(ascii: ":") {
        index = word.endIndex + 1
      }
    }
    return plain[...]
  }

  static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  /// - Parameter alsoBeforeText: whether a call counts behind which something else is said, where it can be read as one:
  ///   programs run it all the same.
  private static func callsInTags(
    _ written: ArraySlice<UInt8>, alsoBeforeText: Bool
  ) -> [CallSightings.Call] {
    let text = withoutPrefixes(written)
    let unknown = [CallSightings.Call(name: unknownName, input: nil)]
    for (open, close) in tags where text.suffix(close.count).elementsEqual(close) {
      guard let start = firstLine(beginningWithAnyOf: [open], in: text) else { continue }
      let calls = names(in: text[start...])
      return calls.isEmpty ? unknown : calls
    }
    if alsoBeforeText {
      for (open, close) in tags {
        guard let start = firstLine(beginningWithAnyOf: [open], in: text),
          holds(close, in: text[start...])
        else { continue }
        let calls = names(in: text[start...])
        if !calls.isEmpty { return calls }
      }
    }
    return firstLine(beginningWithAnyOf: signs, in: text) != nil
      || signsWithin.contains { holds($0, in: text) } ? unknown : []
  }

  /// Whether some bytes, of which there is at least one, stand in a text.
  static func holds(_ mark: [UInt8], in text: ArraySlice<UInt8>) -> Bool {
    var rest = text
    while let place = rest.firstIndex(of: mark[0]) {
      if rest[place...].starts(with: mark) { return true }
      rest = rest[(place + 1)...]
    }
    return false
  }

  /// Where the first line outside of fences begins that begins with one of some marks.
  static func firstLine(
    beginningWithAnyOf marks: [[UInt8]], in text: ArraySlice<UInt8>
  ) -> Int? {
    var isInFence = false
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let begin = line.drop(while: isSpace)
      if begin.starts(with: fence) { isInFence.toggle() }
      if !isInFence, marks.contains(where: { begin.starts(with: $0) }) { return begin.startIndex }
    }
    return nil
  }

  /// The names that tags and the JSON within them say.
  private static func names(in text: ArraySlice<UInt8>) -> [CallSightings.Call] {
    var calls: [CallSightings.Call] = []
    for piece in text.split(separator: UInt8(ascii: "<")) {
      for mark in ["function=", "invoke name="] where piece.starts(with: mark.utf8) {
        // A name in quotes or without them.
        let name = piece.dropFirst(mark.utf8.count).drop(while: isQuote).prefix {
          !isQuote($0) && $0 != UInt8(ascii: ">")
        }
        calls.append(CallSightings.Call(name: String(decoding: name, as: UTF8.self), input: nil))
      }
      guard let end = piece.firstIndex(of: UInt8(ascii: ">")),
        let value = parse(trim(piece[(end + 1)...]))
      else { continue }
      calls += self.calls(of: value)
    }
    return calls
  }

  // MARK: Bytes

  private static func isQuote(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
  }

  static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d
  }

  static func trim(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var bytes = bytes.drop(while: isSpace)
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return bytes
  }
}
