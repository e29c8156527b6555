import AgentRuntime
public import AgentTrace

/// Something that a run was made under and that is otherwise now, by its place in the agent file; of what
/// the run's case says, by `case` and the key there.
public struct ChangedInput: Sendable, Hashable {
  /// The keys that lead to it: of a tool, a rule, a note or a server its name stands for its place, as in
  /// `tools`, `pay`, `retry`.
  public var path: [String]
  /// As it was; `nil` where it was not there.
  public var recorded: JSONValue?
  /// As it is; `nil` where it is not there.
  public var now: JSONValue?
  /// Of a part of a list that was there, its place in it; else `nil`.
  public var position: Int?

  /// What a run's case asks for.
  static let caseInput = ["case", "input"]

  /// The keys, with points between.
  public var key: String { path.joined(separator: ".") }

  /// What to look at where it makes the difference.
  var cause: Divergence.Cause {
    switch path.first {
    case "policy": .policy
    case "tools", "mcpServers": .tool
    case "model": .model
    case "human": path.count > 2 ? .model : .context
    default: .context
    }
  }

  /// The input as a divergence names it.
  var input: Divergence.Input {
    let last = path.last ?? ""
    let (kind, name): (Divergence.Input.Kind, String) =
      switch (path.first, path.count) {
      case ("policy", 3): (.rule, last)
      case ("tools", 2): (.tool, last)
      case ("tools", 3):
        (["inputSchema", "outputSchema"].contains(last) ? .schema : .tool, path[1])
      case ("mcpServers", _): (.tool, path.count > 1 ? path[1] : last)
      case ("limits", 2): (.limit, last)
      case ("memory", 2): (.memory, last)
      case ("system", _), ("human", 2), ("plan", _), ("reflect", _): (.prompt, key)
      case ("model", 2) where last.hasSameUTF8(as: "name"),
        ("human", 3) where last.hasSameUTF8(as: "name"):
        (.model, now?.stringValue ?? last)
      default: (.setting, key)
      }
    return Divergence.Input(kind: kind, name: name, message: message)
  }

  private var message: String {
    switch (recorded, now) {
    case (nil, _): "\(key) is new."
    case (_, nil): "\(key) is gone."
    case (let recorded?, let now?):
      if let then = Self.short(recorded), let today = Self.short(now) {
        "\(key) was \(then) and is \(today)."
      } else {
        "\(key) is not as it was."
      }
    }
  }

  private static func short(_ value: JSONValue) -> String? {
    let text = CanonicalJSON.prefix(of: value, limitBytes: 61)
    return text.utf8.count <= 60 ? text : nil
  }
}

extension ChangedInput {
  /// Everything that is otherwise, in the order in which it stands here; nothing of what the log does not
  /// tell.
  ///
  /// - Parameters:
  ///   - part: the part of the run that is made again.
  ///   - agent: the agent that makes it.
  ///   - redactor: what knows the tokens of what was withheld.
  static func all(
    between part: RecordedParts.Part, of started: RunStarted, and agent: AgentDefinition,
    _ redactor: Redactor
  ) -> [ChangedInput] {
    func plain(_ object: JSONObject) -> JSONObject {
      redactor.translated(redactor.redacted(.object(object))).objectValue ?? object
    }
    var list = InputList()
    if !part.models.isEmpty {
      list.compareModels(part.models, plain(agent.models))
    }
    let isFirst = part.start == 0
    if isFirst || part.inputs == started.inputs {
      // Those that decide come of other keys of the agent file.
      // A log holds descriptions as the run's model was told them.
      let described = (try? agent.describingTools()) ?? agent
      list.compareNamed(
        ["tools"], by: "name",
        .array(started.tools.filter { $0.decides == nil }.map { .object($0.encoded) }),
        .array(
          described.tools.map(\.definition).filter { $0.decides == nil }.map {
            .object(plain($0.encoded))
          }))
      list.compareKeys(["limits"], .object(started.limits.encoded), .object(agent.limits.encoded))
    }
    list.compareKeys(
      ["policyContext"], .object(started.policyContext.encoded),
      .object(plain(agent.policyContext.encoded)))
    if !part.inputs.isEmpty, !agent.source.isEmpty {
      list.compareInputs(part.inputs, plain(agent.inputs))
    }
    return list.changes
  }
}

/// Gathers what differs between two sets of inputs.
private struct InputList {
  private(set) var changes: [ChangedInput] = []

  private mutating func compare(
    _ path: [String], _ recorded: JSONValue?, _ now: JSONValue?, position: Int? = nil
  ) {
    guard recorded != now, !changes.contains(where: { $0.path == path }) else { return }
    changes.append(
      ChangedInput(path: path, recorded: recorded, now: now, position: position))
  }

  /// Key by key, where both are objects or missing; else as wholes.
  mutating func compareKeys(_ path: [String], _ recorded: JSONValue?, _ now: JSONValue?) {
    let isDeep = [recorded, now].allSatisfy { $0 == nil || $0?.objectValue != nil }
    guard isDeep else { return compare(path, recorded, now) }
    for key in Self.keys(recorded?.objectValue, now?.objectValue) {
      compare(path + [key], recorded?[key], now?[key])
    }
  }

  /// The keys of both, each once, by their bytes.
  private static func keys(_ left: JSONObject?, _ right: JSONObject?) -> [String] {
    let keys = ((left ?? [:]).keys + (right ?? [:]).keys).sorted { $0.precedesByUTF8($1) }
    return keys.enumerated().filter { $0.offset == 0 || keys[$0.offset - 1] != $0.element }
      .map(\.element)
  }

  /// Lists of objects that have names, each by its name; then key by key.
  mutating func compareNamed(
    _ path: [String], by name: String, _ recorded: JSONValue?, _ now: JSONValue?,
    isDeep: Bool = true
  ) {
    let (left, right) = (recorded?.arrayValue ?? [], now?.arrayValue ?? [])
    func find(_ id: String, _ list: [JSONValue]) -> JSONValue? {
      list.first { Self.id(of: $0, by: name) == id }
    }
    let ids = [left, right].map { $0.map { Self.id(of: $0, by: name) } }
    for (index, id) in ids[0].enumerated() {
      guard let other = find(id, right) else {
        compare(path + [id], left[index], nil, position: index)
        continue
      }
      if isDeep {
        compareKeys(path + [id], left[index], other)
      } else {
        compare(path + [id], left[index], other, position: index)
      }
    }
    for (index, id) in ids[1].enumerated() where !ids[0].contains(id) {
      compare(path + [id], nil, right[index])
    }
    // Where only their order differs.
    if ids[0] != ids[1], ids[0].sorted() == ids[1].sorted() { compare(path, recorded, now) }
  }

  private static func id(of value: JSONValue, by name: String) -> String {
    if name == "key" {
      return "\(value["scope"]?.stringValue ?? "")/\(value["key"]?.stringValue ?? "")"
    }
    return value[name]?.stringValue ?? ""
  }

  mutating func compareModels(_ recorded: JSONObject, _ now: JSONObject) {
    // Those follow from keys of their own.
    for purpose in ModelPurpose.allCases where ![.summarize, .plan, .reflect].contains(purpose) {
      guard var left = recorded[purpose.rawValue]?.objectValue,
        var right = now[purpose.rawValue]?.objectValue
      else {
        compare(
          purpose == .human ? ["human", "model"] : ["model"], recorded[purpose.rawValue],
          now[purpose.rawValue])
        continue
      }
      let path = purpose == .human ? ["human", "model"] : ["model"]
      if purpose == .human {
        for key in ["system", "by"] {
          compare(["human", key], left[key], right[key])
          (left[key], right[key]) = (nil, nil)
        }
      }
      // It comes of a key of its own.
      (left["replySchema"], right["replySchema"]) = (nil, nil)
      compareKeys(path, .object(left), .object(right))
    }
  }

  mutating func compareInputs(_ recorded: JSONObject, _ now: JSONObject) {
    for key in Self.keys(recorded, now) {
      let (left, right) = (recorded[key], now[key])
      switch key {
      case "tools": compareNamed(["tools"], by: "name", left, right)
      case "policy":
        compareNamed(["policy", "rules"], by: "id", left?["rules"], right?["rules"], isDeep: false)
      case "memory": compareNamed(["memory"], by: "key", left, right, isDeep: false)
      case "answerSchema": compare([key], left, right)
      case "mcpServers":
        for name in Self.keys(left?.objectValue, right?.objectValue) {
          compareKeys(["mcpServers", name], left?[name], right?[name])
        }
      default: compareKeys([key], left, right)
      }
    }
  }
}
