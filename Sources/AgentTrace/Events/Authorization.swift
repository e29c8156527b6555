/// What an authorizer said of a call: part of the verdict whose rule asks it.
public struct Authorization: Sendable, Hashable {
  /// The authorizer's name in the policy.
  public var authorizer: String
  /// SHA-256 of what it was asked, in canonical form.
  public var requestDigest: String
  /// What its answer comes to: where it gave none, `deny`.
  public var status: VerdictStatus
  /// Why, in its words; `nil` where it gives no reason.
  public var reason: String?
  /// What it answered, as it came; `nil` where it gave no answer.
  public var answer: JSONValue?
  /// Why there is no answer, or none that says anything; `nil` where there is one.
  public var error: String?
  /// From asking to its answer.
  public var elapsedMicroseconds: Int

  /// The wire form is `{"authorizer","requestDigest","status","reason","answer","error","elapsedMicroseconds"}`.
  public init(
    authorizer: String, requestDigest: String, status: VerdictStatus, reason: String? = nil,
    answer: JSONValue? = nil, error: String? = nil, elapsedMicroseconds: Int = 0
  ) {
    self.authorizer = authorizer
    self.requestDigest = requestDigest
    self.status = status
    self.reason = reason
    self.answer = answer
    self.error = error
    self.elapsedMicroseconds = elapsedMicroseconds
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object, path: "authorization")
    authorizer = try reader.string("authorizer")
    requestDigest = try reader.string("requestDigest")
    status = try reader.enumeration(
      "status", VerdictStatus.self, "allow, deny or approval_required")
    reason = try reader.optionalString("reason")
    answer = object["answer"]
    error = try reader.optionalString("error")
    elapsedMicroseconds = try reader.optionalInt("elapsedMicroseconds") ?? 0
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("authorizer", .string(authorizer)), ("requestDigest", .string(requestDigest)),
      ("status", .string(status.rawValue)), ("reason", reason.map(JSONValue.string)),
      ("answer", answer), ("error", error.map(JSONValue.string)),
      ("elapsedMicroseconds", JSONValue(elapsedMicroseconds)),
    ])
  }
}

extension DataShape {
  /// An authorizer's word.
  package static let authorization = DataShape.object(
    "What an authorizer said.",
    [
      DataKey("authorizer!", .string, "Its name in the policy."),
      DataKey("requestDigest!", .string, "SHA-256 of what it was asked, in canonical form."),
      DataKey(
        "status!", .words(VerdictStatus.allCases.map(\.rawValue)), "What its answer comes to."),
      DataKey("reason", .string, "Why, in its words."),
      DataKey("answer", .any, "What it answered."),
      DataKey("error", .string, "Why there is no answer, or none that says anything."),
      DataKey("elapsedMicroseconds!", .integer, "From asking to its answer."),
    ])
}
