/// What a model is called for.
public enum ModelPurpose: String, Sendable, Hashable, CaseIterable {
  /// For the agent's next decision.
  case decide
  /// For a shorter form of what a prompt has no room for.
  case summarize
  /// In the place of a person.
  case human
  /// For the judge's word on an expectation.
  case judge
}

/// The data of a `model_result` event: one try of one call to a model.
public struct ModelResult: Sendable, Hashable {
  /// A ``ModelPurpose``, or a word that this version does not know.
  public var purpose: String
  /// From 1.
  public var attempt: Int
  /// SHA-256 of the canonical request.
  public var requestDigest: String?
  /// The reply as it was received.
  public var reply: JSONValue?
  /// Why there is none.
  public var error: String?
  /// As the provider counted them; `nil` when unknown.
  public var inputTokens: Int?
  /// As the provider counted them; `nil` when unknown.
  public var outputTokens: Int?
  /// In the currency of the model's prices; `nil` when unknown.
  public var cost: Double?
  /// The model's name; `nil` where it was not recorded.
  public var model: String?
  /// Why the reply ended, in the provider's own word; `nil` where it gave none.
  public var finishReason: String?
  /// From the request to the reply or the error; `nil` where it was not recorded.
  public var elapsedMicroseconds: Int?
  /// Of a summary, the id of the last observation that it tells of.
  public var through: String?

  /// Nothing is checked: either a reply or an error should be given.
  public init(
    purpose: String = "decide", attempt: Int = 1, requestDigest: String? = nil,
    reply: JSONValue? = nil, error: String? = nil, inputTokens: Int? = nil,
    outputTokens: Int? = nil, cost: Double? = nil, model: String? = nil,
    finishReason: String? = nil, elapsedMicroseconds: Int? = nil
  ) {
    self.purpose = purpose
    self.attempt = attempt
    self.requestDigest = requestDigest
    self.reply = reply
    self.error = error
    self.inputTokens = inputTokens
    self.outputTokens = outputTokens
    self.cost = cost
    self.model = model
    self.finishReason = finishReason
    self.elapsedMicroseconds = elapsedMicroseconds
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    purpose = try reader.string("purpose")
    attempt = try reader.int("attempt")
    requestDigest = try reader.optionalString("requestDigest")
    reply = object["reply"]
    error = object["error"] == nil ? nil : try reader.text("error")
    let usage = PayloadReader(try reader.optionalObject("usage") ?? [:], path: "usage")
    inputTokens = try usage.optionalInt("inputTokens")
    outputTokens = try usage.optionalInt("outputTokens")
    cost = try reader.optionalDouble("cost")
    model = try reader.optionalString("model")
    finishReason = try reader.optionalString("finishReason")
    elapsedMicroseconds = try reader.optionalInt("elapsedMicroseconds")
    through = try reader.optionalString("through")
  }

  /// The wire form.
  public var encoded: JSONObject {
    let usage = JSONObject(present: [
      ("inputTokens", inputTokens.map { JSONValue($0) }),
      ("outputTokens", outputTokens.map { JSONValue($0) }),
    ])
    return JSONObject(present: [
      ("purpose", .string(purpose)), ("attempt", JSONValue(attempt)),
      ("requestDigest", requestDigest.map(JSONValue.string)), ("reply", reply),
      ("error", error.map(JSONValue.string)), ("usage", usage.isEmpty ? nil : .object(usage)),
      ("cost", cost.map { JSONValue($0) }), ("model", model.map(JSONValue.string)),
      ("finishReason", finishReason.map(JSONValue.string)),
      ("elapsedMicroseconds", elapsedMicroseconds.map { JSONValue($0) }),
      ("through", through.map(JSONValue.string)),
    ])
  }
}
