public import AgentTrace

/// A tool that looks a note up, or writes one.
public struct MemoryAccess: Sendable, Hashable {
  /// What it does with notes.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Looks one up.
    case read
    /// Keeps one, or takes one away.
    case write
  }

  /// What it does with notes.
  public var kind: Kind
  /// Which notes it reaches: `run`, `agent`, `actor`.
  public var scopes: [String]

  /// Every scope where none is named.
  public init(_ kind: Kind, scopes: [String] = ["run", "agent", "actor"]) {
    self.kind = kind
    self.scopes = scopes
  }

  /// What the input of such a tool is.
  public var inputSchema: JSONValue {
    var properties: JSONObject = [
      "scope": ["enum": JSONValue(scopes)],
      "key": ["type": "string", "minLength": 1, "maxLength": JSONValue(MemoryLimits.keyBytes)],
    ]
    if kind == .write { properties["value"] = [:] }
    return [
      "type": "object", "properties": .object(properties), "required": ["scope", "key"],
      "additionalProperties": false,
    ]
  }
}

/// Runs tools that read and write notes. What it writes it only says: the run records it first.
struct MemoryTool: Tool {
  let access: MemoryAccess
  let store: any MemoryStore

  func run(_ request: ToolRequest) async -> ToolAnswer {
    guard let view = request.memory, let scope = request.input["scope"]?.stringValue,
      let key = request.input["key"]?.stringValue
    else { return ToolAnswer(result: .error("the input needs a scope and a key")) }
    guard access.scopes.contains(where: { $0.hasSameUTF8(as: scope) }) else {
      return ToolAnswer(
        result: .error("this tool reaches notes of \(access.scopes.joined(separator: ", ")) alone"))
    }
    let note = MemoryNote(scope: scope, key: key, value: request.input["value"])
    switch access.kind {
    case .read: return read(note, view)
    case .write:
      if let fault = view.fault(in: note) { return ToolAnswer(result: .error(fault)) }
      var answer = ToolAnswer(result: .ok(data: ["kept": .bool(note.value != nil)]))
      answer.notes = [.written(note)]
      return answer
    }
  }

  private func read(_ note: MemoryNote, _ view: MemoryView) -> ToolAnswer {
    var note = note
    do {
      if let address = try view.address(scope: note.scope, key: note.key) {
        // As the note is read when a run starts.
        note.value =
          try store.value(at: address) ?? view.defaultValue(scope: note.scope, key: note.key)
      } else {
        note.value = view.notes[note.key]
      }
    } catch {
      return ToolAnswer(result: .error("\(error)"))
    }
    var data: JSONObject = ["found": .bool(note.value != nil)]
    data["value"] = note.value
    var answer = ToolAnswer(result: .ok(data: .object(data)))
    answer.notes = [.read(note)]
    return answer
  }
}

extension ToolRequest {
  /// What a tool of notes makes of this call again, of which this answer is recorded: the call says which note
  /// it keeps, the run's own events what its notes are, and the record what a store held. The record alone
  /// speaks of what is withheld, and of a store that kept nothing.
  public func made(againAfter recorded: ToolAnswer) async -> ToolAnswer {
    guard let access = memory?.access, let note = recorded.notes.first?.note,
      !RedactionToken.isIn(input), !recorded.isWithheld
    else { return recorded }
    let fresh = await MemoryTool(access: access, store: RecordedStore(note: note.value)).run(self)
    var answer = recorded
    answer.notes = fresh.notes
    if case .ok = recorded.result { answer.result = fresh.result }
    return answer
  }
}

extension ToolAnswer {
  fileprivate var isWithheld: Bool {
    let data: JSONValue? = if case .ok(let data) = result { data } else { nil }
    return ([data] + notes.map(\.note.value)).contains { $0.map(RedactionToken.isIn) ?? false }
  }
}

/// A store as it was when one note was looked up.
private struct RecordedStore: MemoryStore {
  let note: JSONValue?

  func value(at address: MemoryAddress) -> JSONValue? { note }
  func write(_ writing: MemoryWriting) {}
}
