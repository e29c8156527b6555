import AgentTrace
import TraceImporting

/// What a request is answered with.
public struct ReceivedAnswer: Sendable, Hashable {
  /// The status of HTTP.
  public var status: Int
  /// Headers beside the length of the body.
  public var headers: [(name: String, value: String)] = []
  /// The body.
  public var body: [UInt8]

  public static func == (left: ReceivedAnswer, right: ReceivedAnswer) -> Bool {
    left.status == right.status && left.body == right.body
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(status)
    hasher.combine(body)
  }

  init(status: Int, type: String, body: [UInt8]) {
    self.status = status
    self.body = body
    headers = [("content-type", type)]
  }

  private static let jsonType = "application/json"
  private static let protobufType = "application/x-protobuf"

  /// Whether a request of this type is answered in protocol buffers; otherwise in JSON.
  private static func isProtobuf(_ contentType: String) -> Bool {
    contentType.contains("protobuf")
  }

  /// That everything was taken, or all but so many spans or records
  /// (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response).
  static func taken(_ route: ReceivedRoute, _ contentType: String, rejected: Int = 0)
    -> ReceivedAnswer
  {
    let words = "\(rejected) without the ids of a trace and a span are part of no run"
    switch route {
    case .traces, .logs, .metrics:
      if isProtobuf(contentType) {
        guard rejected > 0 else { return ReceivedAnswer(status: 200, type: protobufType, body: []) }
        let partial = [0x08] + varint(rejected) + field(2, Array(words.utf8))
        return ReceivedAnswer(status: 200, type: protobufType, body: field(1, partial))
      }
      guard rejected > 0 else {
        return ReceivedAnswer(status: 200, type: jsonType, body: Array("{}".utf8))
      }
      let key = route == .logs ? "rejectedLogRecords" : "rejectedSpans"
      let value: JSONValue = [
        "partialSuccess": [key: .string(String(rejected)), "errorMessage": .string(words)]
      ]
      return ReceivedAnswer(
        status: 200, type: jsonType, body: CanonicalJSON.encode(value, form: .plain))
    case .openAIAgents:
      return ReceivedAnswer(status: 200, type: jsonType, body: Array("{}".utf8))
    case .langSmith:
      return ReceivedAnswer(status: 202, type: jsonType, body: Array("{}".utf8))
    case .langSmithInfo:
      return ReceivedAnswer(
        status: 200, type: jsonType,
        body: CanonicalJSON.encode(ReceivedRoute.aboutLangSmith, form: .plain))
    }
  }

  /// That nothing was taken, as a `google.rpc.Status` in the request's own form.
  ///
  /// - Parameter retrySeconds: when to try again; `nil` for never.
  public static func refused(
    _ status: Int, _ words: String, contentType: String, retrySeconds: Int? = nil
  ) -> ReceivedAnswer {
    var answer =
      isProtobuf(contentType)
      ? ReceivedAnswer(status: status, type: protobufType, body: field(2, Array(words.utf8)))
      : ReceivedAnswer(
        status: status, type: jsonType,
        body: CanonicalJSON.encode(["message": .string(words)], form: .plain))
    if let retrySeconds { answer.headers.append(("retry-after", String(retrySeconds))) }
    return answer
  }

  // MARK: Protocol buffers

  private static func varint(_ value: Int) -> [UInt8] {
    var (rest, bytes): (UInt, [UInt8]) = (UInt(max(0, value)), [])
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(truncatingIfNeeded: rest)]
  }

  private static func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
    [number << 3 | 2] + varint(bytes.count) + bytes
  }
}
