extension EventType {
  /// A proxy passed on a request that is no call of a model.
  public static let requestForwarded = EventType(rawValue: "request_forwarded")
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

extension RequestForwarded: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("method!", .text, "For example GET."),
      DataKey("path!", .text, "Behind the base URL of whoever got it, with the query."),
      DataKey("bodyDigest!", .string, "SHA-256 of the request's body."),
      DataKey("status", .integer, "The status of the reply."),
      DataKey("error", .text, "Why none came."),
      DataKey("elapsedMicroseconds", .count, "How long it took."),
      DataKey("wire", .wire, "What went over the wire."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let end = status.map { "\($0)" } ?? error ?? "no reply"
    // What was said in its place is there, though nobody was asked.
    let isRefused = status == nil && wire["status"] != nil
    return [EventLine(isRefused ? "refused" : "passed on", .faint, "\(method) \(path) → \(end)")]
  }
}

extension DataShape {
  /// What a proxy passed on, and what came back.
  package static let wire = DataShape.object(
    "",
    [
      DataKey("upstream!", .string, "Who got the request: openai, anthropic or another name."),
      DataKey("method!", .string, "The request's method."),
      DataKey("path!", .string, "Behind the upstream's base URL, with the query."),
      DataKey("dialect", .string, "How it is written: openai, anthropic or openai-responses."),
      DataKey("stream", .boolean, "Whether the reply was to be streamed."),
      DataKey("model", .string, "The model that the request names."),
      DataKey("parameters", .mapping, "What else the request asks for."),
      DataKey("status", .integer, "The status of the reply."),
      DataKey("headers", .list(.any), "Headers of the reply: name and value."),
      DataKey("body", .any, "The body of the reply."),
      DataKey("pieces", .list(.count), "The bytes of each piece in which the body came."),
      DataKey("ending", .words(["whole", "cut", "dropped"]), "How the reply ended."),
      DataKey("omitted", .string, "Why the reply was not kept."),
    ])
}
