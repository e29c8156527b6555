public import AgentTrace

/// What a tool of the kind `memory` is told of the run besides its input.
public struct MemoryView: Sendable, Hashable {
  /// The name of the agent, who owns the notes of the scope `agent`.
  public var agent: String
  /// Who owns the notes of the scope `actor`; `nil` where the run acts for nobody.
  public var actor: String?
  /// Who owns the notes of the scope `tenant`; `nil` where the run acts for no tenant.
  public var tenant: String?
  /// The time in UTC at which the call began, by which notes run out; `nil` where it is not known.
  public var now: String?
  /// The notes of the scope `run`.
  public var notes: JSONObject
  /// The notes of the agent file: what a note of the store is while the store has none.
  public var defaults: [MemoryNote]
  /// What the tool does with notes; `nil` for one that may do anything.
  public var access: MemoryAccess?

  /// Without more, a run that has read and written no notes.
  public init(
    agent: String, actor: String?, notes: JSONObject = [:], defaults: [MemoryNote] = []
  ) {
    self.agent = agent
    self.actor = actor
    self.notes = notes
    self.defaults = defaults
  }

  /// What the agent file says for a note of the store; `nil` where it names no such note.
  func defaultValue(scope: String, key: String) -> JSONValue? {
    defaults.last { $0.scope.hasSameUTF8(as: scope) && $0.key.hasSameUTF8(as: key) }?.value
  }

  /// Where a note is kept; `nil` for the scope `run`.
  ///
  /// - Throws: ``MemoryFault`` for a scope that is none, or that nobody owns in this run.
  func address(scope: String, key: String) throws(MemoryFault) -> MemoryAddress? {
    if scope == "run" { return nil }
    guard let known = MemoryAddress.Scope(rawValue: scope) else {
      throw MemoryFault(
        "“\(scope.prefix(utf8Bytes: 100))” is no scope; use run, agent, actor or tenant")
    }
    switch known {
    case .agent: return MemoryAddress(scope: .agent, owner: agent, key: key)
    case .actor:
      guard let actor else { throw MemoryFault("the run acts for no actor whose notes these are") }
      return MemoryAddress(scope: .actor, owner: actor, key: key)
    case .tenant:
      guard let tenant else {
        throw MemoryFault("the run acts for no tenant whose notes these are")
      }
      return MemoryAddress(scope: .tenant, owner: tenant, key: key)
    }
  }

  /// What is wrong with a note that is to be written; `nil` where nothing is.
  func fault(in note: MemoryNote) -> String? {
    guard (1...MemoryLimits.keyBytes).contains(note.key.utf8.count) else {
      return "the key of a note has 1 to \(MemoryLimits.keyBytes) bytes"
    }
    guard note.tags.count <= MemoryLimits.tags,
      note.tags.allSatisfy({ (1...MemoryLimits.tagBytes).contains($0.utf8.count) })
    else {
      return "a note has up to \(MemoryLimits.tags) tags of 1 to \(MemoryLimits.tagBytes) bytes"
    }
    if note.scope == "run", !note.tags.isEmpty || note.expires != nil {
      return "a note of the run has no tags and does not run out: it ends with the run"
    }
    do throws(MemoryFault) {
      let address = try address(scope: note.scope, key: note.key)
      guard let value = note.value else { return nil }
      guard CanonicalJSON.encode(value).count <= MemoryLimits.valueBytes else {
        return "the note \(note.scope)/\(note.key) is larger than \(MemoryLimits.valueBytes) bytes"
      }
      let isFull = notes[note.key] == nil && notes.count >= MemoryLimits.notes
      return address == nil && isFull ? MemoryFault.full.description : nil
    } catch { return error.description }
  }
}

extension AgentDefinition {
  /// Whose notes its runs reach.
  var memoryView: MemoryView {
    let actor = policyContext.actorId.map { actorId in
      CanonicalJSON.string(
        [policyContext.tenantId.map(JSONValue.string) ?? .null, .string(actorId)], form: .plain)
    }
    var view = MemoryView(agent: name, actor: actor, defaults: memory)
    view.tenant = policyContext.tenantId
    return view
  }

  /// Whether its runs may write notes that outlive them.
  public var writesMemory: Bool {
    tools.contains { tool in
      switch tool.implementation {
      case .memory(let access): access.kind == .write && access.scopes != ["run"]
      case .scripted(let script):
        script.rules.contains { $0.writes.contains { $0.scope != "run" } }
      case .tool: true
      case .agent(let child): child.agent.writesMemory
      case .command, .http, .code, .listed, .decision: false
      }
    }
  }

  /// Whether its runs look at notes that outlive them.
  public var readsMemory: Bool {
    memory.contains { $0.scope != "run" }
      || tools.contains {
        switch $0.implementation {
        case .memory(let access): access.scopes != ["run"]
        case .agent(let child): child.agent.readsMemory
        default: false
        }
      }
  }
}
