public import AgentTrace
package import TraceMatching

/// A tool that an expectation names.
struct NamedTool: Sendable {
  /// The list that it stands in, or the place itself: `toolsNotCalled`, `budget.tools.pay`.
  var list: String
  /// Where in the list; `nil` where ``list`` is the place.
  var index: Int?
  /// The name, or a glob.
  var tool: Glob
  /// What is said of its calls beside that; `nil` where only the tool is spoken of.
  var call: CallEntry?

  /// Where it is named: `toolsNotCalled[0]`.
  var place: String { index.map { "\(list)[\($0)]" } ?? list }

  static func all(_ globs: [Glob], _ list: String) -> [NamedTool] {
    globs.enumerated().map { NamedTool(list: list, index: $0, tool: $1) }
  }

  static func all(_ entries: [CallEntry], _ list: String) -> [NamedTool] {
    entries.enumerated().map { NamedTool(list: list, index: $0, tool: $1.tool, call: $1) }
  }
}

extension Expectations {
  /// Every tool that they name, parts aside, in the order of their outcomes.
  fileprivate var namedTools: [NamedTool] { all.flatMap(\.base.namedTools) }

  /// The tools that they name, or globs of them, each as often as it is named.
  package var toolsNamed: [Glob] { namedTools.map(\.tool) }

  /// Whether a warning may have to be given of these calls, so that it has to be known which tools their run
  /// had: a name is among the expectations that none of the calls has.
  public func asksWhichTools(thereWereBeside calls: [CallOutline]) -> Bool {
    func isDoubtful(_ tool: Glob) -> Bool {
      (tool.literal != nil || RegularExpressionSlip.isSuspected(in: tool.text)
        || tool.text.utf8.contains { byte in
          byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ",")
        })
        && !calls.contains { tool.matches($0.tool) }
    }
    return all.contains { $0.base.namedTools.contains { isDoubtful($0.tool) } }
      || parts.contains { $0.expectations.asksWhichTools(thereWereBeside: calls) }
  }
}

/// Tells what of expectations is probably a slip, seen from one run: a negative list passes on it for ever.
struct ToolWarnings {
  private let trajectory: Trajectory
  private let names: [String]
  private let others: NameWarnings

  init(_ trajectory: Trajectory, _ gathered: GatheredFacts? = nil) {
    self.trajectory = trajectory
    others = NameWarnings(trajectory, gathered)
    names = trajectory.toolNames ?? []
  }

  /// The warnings of some expectations and their parts, in their order.
  func all(of expectations: Expectations) -> [String] {
    let named = expectations.namedTools
    return named.compactMap(warning) + named.flatMap(argumentWarnings)
      + named.flatMap(resultNameWarnings)
      + named.flatMap(typeWarnings)
      + others.all(of: expectations)
      + expectations.parts.flatMap { part in
        all(of: part.expectations).map { part.name.isEmpty ? $0 : "\(part.name).\($0)" }
      }
  }

  /// What is wrong with the name of a tool.
  private func warning(_ named: NamedTool) -> String? {
    let isKnown =
      names.contains { named.tool.matches($0) }
      || trajectory.calls.contains { named.tool.matches($0.tool) }
    guard !isKnown else { return nil }
    if named.tool.text.isEmpty { return "\(named.place): an empty name is that of no tool" }
    let dots = (names + trajectory.calls.map(\.tool)).contains {
      $0.utf8.contains(UInt8(ascii: "."))
    }
    if let slip = RegularExpressionSlip(named.tool, besideDots: !dots) {
      return
        "\(named.place): “\(CallWording.short(named.tool.text))” is a glob here and no regular "
        + "expression, and matches no tool of this run"
        + (slip.meant.map { "; did you mean “\($0)”?" } ?? "")
    }
    if let parts = Self.namesBetweenCommas(in: named.tool.text) {
      return
        "\(named.place): “\(CallWording.short(named.tool.text))” is one name, with a comma in it, and no tool "
        + "of this run is seen to have it; did you mean \(parts.map { "“\(CallWording.short($0))”" }.joined(separator: ", ")), "
        + "each an entry of its own?"
    }
    guard let name = named.tool.literal else { return otherwiseWritten(named) }
    guard trajectory.toolNames != nil else {
      // Which tools there were beside those that were called, nobody knows: only what looks like one of them is told.
      let nearest = Spelling.nearest(to: name, among: trajectory.calls.map(\.tool))
      return nearest.map {
        "\(named.place): no call of this run is of a tool named “\(CallWording.short(name))”; "
          + "did you mean “\($0)”?"
      }
    }
    let nearest = Spelling.nearest(to: name, among: names)
    return "\(named.place): no tool of this run is named “\(CallWording.short(name))”"
      + (nearest.map { "; did you mean “\($0)”?" } ?? "")
  }

  /// The names that were probably meant by one with commas; `nil` where there is no comma, or it is one of a choice
  /// (`{a,b}`), a class or a name that is quoted otherwise.
  private static func namesBetweenCommas(in text: String) -> [String]? {
    guard text.utf8.contains(UInt8(ascii: ",")), !text.contains(where: { "{}[]\\".contains($0) })
    else { return nil }
    let parts = text.split(separator: ",").map { part in
      String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }.filter { !$0.isEmpty }
    return parts.count > 1 && parts.count < 10 ? parts : nil
  }

  /// What is wrong with a glob that fits no tool, and would fit one but for case, or `-` where `_` stands. Any other
  /// glob may well forbid what no run ever had.
  private func otherwiseWritten(_ named: NamedTool) -> String? {
    func plain(_ text: String) -> String {
      String(
        decoding: text.utf8.map { byte in
          switch byte {
          case UInt8(ascii: "-"): UInt8(ascii: "_")
          case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte + 32
          default: byte
          }
        }, as: UTF8.self)
    }
    // In a class `-` is no letter, and what stands behind a backslash may be none.
    guard
      !named.tool.text.utf8.contains(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "\\") }
      ),
      let glob = try? Glob(plain(named.tool.text)),
      let tool = (names + trajectory.calls.map(\.tool)).first(where: { glob.matches(plain($0)) })
    else { return nil }
    return
      "\(named.place): “\(CallWording.short(named.tool.text))” fits no tool of this run, and would fit "
      + "“\(CallWording.short(tool))” but for case or hyphens"
  }

  /// The arguments that an entry speaks of and that no schema of its tools names.
  private func argumentWarnings(_ named: NamedTool) -> [String] {
    guard let call = named.call else { return [] }
    let asked = call.argumentNames
    guard !asked.isEmpty else { return [] }
    let schemas = trajectory.tools.filter { named.tool.matches($0.name) }
    let known = schemas.compactMap { $0.inputSchema.flatMap(Self.arguments) }
    // A tool that says nothing of its arguments may have any.
    guard !known.isEmpty, known.count == schemas.count else { return [] }
    return asked.filter { name in
      !known.contains { $0.contains { $0.hasSameUTF8(as: name) } }
        // What a model wrote is a name, whatever the schema says of it.
        && !trajectory.calls.contains {
          named.tool.matches($0.tool) && $0.input?.objectValue?[name] != nil
        }
    }.map { name in
      let nearest = Spelling.nearest(to: name, among: known.flatMap { $0 })
      return "\(named.place): no argument of “\(CallWording.short(named.tool.text))” is named "
        + "“\(CallWording.short(name))”" + (nearest.map { "; did you mean “\($0)”?" } ?? "")
    }
  }

  /// The keys of results that an entry speaks of, that no result has, and that are nearly those of one. A result may
  /// lack what another has, so that of other keys nothing is said.
  private func resultNameWarnings(_ named: NamedTool) -> [String] {
    guard let source = named.call?.result?.source else { return [] }
    let asked = CallEntry.names(in: source).sorted { $0.precedesByUTF8($1) }
    let known = trajectory.calls.filter { named.tool.matches($0.tool) }
      .compactMap { CallView.resultValue(of: $0)?.objectValue }.flatMap(\.keys)
    return asked.filter { name in !known.contains { $0.hasSameUTF8(as: name) } }.compactMap {
      name in
      Spelling.nearest(to: name, among: known).map {
        "\(named.place): no result of “\(CallWording.short(named.tool.text))” has "
          + "“\(CallWording.short(name))”; did you mean “\(CallWording.short($0))”?"
      }
    }
  }

  /// What an entry asks to be of a type which it never is: YAML makes a number of `1234`, and a tool may take it as a
  /// text.
  private func typeWarnings(_ named: NamedTool) -> [String] {
    argumentTypeWarnings(named) + resultTypeWarnings(named)
  }

  private func argumentTypeWarnings(_ named: NamedTool) -> [String] {
    guard let source = named.call?.input?.source else { return [] }
    guard source.objectValue != nil else { return wholeWarning(named, source) }
    let inputs = trajectory.calls.filter { named.tool.matches($0.tool) }.compactMap(\.input)
    return Self.members(askedBy: source).compactMap { key, asked, wanted in
      let values = inputs.compactMap { $0.objectValue?[key] }
      guard !values.contains(where: { $0.typeName == wanted }) else { return nil }
      let isSameText = values.contains { Self.isSameText($0, asked) }
      let types = schemaTypes(of: key, named.tool)
      guard isSameText || types.map({ !$0.contains(wanted) }) ?? false else { return nil }
      let other = isSameText ? values.first?.typeName : types?.sorted().joined(separator: " or ")
      return Self.otherType(
        "the argument “\(CallWording.short(key))”", of: named, is: other, notAsked: wanted)
    }
  }

  /// No schema says of what types results are: only one that is written the same in another type is told.
  private func resultTypeWarnings(_ named: NamedTool) -> [String] {
    guard let source = named.call?.result?.source else { return [] }
    let results = trajectory.calls.filter { named.tool.matches($0.tool) }
      .compactMap(CallView.resultValue)
    func warning(_ place: String, _ values: [JSONValue], _ asked: JSONValue, _ wanted: String)
      -> String?
    {
      guard !values.contains(where: { $0.typeName == wanted }),
        let other = values.first(where: { Self.isSameText($0, asked) })
      else { return nil }
      return Self.otherType(place, of: named, is: other.typeName, notAsked: wanted)
    }
    if let wanted = Self.type(askedBy: source) {
      return [warning("the result", results, source, wanted)].compactMap { $0 }
    }
    return Self.members(askedBy: source).compactMap { key, asked, wanted in
      warning(
        "“\(CallWording.short(key))” in the result", results.compactMap { $0.objectValue?[key] },
        asked, wanted)
    }
  }

  /// The keys at the top of a matcher that are asked to be of a type.
  private static func members(
    askedBy source: JSONValue
  ) -> [(key: String, asked: JSONValue, wanted: String)] {
    guard let object = source.objectValue else { return [] }
    return (object["$exact"]?.objectValue ?? object).compactMap { member in
      type(askedBy: member.value).map { (member.key, member.value, $0) }
    }
  }

  private static func otherType(
    _ place: String, of named: NamedTool, is other: String?, notAsked wanted: String
  ) -> String {
    "\(named.place): \(place) of “\(CallWording.short(named.tool.text))” is \(other ?? "another") "
      + "and no \(wanted), as it is asked to be"
  }

  /// What is wrong with an input that is asked to be a list or a text where the tool takes a mapping.
  private func wholeWarning(_ named: NamedTool, _ asked: JSONValue) -> [String] {
    let values = trajectory.calls.filter { named.tool.matches($0.tool) }.compactMap(\.input)
    let schemas = trajectory.tools.filter { named.tool.matches($0.name) }.map(\.inputSchema)
    let areMappings =
      values.contains { $0.objectValue != nil }
      || !schemas.isEmpty && schemas.allSatisfy { $0?["type"] == "object" }
    guard areMappings, !values.contains(where: { $0.typeName == asked.typeName }) else { return [] }
    return [
      "\(named.place): the input of “\(CallWording.short(named.tool.text))” is a mapping of arguments and no "
        + "\(asked.typeName), as it is asked to be"
    ]
  }

  /// The types that the schemas of some tools give an argument; `nil` where one of them gives none.
  private func schemaTypes(of argument: String, _ tools: Glob) -> Set<String>? {
    var found: Set<String> = []
    for tool in trajectory.tools where tools.matches(tool.name) {
      guard let type = tool.inputSchema?["properties"]?[argument]?["type"] else { return nil }
      for word in type.arrayValue ?? [type] {
        guard let word = word.stringValue else { return nil }
        found.insert(word == "integer" ? "number" : word)
      }
    }
    return found.isEmpty ? nil : found
  }

  /// The type that a value has to have to match, or not to, as far as it is a plain one or a comparison.
  private static func type(askedBy matcher: JSONValue) -> String? {
    switch matcher {
    case .bool, .number, .string: return matcher.typeName
    case .object(let object):
      let numbers = ["$gt", "$gte", "$lt", "$lte", "$approx"]
      if numbers.contains(where: { object[$0] != nil }) { return "number" }
      if object["$regex"] != nil || object["$glob"] != nil { return "string" }
      return object["$not"].flatMap(type)
    default: return nil
    }
  }

  /// Whether one of two values is a text, and the other is written just so.
  private static func isSameText(_ value: JSONValue, _ asked: JSONValue) -> Bool {
    let asked = asked["$not"] ?? asked
    switch (value, asked) {
    case (.string(let text), .number), (.string(let text), .bool):
      return text.hasSameUTF8(as: CanonicalJSON.string(asked))
    case (.number, .string(let text)), (.bool, .string(let text)):
      return text.hasSameUTF8(as: CanonicalJSON.string(value))
    default: return false
    }
  }

  /// The arguments that a schema names; `nil` where it says in so many words that there may be others, or
  /// puts itself together from parts.
  private static func arguments(of schema: JSONValue) -> [String]? {
    guard let object = schema.objectValue, let properties = object["properties"]?.objectValue
    else { return nil }
    let open = [
      "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
      "patternProperties",
    ]
    guard !open.contains(where: { object[$0] != nil }) else { return nil }
    if let more = object["additionalProperties"], more != false { return nil }
    return Array(properties.keys)
  }
}

extension CallEntry {
  /// The names of arguments that must be there, or be something, for the entry to hold; sorted by UTF-8.
  fileprivate var argumentNames: [String] {
    var names = input.map { Self.names(in: $0.source) } ?? []
    for key in arguments?.defaults.keys ?? [] where !names.contains(key) { names.append(key) }
    for ignored in arguments?.ignored.compactMap(\.literal) ?? [] where !names.contains(ignored) {
      names.append(ignored)
    }
    return names.sorted { $0.precedesByUTF8($1) }
  }

  /// The keys at the top of a matcher, without those that it asks to be absent.
  fileprivate static func names(in matcher: JSONValue) -> [String] {
    let absent = ["$absent": true] as JSONValue
    let kept = matcher.objectValue.map { object in
      JSONValue.object(JSONObject(object.filter { $0.value != absent }.map { ($0.key, $0.value) }))
    }
    return Array(ArgumentRule.keys(spokenOfBy: kept ?? matcher))
  }
}

/// A regular expression that stands where a glob is read.
private struct RegularExpressionSlip {
  /// The glob that was probably meant; `nil` where none says the same.
  var meant: String?

  /// `nil` where a glob looks like one.
  ///
  /// - Parameter besideDots: whether a dot before a star is a sign of one; where tools have dots in their
  ///   names, `fs.*` is a glob as good as any.
  init?(_ glob: Glob, besideDots: Bool) {
    let text = glob.text
    guard Self.isSuspected(in: text) else { return nil }
    let signs = ["^", "$", "\\.", "\\d", "\\w", "\\s", "\\b", "|", "(", ")"]
    let dots = besideDots ? [".*", ".+"] : []
    guard (signs + dots).contains(where: { Self.holds(text, $0) }) else { return nil }
    meant = Self.glob(for: text)
  }

  /// Whether a text has a character at all that makes it look like one.
  static func isSuspected(in text: String) -> Bool {
    text.utf8.contains { byte in
      switch byte {
      case UInt8(ascii: "^"), UInt8(ascii: "$"), UInt8(ascii: "\\"), UInt8(ascii: "|"),
        UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "."):
        true
      default: false
      }
    }
  }

  private static func holds(_ text: String, _ sign: String) -> Bool {
    let (bytes, wanted) = (Array(text.utf8), Array(sign.utf8))
    guard bytes.count >= wanted.count else { return false }
    return (0...bytes.count - wanted.count).contains { bytes[$0...].starts(with: wanted) }
  }

  /// The glob that says what a plain regular expression says: letters, `.*`, `.+`, `.`, and a choice.
  private static func glob(for text: String) -> String? {
    var rest = Substring(text)
    if rest.hasPrefix("^") { rest.removeFirst() }
    if rest.hasSuffix("$") { rest.removeLast() }
    var glob = ""
    var depth = 0
    while let first = rest.popFirst() {
      switch first {
      case ".":
        if rest.hasPrefix("*") {
          rest.removeFirst()
          glob += "*"
        } else if rest.hasPrefix("+") {
          rest.removeFirst()
          glob += "?*"
        } else {
          glob += "?"
        }
      case "\\":
        guard rest.popFirst() == "." else { return nil }
        glob += "."
      case "(":
        depth += 1
        if rest.hasPrefix("?:") { rest.removeFirst(2) }
        glob += "{"
      case ")":
        depth -= 1
        guard depth >= 0 else { return nil }
        glob += "}"
      case "|":
        guard depth > 0 else { return nil }
        glob += ","
      case "*", "+", "?", "[", "]", "{", "}", "^", "$", ",": return nil
      default: glob.append(first)
      }
    }
    return depth == 0 && !glob.isEmpty && !glob.hasSameUTF8(as: text)
      && (try? Glob(glob)) != nil ? glob : nil
  }
}
