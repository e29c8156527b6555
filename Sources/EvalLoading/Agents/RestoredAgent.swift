public import AgentRuntime
public import AgentTrace

extension AgentLoader {
  /// A place of an agent file and what is to stand there.
  public struct Restored: Sendable {
    /// The keys that lead to it; of tools, rules, notes and servers their names.
    public var path: [String]
    /// `nil` for nothing.
    public var value: JSONValue?
    /// Of a part of a list that is not there, where it is to stand.
    public var position: Int?

    /// A position below 0 counts as 0; without one, or beyond the end of the list, it is the end.
    public init(path: [String], value: JSONValue?, position: Int? = nil) {
      self.path = path
      self.value = value
      self.position = position
    }
  }

  /// An agent as its file would make it, were some of it otherwise; it keeps the digests of its file and
  /// its policy. `nil` where no agent file says that.
  ///
  /// A tool that is put back has nothing that does its work: it is for runs that are made again.
  public static func load(
    _ agent: AgentDefinition, restoring changes: [Restored]
  ) -> AgentDefinition? {
    guard !agent.source.isEmpty else { return nil }
    var document = JSONValue.object(agent.source)
    if !agent.policy.source.isEmpty { document.set(.object(agent.policy.source), at: ["policy"]) }
    for change in changes { document.restore(change) }
    let bytes = CanonicalJSON.encode(document, form: .plain)
    guard var restored = load(bytes, path: agent.folder + "/agent.json").value else { return nil }
    restored.digest = agent.digest
    restored.folder = agent.folder
    restored.policy.digest = agent.policy.digest
    return restored
  }
}

extension JSONValue {
  /// Puts a value at the end of a path of keys; objects on the way are made.
  fileprivate mutating func set(_ value: JSONValue?, at path: ArraySlice<String>) {
    guard let key = path.first else {
      self = value ?? .null
      return
    }
    var object = objectValue ?? [:]
    if path.count == 1 {
      object[key] = value
    } else {
      var inner = object[key] ?? .object([:])
      inner.set(value, at: path.dropFirst())
      object[key] = inner == .object([:]) && value == nil ? nil : inner
    }
    self = .object(object)
  }

  fileprivate mutating func restore(_ change: AgentLoader.Restored) {
    let path = change.path
    switch (path.first, path.count) {
    case ("tools", 2...): restore(change, list: ["tools"], id: path[1])
    case ("policy", 3): restore(change, list: ["policy", "rules"], id: path[2])
    case ("memory", 2): restore(change, list: ["memory"], id: path[1])
    default: set(change.value, at: path[...])
    }
  }

  /// Restores an item of a list that is known by its name, or a key of one.
  private mutating func restore(_ change: AgentLoader.Restored, list path: [String], id: String) {
    var place: JSONValue? = self
    for key in path { place = place?[key] }
    var items = place?.arrayValue ?? []
    let rest = change.path.dropFirst(path.count + 1)
    let index = items.firstIndex { $0.isNamed(id) }
    if !rest.isEmpty {
      guard let index else { return }
      items[index].set(change.value, at: rest)
    } else if var value = change.value {
      if path == ["tools"] { value = value.asTool }
      if let index {
        items[index] = value
      } else {
        items.insert(value, at: min(max(0, change.position ?? items.count), items.count))
      }
    } else if let index {
      items.remove(at: index)
    }
    set(items.isEmpty ? nil : .array(items), at: path[...])
  }

  private func isNamed(_ id: String) -> Bool {
    for key in ["name", "id"] {
      if let name = self[key]?.stringValue { return name.hasSameUTF8(as: id) }
    }
    return "\(self["scope"]?.stringValue ?? "")/\(self["key"]?.stringValue ?? "")"
      .hasSameUTF8(as: id)
  }

  /// A tool with something that does its work, where the log does not say what.
  private var asTool: JSONValue {
    guard var object = objectValue,
      !["command", "http", "code", "memory"].contains(where: { object[$0] != nil })
    else { return self }
    object["scripted"] = [["ok": .null]]
    return .object(object)
  }
}
