extension EventType {
  /// A model answered, or failed to; one event per try.
  public static let modelResult = EventType(rawValue: "model_result")
}

/// What a model is called for.
public enum ModelPurpose: String, Sendable, Hashable, CaseIterable {
  /// For the agent's next decision.
  case decide
  /// For a shorter form of what a prompt has no room for.
  case summarize
  /// For what it means to do, before it decides.
  case plan
  /// For what it makes of what came of its last decision.
  case reflect
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
  /// Of ``inputTokens``, those read from a cache; `nil` when unknown.
  public var cachedInputTokens: Int?
  /// Of ``inputTokens``, those written to a cache; `nil` when unknown.
  public var cacheWriteTokens: Int?
  /// Of ``outputTokens``, those that the model thought with; `nil` when unknown.
  public var reasoningTokens: Int?
  /// What replied, in the provider's own word, where that is not ``model``.
  public var modelVersion: String?
  /// The provider's id of the request; `nil` where it gave none.
  public var requestId: String?
  /// Of HTTP; `nil` where no reply came that way.
  public var status: Int?
  /// SHA-256 of the body as it was received.
  public var responseDigest: String?
  /// Of an error, whether the model is not asked again whatever tries are left.
  public var isFinal = false
  /// Of an error, how long to wait before the model is asked again.
  public var retryAfterMicroseconds: Int?
  /// Of a call that a proxy passed on, request and reply as they went over the wire; else `nil`.
  public var wire: JSONObject?

  /// Either a reply or an error should be given.
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
    cachedInputTokens = try usage.optionalInt("cachedInputTokens")
    cacheWriteTokens = try usage.optionalInt("cacheWriteTokens")
    reasoningTokens = try usage.optionalInt("reasoningTokens")
    modelVersion = try reader.optionalString("modelVersion")
    requestId = try reader.optionalString("requestId")
    status = try reader.optionalInt("status")
    responseDigest = try reader.optionalString("responseDigest")
    isFinal = try reader.optionalBool("final") ?? false
    retryAfterMicroseconds = try reader.optionalInt("retryAfterMicroseconds")
    wire = try reader.optionalObject("wire")
  }

  /// The wire form.
  public var encoded: JSONObject {
    let usage = JSONObject(present: [
      ("inputTokens", inputTokens.map { JSONValue($0) }),
      ("outputTokens", outputTokens.map { JSONValue($0) }),
      ("cachedInputTokens", cachedInputTokens.map { JSONValue($0) }),
      ("cacheWriteTokens", cacheWriteTokens.map { JSONValue($0) }),
      ("reasoningTokens", reasoningTokens.map { JSONValue($0) }),
    ])
    return JSONObject(present: [
      ("purpose", .string(purpose)), ("attempt", JSONValue(attempt)),
      ("requestDigest", requestDigest.map(JSONValue.string)), ("reply", reply),
      ("error", error.map(JSONValue.string)), ("usage", usage.isEmpty ? nil : .object(usage)),
      ("cost", cost.map { JSONValue($0) }), ("model", model.map(JSONValue.string)),
      ("finishReason", finishReason.map(JSONValue.string)),
      ("elapsedMicroseconds", elapsedMicroseconds.map { JSONValue($0) }),
      ("through", through.map(JSONValue.string)),
      ("modelVersion", modelVersion.map(JSONValue.string)),
      ("requestId", requestId.map(JSONValue.string)), ("status", status.map { JSONValue($0) }),
      ("responseDigest", responseDigest.map(JSONValue.string)),
      ("final", isFinal ? .bool(true) : nil),
      ("retryAfterMicroseconds", retryAfterMicroseconds.map { JSONValue($0) }),
      ("wire", wire.map(JSONValue.object)),
    ])
  }
}

extension ModelResult: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("purpose!", .string, "decide, summarize, plan, reflect, human or judge."),
      DataKey("attempt!", .integer, "Which try, from 1."),
      DataKey(
        "requestDigest", .string,
        "SHA-256 of the whole request: messages, tools and the settings of the model."),
      DataKey("reply", .any, "The reply as it was received."),
      DataKey("error", .text, "Why there is none."),
      DataKey(
        "usage",
        .object([
          DataKey("inputTokens", .count, "Tokens that went in."),
          DataKey("outputTokens", .count, "Tokens that came out."),
          DataKey(
            "cachedInputTokens", .count, "Of those that went in, those read from a cache."),
          DataKey(
            "cacheWriteTokens", .count, "Of those that went in, those written to a cache."),
          DataKey("reasoningTokens", .count, "Of those that came out, what the model thought."),
        ]), "Tokens of this try."
      ),
      DataKey("cost", .number, "Money, in the currency of the model's prices."),
      DataKey("model", .string, "The model that answered."),
      DataKey("finishReason", .string, "Why it ended, in its own word."),
      DataKey("elapsedMicroseconds", .count, "How long it took."),
      DataKey("through", .string, "Of a summary, the last observation that it tells of."),
      DataKey(
        "modelVersion", .string, "What replied, as the provider names it, where that is not model."),
      DataKey("requestId", .string, "The provider's id of the request."),
      DataKey("status", .integer, "The status of HTTP."),
      DataKey("responseDigest", .string, "SHA-256 of the body as it was received."),
      DataKey("final", .boolean, "Of an error: the model is not asked again."),
      DataKey(
        "retryAfterMicroseconds", .count,
        "Of an error: how long until the model is asked again."),
      DataKey("wire", .wire, "Of a call that a proxy passed on, what went over the wire."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let noun: String? =
      switch ModelPurpose(rawValue: purpose) {
      case .summarize?: "summary"
      case .plan?: "plan"
      case .reflect?: "reflection"
      case .decide?, .human?, .judge?, nil: nil
      }
    guard let error else {
      // What else a model replies is told by what it was read as.
      guard let noun else { return [] }
      let text = reply?["text"]?.stringValue ?? ""
      let said =
        noun == "summary"
        ? "\(text.utf8.count) bytes for what came up to \(through ?? "now")"
        : text.isEmpty ? "no words" : text
      return [EventLine(noun, .faint, "\(said)")]
    }
    return [
      EventLine(
        noun ?? "model", .bad, "try \(attempt)\(whatFollows): \(error)", isWhole: true)
    ]
  }

  /// Of a failed try, when the model is asked again, where that is said.
  private var whatFollows: String {
    if isFinal { return ", not asked again" }
    return retryAfterMicroseconds.map {
      ", again after \(Figures.duration(microseconds: $0))"
    } ?? ""
  }
}
