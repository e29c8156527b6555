/// The data of a `human_replied` event.
public struct HumanReplied: Sendable, Hashable {
  /// A string, unless it was lost, cut or no UTF-8.
  public var text: JSONValue
  /// Who spoke; `nil` where that was not recorded.
  public var by: String?
  /// The number of the event that asked.
  public var replyTo: Int?
  /// The number of the `model_result` that it was read from, where a model played the person.
  public var modelResult: Int?

  /// Without more, nobody knows who spoke and what was asked.
  public init(
    text: JSONValue, by: String? = nil, replyTo: Int? = nil, modelResult: Int? = nil
  ) {
    self.text = text
    self.by = by
    self.replyTo = replyTo
    self.modelResult = modelResult
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    guard let text = object["text"] else { throw reader.error("text", "a string") }
    self.text = text
    by = try reader.optionalString("by")
    replyTo = try reader.optionalInt("replyTo")
    modelResult = try reader.optionalInt("modelResult")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("text", text), ("by", by.map(JSONValue.string)), ("replyTo", replyTo.map { JSONValue($0) }),
      ("modelResult", modelResult.map { JSONValue($0) }),
    ])
  }
}

/// The data of a `memory_read` or `memory_written` event.
public struct MemoryNote: Sendable, Hashable {
  /// `run`, `agent`, `actor` or `tenant`.
  public var scope: String
  /// What the note is found by within its scope.
  public var key: String
  /// `nil` when there was none, or none is left.
  public var value: JSONValue?
  /// The call that read or wrote it; `nil` outside of one.
  public var callId: String?
  /// Where a note came from that was read when the run started: `store`; `nil` where the agent file
  /// says it.
  public var source: String?
  /// Words that it is found by besides its text.
  public var tags: [String] = []
  /// From when on it counts as not kept, in UTC; `nil` for never.
  public var expires: String?
  /// When it was kept, in UTC, of a note that is read; `nil` where nobody says.
  public var keptAt: String?
  /// Which event of which run kept it, of a note that is read; `nil` where nobody says.
  public var from: Origin?

  /// The event that kept a note.
  public struct Origin: Sendable, Hashable {
    /// The run.
    public var runId: String
    /// The number of the event there.
    public var seq: Int

    /// The wire form is `{"runId","seq"}`.
    public init(runId: String, seq: Int) {
      self.runId = runId
      self.seq = seq
    }
  }

  /// Without more, a note that no call read or wrote.
  public init(
    scope: String, key: String, value: JSONValue?, callId: String? = nil, source: String? = nil
  ) {
    self.scope = scope
    self.key = key
    self.value = value
    self.callId = callId
    self.source = source
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    scope = try reader.string("scope")
    key = try reader.string("key")
    value = object["value"]
    callId = try reader.optionalString("callId")
    source = try reader.optionalString("source")
    tags = try reader.strings("tags")
    expires = try reader.optionalString("expires")
    keptAt = try reader.optionalString("keptAt")
    if let origin = try reader.optionalObject("from") {
      let reader = PayloadReader(origin, path: "from")
      from = Origin(runId: try reader.string("runId"), seq: try reader.int("seq"))
    }
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("scope", .string(scope)), ("key", .string(key)), ("value", value),
      ("callId", callId.map(JSONValue.string)), ("source", source.map(JSONValue.string)),
      ("tags", tags.isEmpty ? Optional.none : .some(JSONValue(tags))),
      ("expires", expires.map(JSONValue.string)),
      ("keptAt", keptAt.map(JSONValue.string)),
      ("from", from.map { ["runId": .string($0.runId), "seq": JSONValue($0.seq)] }),
    ])
  }
}

/// The data of a `breaker_changed` event.
public struct BreakerChanged: Sendable, Hashable {
  /// The states of a circuit breaker.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// Calls go through.
    case closed
    /// Calls are refused.
    case open
    /// One call goes through, to see how it fares.
    case halfOpen = "half_open"
  }

  /// The tool whose breaker it is.
  public var tool: String
  /// What the breaker is from now on.
  public var state: State
  /// Failures in a row so far.
  public var failures: Int

  /// What the breaker of a tool is from the event on.
  public init(tool: String, state: State, failures: Int) {
    self.tool = tool
    self.state = state
    self.failures = failures
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    tool = try reader.text("tool")
    state = try reader.enumeration("state", State.self, "closed, open or half_open")
    failures = try reader.int("failures")
  }

  /// The wire form.
  public var encoded: JSONObject {
    [
      "tool": .string(tool), "state": .string(state.rawValue), "failures": JSONValue(failures),
    ]
  }
}

/// The data of a `run_resumed` event.
public struct RunResumed: Sendable, Hashable {
  /// The reason in words.
  public var why: String
  /// Where a torn log was cut, in bytes of the file; `nil` where nothing was torn.
  public var cutAt: Int?
  /// How many bytes of a torn end were cut off; `nil` where nothing was torn.
  public var bytesDropped: Int?
  /// SHA-256 of the agent file that goes on, where it is not the one from before.
  public var agentDigest: String?
  /// SHA-256 of the policy file that goes on, where it is not the one from before.
  public var policyDigest: String?
  /// How each model is asked from here on, where that is not as before; see ``RunStarted/models``.
  public var models: JSONObject = [:]
  /// Who said what the agent file that goes on does not; see ``RunStarted/origins``.
  public var origins: JSONObject = [:]
  /// What else the files that go on say, where they are not those from before; see
  /// ``RunStarted/inputs``.
  public var inputs: JSONObject = [:]

  /// The same agent and policy go on, unless digests are set afterwards.
  public init(why: String, cutAt: Int? = nil, bytesDropped: Int? = nil) {
    self.why = why
    self.cutAt = cutAt
    self.bytesDropped = bytesDropped
  }

  /// Whether another agent file or policy goes on: then both digests are told, `nil` for what stands in
  /// no file of its own.
  public var changesFiles: Bool { agentDigest != nil || policyDigest != nil }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    why = try reader.text("why")
    cutAt = try reader.optionalInt("cutAt")
    bytesDropped = try reader.optionalInt("bytesDropped")
    agentDigest = try reader.optionalString("agentDigest")
    policyDigest = try reader.optionalString("policyDigest")
    models = try reader.optionalObject("models") ?? [:]
    origins = try reader.optionalObject("origins") ?? [:]
    inputs = try reader.optionalObject("inputs") ?? [:]
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("why", .string(why)), ("cutAt", cutAt.map { JSONValue($0) }),
      ("bytesDropped", bytesDropped.map { JSONValue($0) }),
      ("agentDigest", agentDigest.map(JSONValue.string)),
      ("policyDigest", policyDigest.map(JSONValue.string)),
      ("models", models.isEmpty ? nil : .object(models)),
      ("origins", origins.isEmpty ? nil : .object(origins)),
      ("inputs", inputs.isEmpty ? nil : .object(inputs)),
    ])
  }
}

/// The data of a `request_forwarded` event: a proxy passed on a request that asks no model for a reply.
public struct RequestForwarded: Sendable, Hashable {
  /// For example `GET`.
  public var method: String
  /// Behind the base URL of whoever got it, with the query.
  public var path: String
  /// SHA-256 of the request's body.
  public var bodyDigest: String
  /// The status of the reply; `nil` where none came.
  public var status: Int?
  /// Why none came; `nil` where one did.
  public var error: String?
  /// From the request to the end of the reply; `nil` where it was not recorded.
  public var elapsedMicroseconds: Int?
  /// What came back, as it went over the wire; empty where it was not kept.
  public var wire: JSONObject

  /// Either a status or an error should be given.
  public init(
    method: String, path: String, bodyDigest: String, status: Int? = nil, error: String? = nil,
    elapsedMicroseconds: Int? = nil, wire: JSONObject = [:]
  ) {
    self.method = method
    self.path = path
    self.bodyDigest = bodyDigest
    self.status = status
    self.error = error
    self.elapsedMicroseconds = elapsedMicroseconds
    self.wire = wire
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    method = try reader.text("method")
    path = try reader.text("path")
    bodyDigest = try reader.string("bodyDigest")
    status = try reader.optionalInt("status")
    error = object["error"] == nil ? nil : try reader.text("error")
    elapsedMicroseconds = try reader.optionalInt("elapsedMicroseconds")
    wire = try reader.optionalObject("wire") ?? [:]
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("method", .string(method)), ("path", .string(path)), ("bodyDigest", .string(bodyDigest)),
      ("status", status.map { JSONValue($0) }), ("error", error.map(JSONValue.string)),
      ("elapsedMicroseconds", elapsedMicroseconds.map { JSONValue($0) }),
      ("wire", wire.isEmpty ? nil : .object(wire)),
    ])
  }
}
