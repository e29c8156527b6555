import AgentTrace
import TraceStorage

/// A run whose own log goes along in a file that we exported.
struct CarriedRun: EventSource {
  let carriedLog: [UInt8]?

  /// Nothing is told otherwise than by the log.
  func emitEvents(as identity: RunIdentity, to append: @escaping (Event) throws -> Void) throws {
    throw Self.damaged
  }

  /// What is said of a log that goes along and cannot be read.
  static var damaged: ImportError {
    ImportError(
      .wrongShape(
        expected:
          "a sound log under `\(CarriedLog.key)`; take that key away to import what stands beside it"
      ))
  }

  /// The run that a value carries below some keys; `nil` where it carries none, or what stands beside it was
  /// changed since: then that is what counts.
  ///
  /// - Throws: ``ImportError`` where what is carried is no log.
  static func find(in value: JSONValue, at path: [String]) throws(ImportError) -> CarriedRun? {
    try taking(CarriedLog.find(in: value, at: path))
  }

  /// The run whose log goes along with a value, else what stands beside it says.
  static func find(
    in value: JSONValue, at pointer: JSONPointer,
    else read: (JSONValue, JSONPointer) throws(ImportError) -> CallGraph
  ) throws(ImportError) -> any EventSource {
    if let run = try find(in: value, at: []) { return run }
    let (beside, own) = CarriedLog.taking(from: value, at: [])
    var graph = try read(beside, pointer)
    take(own, at: pointer.appending(CarriedLog.key), into: &graph)
    graph.ending = ending(own, at: pointer, told: graph.ending)
    return graph
  }

  private static func taking(_ found: CarriedLog.Found) throws(ImportError) -> CarriedRun? {
    switch found {
    case .none, .changed: nil
    case .damaged: throw damaged
    case .log(let bytes): CarriedRun(carriedLog: bytes)
    }
  }

  /// How a run ended whose log does not go along: where our own export names another reason than success, that one; where it
  /// names none, nobody knows, whatever was said last. That a run ended well its messages say.
  ///
  /// - Parameters:
  ///   - own: what stands under our key.
  ///   - told: how it ended by its messages.
  static func ending(
    _ own: JSONValue?, at pointer: JSONPointer, told: ParsedEnding?
  ) -> ParsedEnding? {
    guard own?["runId"] != nil else { return told }
    guard let reason = own?["stop"]?.stringValue.flatMap(StopReason.init(rawValue:)) else {
      return nil
    }
    if reason == .success { return told }
    return ParsedEnding(
      reason: reason, detail: own?["detail"]?.stringValue ?? "",
      field: pointer.appending(CarriedLog.key).appending("stop"))
  }

  /// Takes in what else our own export says of a run whose log does not go along.
  ///
  /// - Parameters:
  ///   - own: what stands under our key.
  ///   - pointer: where that stands.
  static func take(_ own: JSONValue?, at pointer: JSONPointer, into graph: inout CallGraph) {
    if own?["partial"] == true { graph.unread.append(pointer) }
    if own?["answered"] == false { graph.hasNoAnswer = true }
    if own?["answerCut"] == true { graph.cutsAnswer = true }
    if own?["open"] == true { graph.isOpen = true }
    if own?["paused"] == true { graph.lacksPauses = true }
    guard let own, own["runId"] != nil else { return }
    graph.forgetRefusalsInWords()
    graph.takeResults(own["results"]?.arrayValue ?? [])
    graph.takeReplies(own)
  }

  /// The run that spans carry in pieces.
  ///
  /// - Throws: ``ImportError`` where they are no log.
  static func find(in spans: [TraceSpan]) throws(ImportError) -> CarriedRun? {
    guard
      let root = spans.first(where: \.carriesLog),
      let count = root.attributes["agent_eval.log.parts"]?.intValue,
      let visible = root.attributes["agent_eval.log.visible"]?.stringValue
    else { return nil }
    var pieces: [Int: String] = [:]
    for span in spans {
      guard let part = span.attributes["agent_eval.log.part"]?.intValue else { continue }
      pieces[part] = span.attributes["agent_eval.log"]?.stringValue
    }
    // A span that never came, or that somebody changed: what can be seen is what there is.
    guard count >= 1, count <= spans.count, pieces.count == count,
      visible.hasSameUTF8(as: CarriedLog.digest(of: Self.visible(spans)))
    else { return nil }
    var text = ""
    for index in 0..<count {
      guard let piece = pieces[index] else { return nil }
      text += piece
    }
    return try taking(CarriedLog.decode(text))
  }

  private static func visible(_ spans: [TraceSpan]) -> JSONValue {
    let rows = spans.map { span -> (String, JSONValue) in
      let attributes = span.attributes.filter { !$0.key.hasPrefix("agent_eval.log") }
      return (
        span.id,
        [
          .string(span.id), .string(span.parent ?? ""), .string(span.name),
          .object(JSONObject(attributes.map { ($0.key, $0.value) })), .bool(span.hasFailed),
          .array(span.events.map { [.string($0.name), .object($0.attributes)] }),
        ]
      )
    }
    return .array(rows.sorted { $0.0.precedesByUTF8($1.0) }.map(\.1))
  }
}
