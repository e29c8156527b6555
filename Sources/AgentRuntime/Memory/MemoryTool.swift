public import AgentTrace

/// A tool that looks a note up, or writes one.
public struct MemoryAccess: Sendable, Hashable {
  /// What it does with notes.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Looks one up.
    case read
    /// Keeps one, or takes one away.
    case write
    /// Looks for some by words and tags, or lists them.
    case search
  }

  /// What it does with notes.
  public var kind: Kind
  /// Which notes it reaches: `run`, `agent`, `actor`, `tenant`.
  public var scopes: [String]

  /// Every scope where none is named.
  public init(_ kind: Kind, scopes: [String] = ["run", "agent", "actor", "tenant"]) {
    self.kind = kind
    self.scopes = scopes
  }

  /// What the input of such a tool is.
  public var inputSchema: JSONValue {
    if kind == .search { return searchSchema }
    var properties: JSONObject = [
      "scope": ["enum": JSONValue(scopes)],
      "key": ["type": "string", "minLength": 1, "maxLength": JSONValue(MemoryLimits.keyBytes)],
    ]
    if kind == .write {
      properties["value"] = [:]
      properties["tags"] = [
        "type": "array", "maxItems": JSONValue(MemoryLimits.tags), "items": Self.tagSchema,
        "description": "Words that the note is found by besides its text.",
      ]
      properties["expiresInSeconds"] = [
        "type": "number", "exclusiveMinimum": 0, "maximum": 1e10,
        "description": "After how many seconds the note is forgotten; never where it is left out.",
      ]
    }
    return [
      "type": "object", "properties": .object(properties), "required": ["scope", "key"],
      "additionalProperties": false,
    ]
  }

  private static let tagSchema: JSONValue = [
    "type": "string", "minLength": 1, "maxLength": JSONValue(MemoryLimits.tagBytes),
  ]

  private var searchSchema: JSONValue {
    [
      "type": "object",
      "properties": [
        "text": [
          "type": "string", "description": "Words that each note is to hold, in its key or value.",
        ],
        "tag": Self.tagSchema, "scope": ["enum": JSONValue(scopes)],
        "limit": ["type": "integer", "minimum": 1, "maximum": JSONValue(MemorySearch.limit)],
      ],
      "additionalProperties": false,
    ]
  }
}

/// Runs tools that read and write notes. What it writes it only says: the run records it first.
struct MemoryTool: Tool {
  let access: MemoryAccess
  let store: any MemoryStore

  func run(_ request: ToolRequest) async -> ToolAnswer {
    if access.kind == .search { return search(request) }
    guard let view = request.memory, let scope = request.input["scope"]?.stringValue,
      let key = request.input["key"]?.stringValue
    else { return ToolAnswer(result: .error("the input needs a scope and a key")) }
    guard access.scopes.contains(where: { $0.hasSameUTF8(as: scope) }) else {
      return ToolAnswer(
        result: .error("this tool reaches notes of \(access.scopes.joined(separator: ", ")) alone"))
    }
    var note = MemoryNote(scope: scope, key: key, value: request.input["value"])
    switch access.kind {
    case .search: return search(request)
    case .read: return read(note, view)
    case .write:
      if note.value != nil {
        note.tags = request.input["tags"]?.arrayValue?.compactMap(\.stringValue) ?? []
        do throws(MemoryFault) {
          note.expires = try expiry(request.input["expiresInSeconds"]?.doubleValue, view)
        } catch { return ToolAnswer(result: .error(error.description)) }
      }
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
        if let kept = try store.note(at: address), kept.isKept(at: view.now) {
          note = kept.told
        } else {
          note.value = view.defaultValue(scope: note.scope, key: note.key)
        }
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

extension MemoryTool {
  private func expiry(_ seconds: Double?, _ view: MemoryView) throws(MemoryFault) -> String? {
    guard let seconds else { return nil }
    guard let now = view.now.flatMap(UTC.microsecondsSince1970) else {
      throw MemoryFault("the time is not known, so nothing can run out")
    }
    return UTC.text(microsecondsSince1970: now + Int(min(max(0, seconds), 1e10) * 1_000_000))
  }

  /// Notes of every scope that is reached and has an owner in this run, or of the one that is named.
  private func search(_ request: ToolRequest) -> ToolAnswer {
    guard let view = request.memory else {
      return ToolAnswer(result: .error("there are no notes here"))
    }
    let asked = request.input["scope"]?.stringValue
    if let asked, !access.scopes.contains(where: { $0.hasSameUTF8(as: asked) }) {
      return ToolAnswer(
        result: .error("this tool reaches notes of \(access.scopes.joined(separator: ", ")) alone"))
    }
    let text = request.input["text"]?.stringValue ?? ""
    let tag = request.input["tag"]?.stringValue
    let limit = min(request.input["limit"]?.intValue ?? 10, MemorySearch.limit)
    var found: [MemoryNote] = []
    do {
      for scope in asked.map({ [$0] }) ?? access.scopes {
        do throws(MemoryFault) {
          guard let address = try view.address(scope: scope, key: "") else {
            found += ownNotes(view, text: text, tag: tag)
            continue
          }
          let search = MemorySearch(
            scope: address.scope, owner: address.owner, text: text, tag: tag, now: view.now,
            limit: limit + 1)
          do { found += try store.notes(for: search).map(\.told) } catch {
            throw MemoryFault("\(error)")
          }
        } catch  where asked == nil && error.description.contains("acts for no") { continue }
      }
    } catch { return ToolAnswer(result: .error("\(error)")) }
    let given = Array(found.prefix(limit))
    var answer = ToolAnswer(
      result: .ok(data: [
        "notes": .array(given.map { .object($0.encoded) }),
        "hasMore": .bool(found.count > given.count),
      ]))
    answer.notes = given.map { .read($0) }
    return answer
  }

  /// The notes of the run, by key; they have no tags.
  private func ownNotes(_ view: MemoryView, text: String, tag: String?) -> [MemoryNote] {
    guard tag == nil else { return [] }
    let search = MemorySearch(scope: .agent, owner: "", text: text)
    return view.notes.filter { member in
      search.fits(
        KeptNote(
          address: MemoryAddress(scope: .agent, owner: "", key: member.key), value: member.value))
    }.sorted { $0.key.precedesByUTF8($1.key) }
      .map { MemoryNote(scope: "run", key: $0.key, value: $0.value) }
  }
}

extension ToolRequest {
  /// What a tool of notes makes of this call again, of which this answer is recorded: the call says which note
  /// it keeps, the run's own events what its notes are, and the record what a store held. The record alone
  /// speaks of what is withheld, and of a store that kept nothing.
  public func made(againAfter recorded: ToolAnswer) async -> ToolAnswer {
    guard let access = memory?.access, access.kind != .search,
      let note = recorded.notes.first?.note,
      !RedactionToken.isIn(input), !recorded.isWithheld
    else { return recorded }
    let fresh = await MemoryTool(access: access, store: RecordedStore(note: note)).run(self)
    var answer = recorded
    answer.notes = fresh.notes
    // When it was made again says nothing of when it runs out.
    if case .written(var written)? = answer.notes.first {
      written.expires = note.expires
      answer.notes[0] = .written(written)
    }
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
  let note: MemoryNote

  func note(at address: MemoryAddress) -> KeptNote? {
    note.value.map {
      KeptNote(
        address: address, value: $0, tags: note.tags, keptAt: note.keptAt,
        runId: note.from?.runId ?? "", seq: note.from?.seq ?? 0)
    }
  }
  func notes(for search: MemorySearch) -> [KeptNote] { [] }
  func write(_ writing: MemoryWriting) {}
}
