import AgentTrace
import TraceMatching

/// Holds what tasks are given against what they say that they need, as far as both are declared: schemas of inputs against
/// those of outputs. What no schema says is passed over; what is told cannot fit, whatever flows.
struct SchemaFlow {
  private let spec: PipelineSpec
  private let places: [String: Int]
  private(set) var faults: [PipelineFault] = []
  /// How many schemas are still looked at: hostile ones may nest in one another.
  private var work = 200_000
  private static let depthLimit = 32

  init(_ spec: PipelineSpec, _ places: [String: Int]) {
    self.spec = spec
    self.places = places
  }

  /// What a reference leads to.
  private enum Given {
    case schema(JSONValue)
    case unknown
    /// Nothing can stand there: the key, and where it is looked for.
    case nothing(String)
  }

  mutating func check() {
    for task in spec.tasks {
      for (key, reference) in task.references where reference.root != .output {
        if case .nothing(let key2) = given(by: reference, to: task) {
          add(task, key, "there is no “\(key2)” in what ${\(reference.text)} names")
        }
      }
      checkList(of: task)
      checkSubstitutes(of: task)
      checkAnswers(of: task)
      guard let needed = task.inputSchema else { continue }
      guard let input = task.input else {
        let lacking = Self.required(needed)
        if !lacking.isEmpty {
          add(task, "id", "it needs \(Self.list(lacking)), and has no input")
        }
        continue
      }
      check(input.source, against: needed, of: task, at: ["input"], depth: 0)
    }
  }

  private mutating func checkList(of task: TaskSpec) {
    guard case .list(let reference)? = task.forEach,
      case .schema(let schema) = given(by: reference, to: task),
      let types = Self.types(of: schema), !types.contains("array")
    else { return }
    add(
      task, "forEach",
      "${\(reference.text)} is \(Self.list(types.sorted())), and forEach needs a list")
  }

  private mutating func checkSubstitutes(of task: TaskSpec) {
    guard let schema = task.outputSchema.flatMap({ try? JSONSchema(compiling: $0) }) else { return }
    for (index, rule) in task.recover.enumerated() where rule.action == .substitute {
      guard let value = rule.value, let violation = schema.validate(value).first else { continue }
      add(task, "recover/\(index)/value", "it is not what outputSchema says: \(violation)")
    }
  }

  /// What a person can say to a task of theirs is an object that says by whom; its other members are known as well.
  private mutating func checkAnswers(of task: TaskSpec) {
    guard task.kind == .human, let schema = task.outputSchema, Self.isSure(task) else { return }
    let words = "what a person answers has granted and by, or text and by"
    if let types = Self.types(of: schema), !types.contains("object") {
      return add(task, "outputSchema", "\(words), and \(Self.list(types.sorted())) is needed")
    }
    let lacking = Self.required(schema).filter { name in
      !["granted", "by", "text", "reason"].contains { $0.hasSameUTF8(as: name) }
    }
    if !lacking.isEmpty {
      add(
        task, "outputSchema",
        "\(words); it lacks \(Self.list(lacking)), which outputSchema requires")
    } else if case .nothing = Self.member("by", of: schema) {
      add(task, "outputSchema", "\(words), and outputSchema takes no “by”")
    }
  }

  private mutating func add(_ task: TaskSpec, _ key: String, _ message: String) {
    faults.append(PipelineFault(task: task.id, key: key, message))
  }

  // MARK: What is given

  private mutating func given(by reference: TaskReference, to task: TaskSpec) -> Given {
    guard let root = root(of: reference, task) else { return .unknown }
    return follow(reference.path[...], in: root)
  }

  /// The schema of what a reference begins at; `nil` where none is declared.
  private mutating func root(of reference: TaskReference, _ task: TaskSpec) -> JSONValue? {
    switch reference.root {
    case .input: return spec.inputSchema
    case .index: return ["type": "integer"]
    case .output: return nil
    case .item:
      if case .parts(let source)? = task.forEach {
        guard let other = places[source].map({ spec.tasks[$0] }) else { return nil }
        if case .lines? = other.parts { return other.outputSchema?["items"] }
        return other.knownPart
      }
      guard case .list(let list)? = task.forEach,
        case .schema(let schema) = given(by: list, to: task)
      else { return nil }
      return schema["items"]
    case .task(let id):
      guard let place = places[id], let output = Self.output(of: spec.tasks[place]) else {
        return nil
      }
      return spec.tasks[place].isFanOut ? ["type": "array", "items": output] : output
    }
  }

  /// What a task is known to return; `nil` where something else may stand for it that says nothing of its kind.
  static func output(of task: TaskSpec) -> JSONValue? {
    if let declared = task.outputSchema { return declared }
    return isSure(task) ? task.knownOutput : nil
  }

  /// Whether nothing but what is of its kind gives its output.
  private static func isSure(_ task: TaskSpec) -> Bool {
    task.recover.allSatisfy {
      $0.action != .substitute && $0.action != .fallback && $0.action != .ask
    }
  }

  private mutating func follow(_ path: ArraySlice<TaskReference.Segment>, in schema: JSONValue)
    -> Given
  {
    work -= 1
    guard work > 0, let first = path.first else { return .schema(schema) }
    switch first {
    case .key(let key):
      switch Self.member(key, of: schema) {
      case .schema(let inner): return follow(path.dropFirst(), in: inner)
      case .unknown: return .unknown
      case .nothing(let key): return .nothing(key)
      }
    case .each:
      if let types = Self.types(of: schema), !types.contains("array") { return .nothing("*") }
      guard let items = schema["items"], items.objectValue != nil else { return .unknown }
      switch follow(path.dropFirst(), in: items) {
      case .schema(let inner): return .schema(["type": "array", "items": inner])
      case .unknown: return .unknown
      case .nothing(let key): return .nothing(key)
      }
    }
  }

  /// The schema of a member.
  private static func member(_ key: String, of schema: JSONValue) -> Given {
    guard schema.objectValue != nil else { return schema == false ? .nothing(key) : .unknown }
    let types = types(of: schema)
    if Int(key) != nil, types?.contains("array") ?? true {
      guard let items = schema["items"], items.objectValue != nil else { return .unknown }
      return .schema(items)
    }
    if let types, !types.contains("object") { return .nothing(key) }
    if let inner = schema["properties"]?.objectValue?[key] {
      return inner == false ? .nothing(key) : inner.objectValue == nil ? .unknown : .schema(inner)
    }
    guard schema["patternProperties"] == nil else { return .unknown }
    switch schema["additionalProperties"] {
    case .bool(false)?: return isPlain(schema) ? .nothing(key) : .unknown
    case .object(let inner)?: return .schema(.object(inner))
    default: return .unknown
    }
  }

  /// Whether nothing beside its own keywords adds members to a schema.
  private static func isPlain(_ schema: JSONValue) -> Bool {
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"].allSatisfy { schema[$0] == nil }
  }

  /// The types that a value may have; `nil` where the schema does not say.
  static func types(of schema: JSONValue) -> Set<String>? {
    if let only = schema["type"]?.stringValue { return [only] }
    if let several = schema["type"]?.arrayValue { return Set(several.compactMap(\.stringValue)) }
    return nil
  }

  private static func required(_ schema: JSONValue) -> [String] {
    (schema["required"]?.arrayValue ?? []).compactMap(\.stringValue)
  }

  private static func list(_ words: [String]) -> String {
    words.prefix(10).map { "“\($0)”" }.joined(separator: ", ")
  }

  // MARK: What is needed

  /// Holds a template against a schema.
  private mutating func check(
    _ template: JSONValue, against needed: JSONValue, of task: TaskSpec, at path: [String],
    depth: Int
  ) {
    work -= 1
    guard work > 0, depth < Self.depthLimit, needed.objectValue != nil else { return }
    let key = path.joined(separator: "/")
    switch template {
    case .string(let text):
      let references = TaskTemplate(template).references
      guard let first = references.first else { return literal(template, needed, task, key) }
      guard references.count == 1, text.hasSameUTF8(as: "${\(first.text)}") else {
        return fit(["type": "string"], needed, task, key, "what stands there", depth)
      }
      if case .schema(let schema) = given(by: first, to: task) {
        fit(schema, needed, task, key, "${\(first.text)}", depth)
      }
    case .object(let object):
      if let types = Self.types(of: needed), !types.contains("object") {
        return add(task, key, "it is an object, and \(Self.list(types.sorted())) is needed")
      }
      let lacking = Self.required(needed).filter { object[$0] == nil }
      if !lacking.isEmpty {
        add(task, key, "it lacks \(Self.list(lacking)), which inputSchema requires")
      }
      for member in object {
        switch Self.member(member.key, of: needed) {
        case .schema(let inner):
          check(member.value, against: inner, of: task, at: path + [member.key], depth: depth + 1)
        case .nothing: add(task, key, "inputSchema takes no “\(member.key)”")
        case .unknown: break
        }
      }
    case .array(let elements):
      if let types = Self.types(of: needed), !types.contains("array") {
        return add(task, key, "it is a list, and \(Self.list(types.sorted())) is needed")
      }
      guard let items = needed["items"] else { return }
      for (index, element) in elements.enumerated() {
        check(element, against: items, of: task, at: path + ["\(index)"], depth: depth + 1)
      }
    default: literal(template, needed, task, key)
    }
  }

  private mutating func literal(
    _ value: JSONValue, _ needed: JSONValue, _ task: TaskSpec, _ key: String
  ) {
    // References inside a schema lead out of the part that is looked at here.
    guard needed["$ref"] == nil, let schema = try? JSONSchema(compiling: needed) else { return }
    if let violation = schema.validate(value).first {
      add(task, key, "it is not what inputSchema says: \(violation)")
    }
  }

  /// Holds what is given against what is needed, both as schemas.
  private mutating func fit(
    _ given: JSONValue, _ needed: JSONValue, _ task: TaskSpec, _ key: String, _ what: String,
    _ depth: Int
  ) {
    work -= 1
    guard work > 0, depth < Self.depthLimit, given.objectValue != nil, needed.objectValue != nil
    else { return }
    if let left = Self.types(of: given), let right = Self.types(of: needed),
      !left.contains(where: { Self.isTaken($0, by: right) })
    {
      return add(
        task, key,
        "\(what) is \(Self.list(left.sorted())), and \(Self.list(right.sorted())) is needed")
    }
    if let left = Self.values(of: given), let right = Self.values(of: needed),
      !left.contains(where: { value in right.contains { $0.byValue == value.byValue } })
    {
      return add(task, key, "none of the values that \(what) may have is one that is needed")
    }
    if let left = given["items"], let right = needed["items"] {
      fit(left, right, task, key, "each element of \(what)", depth + 1)
    }
    for name in Self.required(needed) {
      if case .nothing = Self.member(name, of: given) {
        add(task, key, "\(what) has no “\(name)”, which inputSchema requires")
      }
    }
    for member in needed["properties"]?.objectValue ?? [:] {
      guard let left = given["properties"]?.objectValue?[member.key] else { continue }
      fit(left, member.value, task, key, "“\(member.key)” of \(what)", depth + 1)
    }
    for name in Self.required(given) {
      if case .nothing = Self.member(name, of: needed) {
        add(task, key, "\(what) has “\(name)”, which inputSchema does not take")
      }
    }
  }

  private static func isTaken(_ type: String, by types: Set<String>) -> Bool {
    types.contains(type) || type == "integer" && types.contains("number")
      || type == "number" && types.contains("integer")
  }

  /// The values that a schema lists; `nil` where it lists none.
  private static func values(of schema: JSONValue) -> [JSONValue]? {
    schema["const"].map { [$0] } ?? schema["enum"]?.arrayValue
  }
}
