/// The run that a call of a tool is that is an agent: what its `tool_started` says of it.
///
/// Its log lies beside that of the run that started it, as `runId.jsonl.gz`.
public struct ChildStart: Sendable, Hashable {
  /// The child's identifier; it follows from the parent's, the call and the attempt.
  public var runId: String
  /// What the child may use at most of what is left to its parent.
  public var limits: Limits

  /// The wire form is `{"runId","limits"}`.
  public init(runId: String, limits: Limits) {
    self.runId = runId
    self.limits = limits
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object, path: "child")
    runId = try reader.string("runId")
    limits = try Limits(decoding: try reader.optionalObject("limits") ?? [:])
  }

  /// The wire form.
  public var encoded: JSONObject {
    ["runId": .string(runId), "limits": .object(limits.encoded)]
  }

  /// The identifier of the run that an attempt of a call is: a UUIDv8 (RFC 9562 §5.8) of SHA-256 over the
  /// parent's identifier, the call's and the attempt. Whoever goes on with the parent finds the same.
  public static func runId(ofCall callId: String, attempt: Int, in parent: String) -> String {
    let name: JSONValue = [.string(parent), .string(callId), JSONValue(attempt)]
    var digits = Array(Digest(of: name).hex.utf8.prefix(32))
    digits[12] = UInt8(ascii: "8")
    // The variant's two bits are 10: 8, 9, a or b.
    digits[16] = Array("89ab".utf8)[Int(digits[16]) % 4]
    var text: [UInt8] = []
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append(UInt8(ascii: "-")) }
      text.append(digit)
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// How a child's run ended: what the `tool_result` of its call says of it.
public struct ChildEnd: Sendable, Hashable {
  /// See ``ChildStart/runId``.
  public var runId: String
  /// Why it stopped.
  public var reason: StopReason
  /// What exactly; `nil` where its log does not say.
  public var detail: String?
  /// What it used, with whatever its own children used.
  public var totals: Totals
  /// The digest of the last seal of its log.
  public var sealDigest: String
  /// Whether nobody knows of one of its calls, or of its own children's, whether it did its work, however the run ended.
  public var isEffectUnknown = false

  /// The wire form is `{"runId","stop":{"reason","detail"},"totals","sealDigest"}`, and `"effect":"unknown"` where an
  /// effect is.
  public init(
    runId: String, reason: StopReason, detail: String?, totals: Totals, sealDigest: String
  ) {
    self.runId = runId
    self.reason = reason
    self.detail = detail
    self.totals = totals
    self.sealDigest = sealDigest
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object, path: "child")
    runId = try reader.string("runId")
    let stop = PayloadReader(try reader.optionalObject("stop") ?? [:], path: "child.stop")
    reason = try stop.enumeration("reason", StopReason.self, "a stop reason")
    detail = try stop.optionalString("detail")
    totals = try Totals(decoding: try reader.optionalObject("totals") ?? [:])
    sealDigest = try reader.string("sealDigest")
    isEffectUnknown = object["effect"] == "unknown"
  }

  /// The wire form.
  public var encoded: JSONObject {
    let stop = JSONObject(present: [
      ("reason", .string(reason.rawValue)), ("detail", detail.map(JSONValue.string)),
    ])
    var object: JSONObject = [
      "runId": .string(runId), "stop": .object(stop), "totals": .object(totals.encoded),
      "sealDigest": .string(sealDigest),
    ]
    if isEffectUnknown { object["effect"] = "unknown" }
    return object
  }
}
