import AgentTrace

/// A span of a trace, whatever exported it, with its attributes as plain JSON.
struct TraceSpan: Hashable {
  var id: String
  /// `nil` where it says that it has none.
  var parent: String?
  var trace: String
  var name: String
  /// What made it.
  var scope = ""
  /// Nanoseconds since 1970.
  var start: UInt64
  var end: UInt64
  var attributes: JSONObject = [:]
  var events: [Event] = []
  /// Whether its status is that of an error.
  var hasFailed = false
  var statusMessage: String?
  /// How many attributes a limit took away.
  var droppedAttributes = 0
  /// How many events an exporter left out.
  var droppedEvents = 0
  /// Whether its source says that it has not ended.
  var isOpen = false
  var pointer: JSONPointer
  /// What its file calls the list of spans that it stands in, where that has several by names; empty for most.
  var list = ""
  /// What is known of the process that it comes from.
  var resource: JSONObject = [:]

  /// An event of a span, or a log record of it.
  struct Event: Hashable {
    var name: String
    /// Its attributes, and what its body holds.
    var attributes: JSONObject
    var time: UInt64 = 0
  }

  /// What it goes by: spans of several traces may have the same ids.
  var key: String { Self.key(trace, id) }

  static func key(_ trace: String, _ id: String) -> String { "\(trace) \(id)" }

  /// What its parent may go by: one of its own trace, or one that tells no trace and is the first of its own.
  var parentKeys: [String] {
    parent.map { [Self.key(trace, $0), Self.key($0, $0)] } ?? []
  }

  /// An attribute, unless it is absent, null or empty.
  subscript(key: String) -> JSONValue? {
    guard let value = attributes[key], !value.saysNothing else { return nil }
    return value
  }

  /// The first of some attributes that is there.
  func first(_ keys: [String]) -> JSONValue? {
    for key in keys {
      if let value = self[key] { return value }
    }
    return nil
  }

  func text(_ keys: String...) -> String? { first(keys)?.stringValue }

  var startTime: Timestamp { Timestamp(unixNanoseconds: start) }
  var endTime: Timestamp { Timestamp(unixNanoseconds: max(start, end)) }

  /// Why it failed, in the words of the span; `nil` where it did not.
  var failure: String? {
    let exception = events.last { $0.name == "exception" }
    let type = text("error.type")
    // The OpenAI Agents SDK's, `{"message","data"}`.
    let told = self["error"].flatMap { $0.stringValue.flatMap(JSONText.any) ?? $0 }
    let isError =
      hasFailed || type != nil || told?.saysError == true
      || text("langfuse.observation.level") == "ERROR" || self["gen_ai.tool.status"] == "error"
      || self["lk.function_tool.is_error"]?.boolValue == true
      || self["haystack.tool.error"]?.boolValue == true
    guard isError else { return nil }
    return exception?.attributes["exception.message"]?.stringValue ?? told?["message"]?.stringValue
      ?? text("langfuse.observation.status_message", "error.message") ?? statusMessage
      ?? (told?.boolValue == nil ? told?.stringValue : nil) ?? type ?? "error"
  }
}

/// What a run of spans is made of.
struct SpanSet {
  /// By id, each once.
  private(set) var spans: [TraceSpan] = []
  private var indexByID: [String: Int] = [:]
  /// What came under the key of one span and is not the same, with the place of each, until ``settled()``.
  private var tellings: [Int: [TraceSpan: JSONPointer]] = [:]
  private var tellingCount = 0
  /// Log records that belong to a span, by its key.
  var records: [String: [TraceSpan.Event]] = [:]
  /// Where the first record of each key stands, with its trace.
  private var recordPlaces: [String: (trace: String, pointer: JSONPointer)] = [:]
  /// Those that name a span and no trace, by the span's id, until ``settled()``.
  private var recordsOfNoTrace: [String: [TraceSpan.Event]] = [:]
  /// Where something stands that is no span and may be a call.
  var unread: [JSONPointer] = []
  /// Where stands what is known to be no part of any run, as what scorers did: a call that is seen there is none of theirs.
  var leftOut: [JSONPointer] = []

  private var unreadValues: Set<JSONValue> = []

  /// Takes in that something stands at a place that is no span and may be a call. What came twice, as senders send again
  /// what was not answered, says no more than once.
  mutating func addUnread(_ value: JSONValue, at pointer: JSONPointer) {
    if unreadValues.insert(value).inserted { unread.append(pointer) }
  }

  /// The most spans that are read together.
  static let limit = 200_000

  /// Takes in a span. What comes under its key again, as a retry or an end does, is told apart by ``settled()``.
  mutating func add(_ span: TraceSpan) throws(ImportError) {
    let index = indexByID[span.key]
    if let index {
      let (known, other) = (spans[index].withoutPlace, span.withoutPlace)
      guard tellings[index] != nil || known != other else { return }
      var told = tellings.removeValue(forKey: index) ?? [known: spans[index].pointer]
      if told[other] == nil {
        told[other] = span.pointer
        tellingCount += 1
      }
      tellings[index] = told
    }
    guard spans.count + tellingCount < Self.limit else {
      throw ImportError(.tooManyMessages(limit: Self.limit))
    }
    guard index == nil else { return }
    indexByID[span.key] = spans.count
    spans.append(span)
  }

  /// Whether the parent of a span is there, in the trace of that span: other traces may have the same ids. What tells no
  /// trace is the first of its own.
  func holdsParent(of span: TraceSpan) -> Bool {
    span.parent == nil || span.parentKeys.contains { indexByID[$0] != nil }
  }

  /// With other spans in the place of these.
  func replacing(_ others: [TraceSpan]) -> SpanSet {
    var set = self
    (set.spans, set.indexByID) = (others, [:])
    for (index, span) in others.enumerated() { set.indexByID[span.key] = index }
    return set
  }

  /// Names the place of each span by its ids, so that it does not matter in which request it came.
  mutating func namePlacesByIDs() {
    for index in spans.indices {
      let place = JSONPointer(tokens: ["spans", spans[index].trace, spans[index].id])
      spans[index].pointer = place
      if let told = tellings[index] { tellings[index] = told.mapValues { _ in place } }
    }
    for (key, place) in recordPlaces {
      recordPlaces[key] = (place.trace, JSONPointer(tokens: ["records", key]))
    }
  }

  /// Takes in a log record of a span; of whichever trace, where it names none.
  mutating func add(
    _ record: TraceSpan.Event, of span: String, trace: String?, at pointer: JSONPointer
  ) {
    if let trace {
      let key = TraceSpan.key(trace, span)
      if recordPlaces[key] == nil { recordPlaces[key] = (trace, pointer) }
      records[TraceSpan.key(trace, span), default: []].append(record)
    } else {
      recordsOfNoTrace[span, default: []].append(record)
    }
  }

  /// With one span for each key, whatever the order in which more was told of it, and each record with its span. Where two
  /// things were told under one key, or a record is of one of several spans, one is lost, which is marked.
  func settled() -> SpanSet {
    var set = self
    (set.tellings, set.recordsOfNoTrace) = ([:], [:])
    var lost: [String: TraceSpan] = [:]
    for (index, told) in tellings {
      let ordered = told.sorted { $0.key.knowsMore(than: $1.key) }
      guard var best = ordered.first?.key else { continue }
      best.pointer = ordered[0].value
      var isWhole = true
      for other in ordered.dropFirst() where !best.take(telling: other.key) { isWhole = false }
      set.spans[index] = best
      if !isWhole { lost[best.key] = best }
    }
    if !recordsOfNoTrace.isEmpty {
      let byID = Dictionary(grouping: set.spans, by: \.id)
      for (id, told) in recordsOfNoTrace {
        let owners = byID[id] ?? []
        if owners.count > 1 { for owner in owners { lost[owner.key] = owner } }
        let trace = owners.count == 1 ? owners[0].trace : ""
        set.records[TraceSpan.key(trace, id), default: []] += told
      }
    }
    set.unread += lost.values.sorted(by: SpanRuns.isBefore).map(\.pointer) + recordsWithoutSpan
    return set
  }

  /// Where records tell of calls in a trace that is there, and their span is not.
  private var recordsWithoutSpan: [JSONPointer] {
    let traces = Set(spans.map(\.trace))
    return recordPlaces.filter { key, place in
      indexByID[key] == nil && traces.contains(place.trace)
        && records[key]?.contains { JSONValue.object($0.attributes).mayHoldCall } == true
    }.sorted { $0.key.precedesByUTF8($1.key) }.map(\.value.pointer)
  }
}

extension TraceSpan {
  /// The same wherever it stands.
  fileprivate var withoutPlace: TraceSpan {
    var span = self
    span.pointer = JSONPointer()
    return span
  }

  /// Whether this is to be kept of two that were told under one key; of any two that are not the same one is.
  fileprivate func knowsMore(than other: TraceSpan) -> Bool {
    if isOpen != other.isOpen { return other.isOpen }
    if end != other.end { return end > other.end }
    if attributes.count != other.attributes.count {
      return attributes.count > other.attributes.count
    }
    return told.lexicographicallyPrecedes(other.told)
  }

  /// All that is told of it, as bytes.
  private var told: [UInt8] {
    let events = events.map { event -> JSONValue in
      [.string(event.name), .string(String(event.time)), .object(event.attributes)]
    }
    return CanonicalJSON.encode(
      [
        .string(name), .string(parent ?? ""), .string(scope), .string(list), .string(String(start)),
        .object(attributes), .array(events), .bool(hasFailed), .string(statusMessage ?? ""),
        .string("\(droppedAttributes) \(droppedEvents)"), .object(resource),
      ])
  }

  /// Takes in what was told of it beside: attributes that it has not.
  ///
  /// - Returns: whether nothing of the other is lost.
  fileprivate mutating func take(telling other: TraceSpan) -> Bool {
    guard mayBeSame(as: other) else { return false }
    var isWhole = list == other.list && other.events.allSatisfy(events.contains)
    for member in other.attributes {
      if self[member.key] == nil {
        attributes[member.key] = member.value
      } else if !member.value.saysNothing, attributes[member.key] != member.value {
        // While it ran, another value may have been what it had come to.
        isWhole = isWhole && other.isOpen
      }
    }
    if !other.isOpen {
      let isSame =
        hasFailed == other.hasFailed && (start == other.start || start == 0 || other.start == 0)
        && (parent == nil || other.parent == nil || parent == other.parent)
      isWhole = isWhole && isSame
    }
    parent = parent ?? other.parent
    droppedAttributes = max(droppedAttributes, other.droppedAttributes)
    droppedEvents = max(droppedEvents, other.droppedEvents)
    // What neither models nor tools are told in may be anything: the two sides of a request share a span in some systems.
    return isWhole || kind == .unknown && other.kind == .unknown
  }

  /// Whether a span of the same id may be this one, told again or when more of it was known.
  fileprivate func mayBeSame(as other: TraceSpan) -> Bool {
    if !name.isEmpty, !other.name.isEmpty, !name.hasSameUTF8(as: other.name) { return false }
    let (kind, otherKind) = (kind, other.kind)
    return kind == otherKind || kind == .unknown || otherKind == .unknown
  }
}

extension SpanSet {
  /// With the records of each span by their times, each once, as requests come in any order and are sent again.
  func puttingRecordsInOrder() -> SpanSet {
    var ordered = self
    for id in ordered.records.keys {
      var seen: Set<JSONValue> = []
      let unique = (ordered.records[id] ?? []).filter { record in
        seen.insert([
          .string(record.name), .string(String(record.time)), .object(record.attributes),
        ]).inserted
      }
      ordered.records[id] = unique.enumerated().sorted {
        $0.element.time != $1.element.time
          ? $0.element.time < $1.element.time : $0.offset < $1.offset
      }.map(\.element)
    }
    return ordered
  }

  /// With every value that an exporter's limit cut marked as cut.
  ///
  /// The limit is the length of the longest text, where a text of that length is JSON that ends in its middle: it cuts
  /// without a mark, so that any text of that length may have gone on. Events and records may have limits of their own.
  func markingCutValues() -> SpanSet {
    let ofSpans = Self.limit(of: spans.map(\.attributes))
    let ofEvents = Self.limit(of: spans.flatMap { $0.events.map(\.attributes) }) ?? ofSpans
    let ofRecords = Self.limit(of: records.values.flatMap { $0.map(\.attributes) }) ?? ofSpans
    guard ofSpans != nil || ofEvents != nil || ofRecords != nil else { return self }
    var marked = self
    for index in marked.spans.indices {
      marked.spans[index].attributes = Self.marking(marked.spans[index].attributes, ofSpans)
      for event in marked.spans[index].events.indices {
        marked.spans[index].events[event].attributes = Self.marking(
          marked.spans[index].events[event].attributes, ofEvents)
      }
    }
    for id in marked.records.keys {
      marked.records[id] = marked.records[id]?.map { record in
        TraceSpan.Event(
          name: record.name, attributes: Self.marking(record.attributes, ofRecords),
          time: record.time)
      }
    }
    return marked
  }

  /// The length at which texts were cut; `nil` where none was.
  private static func limit(of told: [JSONObject]) -> Int? {
    var longest = 0
    for attributes in told {
      for member in attributes {
        // No text has more scalars than bytes.
        guard case .string(let text) = member.value, text.utf8.count > longest else { continue }
        longest = max(longest, text.scalarCount)
      }
    }
    guard longest >= 16, longest <= 1 << 20 else { return nil }
    let isLimit = told.contains { attributes in
      attributes.contains { member in
        guard case .string(let text) = member.value, text.utf8.count >= longest,
          SpanContent.isObject(text), text.scalarCount == longest
        else { return false }
        return JSONText.isCut(text)
      }
    }
    return isLimit ? longest : nil
  }

  private static func marking(_ object: JSONObject, _ length: Int?) -> JSONObject {
    guard let length else { return object }
    return object.mapValues { marking($0, length) }
  }

  private static func marking(_ value: JSONValue, _ length: Int) -> JSONValue {
    switch value {
    case .string(let text) where text.utf8.count >= length && text.scalarCount == length:
      .cut(bytes: text.utf8.count, head: text.prefix(utf8Bytes: 1024))
    case .array(let elements): .array(elements.map { marking($0, length) })
    case .object(let object): .object(marking(object, length))
    default: value
    }
  }
}

extension String {
  /// How many Unicode scalars it has; counts bytes that begin one, many at a time.
  fileprivate var scalarCount: Int {
    func count(_ bytes: some Sequence<UInt8>) -> Int {
      var count = 0
      for byte in bytes { count &+= byte & 0xc0 == 0x80 ? 0 : 1 }
      return count
    }
    return utf8.withContiguousStorageIfAvailable(count) ?? count(utf8)
  }
}
