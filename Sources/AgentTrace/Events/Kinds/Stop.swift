extension EventType {
  /// The run ended or paused.
  public static let stop = EventType(rawValue: "stop")
}

/// The data of a `stop` event: the run ended or paused.
public struct Stop: Sendable, Hashable {
  /// The kind of end.
  public var reason: StopReason
  /// What exactly, mostly one of ``StopDetail``; `nil` where nothing more is known.
  public var detail: String?
  /// The run's answer, where it has one.
  public var answer: String?
  /// The observations that the answer rests on, by their ids; may be empty.
  public var evidenceRefs: [String]
  /// Whether the run may not go on in this log.
  public var isFinal: Bool
  /// What the run used; imports have none.
  public var totals: Totals?
  /// The format of the state that the digest speaks of.
  public var stateFormat: Int?
  /// The digest of the state before this event.
  public var stateDigest: String?

  /// Final unless said otherwise.
  public init(
    reason: StopReason, detail: String? = nil, answer: String? = nil, evidenceRefs: [String] = [],
    isFinal: Bool = true, totals: Totals? = nil, stateFormat: Int? = nil,
    stateDigest: String? = nil
  ) {
    self.reason = reason
    self.detail = detail
    self.answer = answer
    self.evidenceRefs = evidenceRefs
    self.isFinal = isFinal
    self.totals = totals
    self.stateFormat = stateFormat
    self.stateDigest = stateDigest
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    reason = try reader.enumeration("reason", StopReason.self, "a stop reason")
    detail = try reader.optionalString("detail")
    answer = object["answer"]?.isNull == false ? try reader.text("answer") : nil
    evidenceRefs = try reader.strings("evidenceRefs")
    isFinal = try reader.optionalBool("final") ?? true
    if let object = try reader.optionalObject("totals") {
      totals = try Totals(decoding: object)
    } else {
      totals = nil
    }
    stateFormat = try reader.optionalInt("stateFormat")
    stateDigest = try reader.optionalString("stateDigest")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("reason", .string(reason.rawValue)), ("detail", detail.map(JSONValue.string)),
      ("answer", answer.map(JSONValue.string)),
      ("evidenceRefs", evidenceRefs.isEmpty ? JSONValue?.none : JSONValue(evidenceRefs)),
      ("final", .bool(isFinal)), ("totals", totals.map { .object($0.encoded) }),
      ("stateFormat", stateFormat.map { JSONValue($0) }),
      ("stateDigest", stateDigest.map(JSONValue.string)),
    ])
  }
}

extension Stop: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("reason!", .words(StopReason.names), "Why."),
      DataKey("detail", .string, "Its cause."),
      DataKey("answer", .text, "The run's answer."),
      DataKey("evidenceRefs", .list(.string), "What the answer rests on."),
      DataKey("final", .boolean, "Whether the run may not go on in this log."),
      DataKey("totals", .totals, "What the run used."),
      DataKey("stateFormat", .integer, "The format of the state that the digest speaks of."),
      DataKey("stateDigest", .string, "The digest of the state before this event."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let cause = detail.map { " (\($0))" } ?? ""
    let pause = isFinal ? "" : "; may go on"
    let end = EventLine(
      "stop", reason == .success ? .good : .bad, "\(reason.rawValue)\(cause)\(pause)")
    guard let totals else { return [end] }
    let parts =
      totals.counts + totals.spent + [Figures.duration(microseconds: event.t)]
    return [end, EventLine("used", .faint, "\(parts.joined(separator: ", "))")]
  }
}
