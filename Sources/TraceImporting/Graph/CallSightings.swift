import AgentTrace
import Glibc

/// What has the form of a call anywhere in what was handed over, whether a reader looked there or not.
///
/// A reader knows the places where its format puts calls. Other versions, other libraries and other tools put them
/// elsewhere: in a second choice, in an event beside the message, in an attribute of another convention, in a text that is
/// JSON. Each of them is held against the calls that were read: one whose name, or whose name with these arguments, was
/// read nowhere in the run is marked, so that nothing can be said against calls that nobody looked at
/// (Docs/importing.md, "Nothing is passed over"; Docs/decisions/0031).
struct CallSightings {
  /// What has the form of a call says.
  struct Call: Hashable {
    var name: String
    /// What it was given, where that is a whole object.
    var input: JSONValue?
  }

  /// Something that has the form of a call, and where it stands.
  struct Sighting {
    var call: Call
    var pointer: JSONPointer
  }

  private(set) var all: [Sighting] = []
  private var path: [String]
  /// Whether texts of JSON are opened, as attributes hold what was said. Elsewhere a text of JSON is what a tool gave
  /// back: other people's calls, or a file.
  private let opensTexts: Bool
  /// Keys, as ``JSONValue/plainKey(_:)`` writes them, under which stands what came before, and is read where it was said.
  private let passing: Set<String>
  /// The most that are kept of one value. The last of so many stands for those behind it, and is none that was read.
  private static let limit = 200_000

  private init(_ pointer: JSONPointer, opensTexts: Bool, passing: Set<String>) {
    path = pointer.tokens
    self.opensTexts = opensTexts
    self.passing = passing
  }

  /// Everything in a value that has the form of a call.
  ///
  /// - Parameters:
  ///   - value: what was handed over, or a part of it.
  ///   - pointer: where it stands.
  ///   - opensTexts: whether a text of JSON in it counts as what it says.
  ///   - passing: keys in small letters, without what joins their words, whose values are left out.
  /// - Complexity: O(*n*) in the bytes of the value.
  static func all(
    in value: JSONValue, at pointer: JSONPointer, opensTexts: Bool = false,
    passing: Set<String> = []
  ) -> [Sighting] {
    var sightings = CallSightings(pointer, opensTexts: opensTexts, passing: passing)
    sightings.look(at: value, textDepth: 0)
    return sightings.all
  }

  // MARK: Looking

  private mutating func look(at value: JSONValue, textDepth: Int) {
    guard all.count < Self.limit else { return }
    switch value {
    case .array(let elements):
      if lookAtAttributes(elements, textDepth: textDepth) { return }
      for (index, element) in elements.enumerated() {
        descend(String(index)) { $0.look(at: element, textDepth: textDepth) }
      }
    case .object(let object): look(at: object, textDepth: textDepth)
    case .string(let text):
      guard opensTexts, textDepth == 0, Self.mayTellOfCalls(text) else { return }
      guard var told = JSONText.any(text) else { return lookAtCut(text) }
      // Some write a text of JSON as JSON once more.
      if let inner = told.stringValue { told = JSONText.parse(inner) ?? .null }
      look(at: told, textDepth: textDepth + 1)
    case .cut(_, let head):
      if opensTexts, textDepth == 0, Self.mayTellOfCalls(head) { lookAtCut(head) }
    default: break
    }
  }

  /// Looks at what is left of JSON that a limit cut. Nobody knows what a call in it was given.
  private mutating func lookAtCut(_ text: String) {
    guard let told = JSONText.beginning(of: text) else { return }
    let count = all.count
    look(at: told, textDepth: 1)
    for index in all.indices.dropFirst(count) { all[index].call.input = nil }
  }

  private mutating func look(at object: JSONObject, textDepth: Int) {
    var passed: Set<String> = []
    if let call = Self.call(object) {
      add(call.name, call.input)
      passed = call.keys
    }
    lookAtNames(of: object)
    for member in object where !passed.contains(member.key) {
      let key = JSONValue.plainKey(member.key)
      // What a tool is offered with is no call of it.
      if Self.offers.contains(key) || passing.contains(key) { continue }
      descend(member.key) { sightings in
        if Self.singleKeys.contains(key), let name = Self.name(in: member.value) {
          sightings.add(name, Self.input(in: member.value))
        } else if key == "toolcallnames", let names = member.value.arrayValue {
          for name in names { sightings.add(name.stringValue ?? "", nil) }
        } else if Self.listKeys.contains(key) {
          sightings.lookAtCalls(member.value, textDepth: textDepth)
        } else {
          sightings.look(at: member.value, textDepth: textDepth)
        }
      }
    }
  }

  /// A list that is called one of calls.
  private mutating func lookAtCalls(_ value: JSONValue, textDepth: Int) {
    guard let calls = value.arrayValue ?? value.stringValue.flatMap(JSONText.parse)?.arrayValue
    else { return look(at: value, textDepth: textDepth) }
    for (index, element) in calls.enumerated() {
      // Some write each call as a text of JSON.
      let element = element.stringValue.flatMap(JSONText.parse) ?? element
      descend(String(index)) { sightings in
        if let name = Self.name(in: element) {
          sightings.add(name, Self.input(in: element))
        }
        // What such a call holds beside its arguments may be others.
        guard let object = element.objectValue else { return }
        for member in object
        where !Self.inputKeys.contains(member.key) && JSONValue.plainKey(member.key) != "function" {
          sightings.descend(member.key) { $0.look(at: member.value, textDepth: textDepth) }
        }
      }
    }
  }

  /// The attributes of a span as the protocol writes them, a list of keys and values.
  private mutating func lookAtAttributes(_ elements: [JSONValue], textDepth: Int) -> Bool {
    guard let first = elements.first, first["key"]?.stringValue != nil, let value = first["value"],
      value.objectValue != nil
    else { return false }
    look(at: .object(OtlpReader.attributes(.array(elements))), textDepth: textDepth)
    return true
  }

  /// Names that stand under keys with dots: those of attributes, and of calls that attributes tell one word each.
  private mutating func lookAtNames(of object: JSONObject) {
    for member in object {
      guard member.key.utf8.contains(UInt8(ascii: ".")),
        let text = member.value.stringValue, !text.isEmpty
      else { continue }
      // Some write each attribute as JSON.
      let name = text.hasPrefix("\"") ? JSONText.any(text)?.stringValue ?? text : text
      if let inputs = Self.toolNames[member.key] {
        let input = inputs.lazy.compactMap { object[$0] }.first.flatMap(Self.whole)
        descend(member.key) { $0.add(name, input) }
      } else if member.key.hasSuffix(".function_call_name") {
        descend(member.key) { $0.add(name, nil) }
      } else if Self.isFlattenedName(member.key) {
        let stem = member.key.dropLast(4)
        let input = (object[stem + "arguments"] ?? object[stem + "input"]).flatMap(Self.whole)
        descend(member.key) { $0.add(name, input) }
      }
    }
  }

  /// `….tool_calls.0.tool_call.function.name` and the like.
  private static func isFlattenedName(_ key: String) -> Bool {
    guard key.hasSuffix(".name") else { return false }
    return [".tool_calls.", ".toolCalls.", ".function_call.", ".tool_call."].contains(
      where: key.contains)
  }

  private mutating func add(_ name: String, _ input: JSONValue?) {
    guard !name.isEmpty, all.count < Self.limit else { return }
    let isLast = all.count == Self.limit - 1
    let inner = CallReader.ofServer(name, input)
    all.append(
      Sighting(
        call: Call(
          name: isLast ? "\u{0}" : inner?.name ?? name, input: inner?.input ?? input),
        pointer: JSONPointer(tokens: path)))
  }

  private mutating func descend(_ token: String, _ body: (inout CallSightings) -> Void) {
    path.append(token)
    body(&self)
    path.removeLast()
  }
}

// MARK: The forms of calls

extension CallSightings {
  /// What an object says that has the form of a call by itself, and the keys that were read for it.
  static func call(
    _ object: JSONObject
  ) -> (name: String, input: JSONValue?, keys: Set<String>)? {
    let word = typeKeys.lazy.compactMap { object[$0]?.stringValue }.first
    if let word, let name = toolOfType(word, object) {
      return (name, input(in: .object(object)), inputKeys)
    }
    let type = word.map(JSONValue.plainKey)
    if let type, callTypes.contains(type) {
      guard let name = name(in: .object(object)) else { return nil }
      return (name, input(in: .object(object)), inputKeys.union(["function"]))
    }
    if let function = object["function"]?.objectValue, function["arguments"] != nil,
      let name = function["name"]?.stringValue
    {
      return (name, function["arguments"].flatMap(whole), ["function"])
    }
    // A name beside arguments. What describes itself is offered, not called.
    guard object["description"] == nil, object["parameters"] == nil,
      let name = ["name", "tool_name", "toolName", "function", "tool"].lazy.compactMap({
        object[$0]?.stringValue
      })
      .first,
      let key = ["arguments", "args", "toolInput", "tool_input"].first(where: { object[$0] != nil })
    else { return nil }
    return (name, object[key].flatMap(whole), [key])
  }

  /// The tool of a call that names it by its type alone: one that a provider's servers run, or a part of the AI SDK's.
  private static func toolOfType(_ type: String, _ object: JSONObject) -> String? {
    if let name = ResponsesItems.serverCalls[type] { return name }
    guard type.hasPrefix("tool-"), object["toolCallId"] != nil,
      object["state"]?.stringValue != nil
    else { return nil }
    return String(type.dropFirst(5))
  }

  static func name(in value: JSONValue) -> String? {
    for key in nameKeys {
      if let name = value[key]?.stringValue, !name.isEmpty { return name }
    }
    guard let name = value["function"]?["name"]?.stringValue, !name.isEmpty else { return nil }
    return name
  }

  static func input(in value: JSONValue) -> JSONValue? {
    let inner = value["function"]
    return inputKeys.lazy.compactMap { value[$0] ?? inner?[$0] }.first.flatMap(whole)
  }

  /// Arguments that are an object, or a text of one; `nil` for what was cut or is something else.
  static func whole(_ value: JSONValue) -> JSONValue? {
    if value.objectValue != nil { return value }
    guard let text = value.stringValue else { return nil }
    let inner = text.hasPrefix("\"") ? JSONText.any(text)?.stringValue ?? text : text
    guard let told = JSONText.parse(inner), told.objectValue != nil else { return nil }
    return told
  }

  private static let typeKeys = ["type", "part_kind", "kind"]
  private static let callTypes: Set<String> = [
    "calltool", "customtoolcall", "dynamictool", "functioncall", "mcpcall", "mcptoolcall",
    "mcptooluse",
    "servertooluse", "toolcall", "toolinvocation", "toolrequest", "tooluse",
  ]
  static let singleKeys: Set<String> = [
    "functioncall", "toolcall", "toolinvocation", "tooluse",
  ]
  static let listKeys: Set<String> = [
    "functioncalls", "invalidtoolcalls", "toolcallchunks", "toolcalls", "tooluses",
  ]
  private static let nameKeys = [
    "name", "tool_name", "toolName", "tool", "function", "recipient_name",
  ]
  private static let inputKeys: Set<String> = [
    "args", "arguments", "input", "parameters", "params", "rawInput", "tool_input", "toolInput",
  ]
  private static let offers: Set<String> = [
    "availabletools", "functiondeclarations", "functions", "genai.tool.definitions",
    "gentooldefinitions",
    "genaitooldefinitions", "tooldefinitions", "tools",
  ]
  /// Attributes that name the tool of their span, and where its arguments stand.
  private static let toolNames: [String: [String]] = [
    "gen_ai.tool.name": ["gen_ai.tool.call.arguments"], "tool.name": [],
    "ai.toolCall.name": ["ai.toolCall.args", "ai.toolCall.input"], "mcp.tool.name": [],
  ]

  /// Whether a text may be JSON that tells of calls: each form has one of these words.
  private static func mayTellOfCalls(_ text: String) -> Bool {
    guard text.utf8.count > 12,
      let first = text.utf8.first(where: { $0 != 0x20 && $0 != 0x0a && $0 != 0x0d && $0 != 0x09 }),
      first == UInt8(ascii: "{") || first == UInt8(ascii: "[") || first == UInt8(ascii: "\"")
    else { return false }
    return ["arg", "tool", "unction"].contains { text.holds($0) }
  }
}

extension String {
  /// Whether these bytes, of which there is at least one, stand in it.
  fileprivate func holds(_ word: String) -> Bool {
    var (text, word) = (self, word)
    return text.withUTF8 { text in
      word.withUTF8 { word in
        guard let base = text.baseAddress, let wanted = word.baseAddress else { return false }
        var start = 0
        while text.count - start >= word.count,
          let found = memchr(base + start, Int32(wanted[0]), text.count - start - word.count + 1)
        {
          if memcmp(found, wanted, word.count) == 0 { return true }
          start = base.distance(to: found.assumingMemoryBound(to: UInt8.self)) + 1
        }
        return false
      }
    }
  }
}
