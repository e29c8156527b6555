import AgentTrace

/// What belongs to one trace of a body that came in.
public struct ReceivedPiece: Sendable, Hashable {
  /// The format of ``payload``.
  public var format: ImportFormat
  /// What joins it with others: its trace, and the conversations that its spans name. Never empty.
  public var keys: [String]
  /// Whether it holds a span without a parent that has ended.
  public var endsRun: Bool
  /// How many spans and log records it holds.
  public var spans: Int
  /// The part of the body, as ``ReceivedRuns`` reads it.
  public var payload: [UInt8]
}

/// A body that came in, taken apart by its traces.
public struct ReceivedBody: Sendable {
  /// In the order in which their traces first stand in the body.
  public private(set) var pieces: [ReceivedPiece] = []
  /// Spans and records that no run can be made of, because they name no trace or no span.
  public private(set) var rejected = 0
  /// What stands in the body where nothing is read, or names no trace, and may be calls: of which run, nobody knows. It
  /// goes along with the first piece, and marks the runs of all of them.
  private var unplaced: [JSONValue] = []

  /// Whether nothing of the body can be kept, though something in it may tell of calls.
  public var isLost: Bool { pieces.isEmpty && !unplaced.isEmpty }

  /// Reads a body that is not packed any more.
  ///
  /// - Parameters:
  ///   - bytes: the body as it stands, no longer packed.
  ///   - route: what is posted there: it decides what the body is read as.
  ///   - path: where it was sent to.
  ///   - contentType: in small letters.
  /// - Throws: ``ImportError`` where it is not what the route takes.
  public init(
    _ bytes: [UInt8], route: ReceivedRoute, path: String, contentType: String
  ) throws(ImportError) {
    // Metrics are not read at all, and what is packed twice nobody sends.
    if route == .metrics { return }
    guard !bytes.starts(with: [0x1f, 0x8b]) else {
      throw ImportError(.unsupported("bodies compressed twice"))
    }
    let path = String(path.prefix { $0 != "?" && $0 != "#" })
    let document = try RequestBody(path: path, contentType: contentType).document(bytes)
    guard case .value(let value) = document else {
      throw ImportError(.wrongShape(expected: "one value"))
    }
    switch route {
    case .traces, .logs: try takeOtlp(value)
    case .openAIAgents: try takeAgents(value)
    case .langSmith(let id): try takeLangSmith(value, patched: id)
    case .metrics, .langSmithInfo: break
    }
  }

  /// One trace's share while a body is read.
  private struct Share {
    var keys: [String]
    var endsRun = false
    var spans = 0
    var values: [JSONValue] = []

    init(key: String) { keys = [key] }

    mutating func join(_ key: String) {
      if !keys.contains(key) { keys.append(key) }
    }
  }

  /// Shares in the order in which they began.
  private struct Shares {
    private(set) var all: [Share] = []
    private var indexes: [String: Int] = [:]

    subscript(key: String) -> Share {
      get { indexes[key].map { all[$0] } ?? Share(key: key) }
      set {
        if let index = indexes[key] {
          all[index] = newValue
        } else {
          indexes[key] = all.count
          all.append(newValue)
        }
      }
    }
  }

  private mutating func finish(
    _ shares: Shares, _ format: ImportFormat, _ body: (Share) -> JSONValue
  ) {
    pieces = shares.all.enumerated().map { index, share in
      var value = body(share)
      if !unplaced.isEmpty, var object = value.objectValue {
        object["unplaced"] = .array(
          (index == 0 ? unplaced : [.null]).map { ["spanId": "", "held": $0] })
        value = .object(object)
      }
      return ReceivedPiece(
        format: format, keys: share.keys, endsRun: share.endsRun, spans: share.spans,
        payload: CanonicalJSON.encode(value))
    }
  }

  /// Keeps what stands in an object where nothing is read and may be a call; readers know its other keys.
  private mutating func keepUnplaced(_ object: JSONObject, but known: [String]) {
    for member in object where !known.contains(member.key) && member.value.mayHoldSpan {
      unplaced.append(.object([member.key: member.value]))
    }
  }

  /// The elements of what is to be a list; anything else that says something is kept.
  private mutating func elements(_ value: JSONValue?) -> [JSONValue] {
    guard let value, !value.saysNothing else { return [] }
    guard let elements = value.arrayValue else {
      unplaced.append(value)
      return []
    }
    return elements
  }

  // MARK: OTLP

  private mutating func takeOtlp(_ value: JSONValue) throws(ImportError) {
    guard let object = value.objectValue, object.isEmpty || OtlpReader.isRequest(value) else {
      throw ImportError(.wrongShape(expected: "a request of OTLP (`resourceSpans`)"))
    }
    var shares = Shares()
    let keys = OtlpReader.spanKeys + OtlpReader.logKeys
    for key in keys {
      let isLogs = OtlpReader.logKeys.contains(key)
      for batch in elements(value[key]) { take(batch, isLogs: isLogs, into: &shares) }
    }
    keepUnplaced(object, but: keys + ["resourceMetrics", "resource_metrics"])
    finish(shares, .otlp) { share in
      // Spans and records of one trace never come in one body of a client's, and both are read.
      .object([
        "resourceSpans": .array(share.values.filter { $0["scopeSpans"] != nil }),
        "resourceLogs": .array(share.values.filter { $0["scopeLogs"] != nil }),
      ])
    }
  }

  private mutating func take(_ batch: JSONValue, isLogs: Bool, into shares: inout Shares) {
    guard let object = batch.objectValue else {
      if !batch.saysNothing { unplaced.append(batch) }
      return
    }
    let resource = Self.named(batch["resource"]?["attributes"])
    var scopes: [(key: String, scope: JSONValue)] = []
    for key in OtlpReader.scopeKeys {
      for scope in elements(batch[key]) {
        let list = isLogs ? scope["logRecords"] ?? scope["logs"] : scope["spans"]
        let sorted = sorted(elements(list), isLogs, resource, &shares)
        if sorted.isEmpty {
          keepUnplaced(
            scope.objectValue ?? ["scope": scope],
            but: ["spans", "logRecords", "logs", "scope", "instrumentationLibrary"])
        }
        for (trace, entries) in sorted {
          var rest = scope.objectValue ?? [:]
          for key in ["spans", "logRecords", "logs"] { rest[key] = nil }
          rest[isLogs ? "logRecords" : "spans"] = .array(entries)
          scopes.append((trace, .object(rest)))
        }
      }
    }
    if scopes.isEmpty { keepUnplaced(object, but: OtlpReader.scopeKeys + ["resource"]) }
    var order: [String] = []
    for (trace, _) in scopes where !order.contains(trace) { order.append(trace) }
    for trace in order {
      var rest = object
      for key in OtlpReader.scopeKeys { rest[key] = nil }
      rest[isLogs ? "scopeLogs" : "scopeSpans"] = .array(
        scopes.filter { $0.key.hasSameUTF8(as: trace) }.map(\.scope))
      shares[trace].values.append(.object(rest))
    }
  }

  /// The entries of a scope by the keys of their traces.
  private mutating func sorted(
    _ entries: [JSONValue], _ isLogs: Bool, _ resource: JSONObject, _ shares: inout Shares
  ) -> [(String, [JSONValue])] {
    var order: [String] = []
    var found: [String: [JSONValue]] = [:]
    for entry in entries {
      guard let trace = OtlpReader.identifier(entry["traceId"] ?? entry["trace_id"], bytes: 16),
        OtlpReader.identifier(entry["spanId"] ?? entry["span_id"], bytes: 8) != nil
      else {
        rejected += 1
        // Records of no span are those of a program beside its traces.
        if isLogs ? entry.mayHoldCall : !entry.saysNothing { unplaced.append(entry) }
        continue
      }
      let key = "otlp trace \(trace)"
      if found[key] == nil { order.append(key) }
      found[key, default: []].append(entry)
      shares[key].spans += 1
      guard !isLogs else { continue }
      let own = Self.named(entry["attributes"])
      if let session = SpanRuns.session(naming: { own[$0] ?? resource[$0] }) {
        shares[key].join("otlp session \(session)")
      }
      let parent = entry["parentSpanId"] ?? entry["parent_span_id"]
      let end = OtlpReader.nanoseconds(entry["endTimeUnixNano"] ?? entry["end_time_unix_nano"])
      if OtlpReader.identifier(parent, bytes: 8) == nil, end ?? 0 > 0 { shares[key].endsRun = true }
    }
    return order.map { ($0, found[$0] ?? []) }
  }

  /// The attributes that name a conversation.
  private static func named(_ list: JSONValue?) -> JSONObject {
    guard let entries = list?.arrayValue else { return list?.objectValue ?? [:] }
    var found: JSONObject = [:]
    for entry in entries {
      guard let key = entry["key"]?.stringValue, SpanRuns.sessionKeys.contains(key) else {
        continue
      }
      found[key] = entry["value"].map(OtlpReader.plain)
    }
    return found
  }

  // MARK: Others

  private mutating func takeAgents(_ value: JSONValue) throws(ImportError) {
    guard let items = value["data"]?.arrayValue else {
      throw ImportError(.wrongShape(expected: "`data`, a list of items with `object` trace.span"))
    }
    keepUnplaced(value.objectValue ?? [:], but: ["data"])
    var shares = Shares()
    for item in items {
      let isTrace = item["object"] == "trace"
      guard isTrace || item["object"] == "trace.span",
        let trace = (isTrace ? item["id"] : item["trace_id"])?.stringValue, !trace.isEmpty
      else {
        rejected += 1
        if !item.saysNothing { unplaced.append(item) }
        continue
      }
      let key = "agents trace \(trace)"
      shares[key].spans += 1
      shares[key].values.append(item)
      if let group = item["group_id"]?.stringValue, !group.isEmpty {
        shares[key].join("agents session \(group)")
      }
      if !isTrace, item["parent_id"]?.stringValue == nil, item["ended_at"]?.stringValue != nil {
        shares[key].endsRun = true
      }
    }
    finish(shares, .openAIAgents) { ["data": .array($0.values)] }
  }

  private mutating func takeLangSmith(
    _ value: JSONValue, patched: String?
  ) throws(ImportError) {
    var shares = Shares()
    for (event, run) in try events(value, patched: patched) {
      guard let id = run["id"]?.stringValue, !id.isEmpty else {
        rejected += 1
        if !run.isEmpty { unplaced.append(.object(run)) }
        continue
      }
      let trace = run["trace_id"]?.stringValue
      let key = trace.map { "langsmith trace \($0)" } ?? "langsmith run \(id)"
      shares[key].spans += 1
      shares[key].join("langsmith run \(id)")
      shares[key].values.append([event: .object(run)])
      let metadata = run["extra"]?["metadata"]
      let session =
        metadata?["session_id"] ?? metadata?["thread_id"] ?? metadata?["conversation_id"]
      if let session = session?.stringValue, !session.isEmpty {
        shares[key].join("langsmith session \(session)")
      }
      let isRoot = trace.map { $0.hasSameUTF8(as: id) } ?? (run["parent_run_id"]?.isNull ?? false)
      if isRoot, run["end_time"]?.stringValue != nil { shares[key].endsRun = true }
    }
    finish(shares, .langSmith) { share in
      .object(
        JSONObject(
          ["post", "patch"].map { event in
            (event, .array(share.values.compactMap { $0[event] }))
          }))
    }
  }

  /// What a body says of runs, one after the other; what comes in parts, put together.
  private mutating func events(
    _ value: JSONValue, patched: String?
  ) throws(ImportError) -> [(String, JSONObject)] {
    if let parts = value["multipart"]?.arrayValue { return events(parts: parts) }
    if let id = patched, var run = value.objectValue {
      run["id"] = .string(id)
      return [("patch", run)]
    }
    if let run = value.objectValue, run["run_type"]?.stringValue != nil { return [("post", run)] }
    guard value["post"]?.arrayValue != nil || value["patch"]?.arrayValue != nil else {
      throw ImportError(.wrongShape(expected: "runs under `post` and `patch`"))
    }
    let keys = ["post", "patch"]
    keepUnplaced(value.objectValue ?? [:], but: keys)
    var found: [(String, JSONObject)] = []
    for event in keys {
      for run in elements(value[event]) {
        guard let run = run.objectValue else {
          rejected += 1
          if !run.saysNothing { unplaced.append(run) }
          continue
        }
        found.append((event, run))
      }
    }
    return found
  }

  private mutating func events(parts: [JSONValue]) -> [(String, JSONObject)] {
    var found: [(event: String, run: JSONObject)] = []
    var indexes: [String: Int] = [:]
    for part in parts {
      let name = (part["name"]?.stringValue ?? "").split(separator: ".").map(String.init)
      guard name.count >= 2, name[0] == "post" || name[0] == "patch", let body = part["value"]
      else {
        // Attachments and what people say of a run.
        if !["attachment", "feedback"].contains(name.first ?? "") { unplaced.append(part) }
        continue
      }
      let key = "\(name[0]).\(name[1])"
      let index = indexes[key] ?? found.count
      if index == found.count {
        indexes[key] = index
        found.append((name[0], ["id": .string(name[1])]))
      }
      if name.count > 2 {
        found[index].run[name[2]] = body
      } else {
        for member in body.objectValue ?? [:] { found[index].run[member.key] = member.value }
      }
    }
    return found
  }
}
