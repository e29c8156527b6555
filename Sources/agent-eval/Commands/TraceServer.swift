import Glibc
import LiveBoundary

/// Why something was not handed on.
struct HandingFault: Error, CustomStringConvertible {
  var description: String
}

/// A server that takes traces in OTLP.
struct TraceServer: Sendable {
  let url: String
  private let headers: [HTTPHeader]

  /// - Parameter url: with `/v1/traces`, or what that stands behind.
  init(_ url: String) {
    let base = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.url = base.hasSuffix("/v1/traces") ? base : base + "/v1/traces"
    headers =
      [HTTPHeader("content-type", "application/x-protobuf")]
      + Self.headers(getenv("OTEL_EXPORTER_OTLP_HEADERS").map { String(cString: $0) } ?? "")
  }

  /// Posts a request; what OTLP says may be tried again is, until there is no time left.
  ///
  /// - Throws: ``HandingFault`` where it was not taken; at once where the task is cancelled.
  func post(
    _ body: [UInt8], until end: ContinuousClock.Instant, tries: Int
  ) async throws(HandingFault) {
    #if Live
      for attempt in 1...max(1, tries) {
        let rest = (end - ContinuousClock.now) / .seconds(1)
        let call = HTTPCall(
          url: url, headers: headers, body: body,
          timeouts: HTTPTimeouts(connect: min(2, rest), firstByte: rest, idle: rest, total: rest))
        let head: HTTPHead
        do {
          head = try await HTTPConnector.shared.perform(call) { head, _ in head }
        } catch {
          throw HandingFault(description: "\(error)")
        }
        if (200..<300).contains(head.status) { return }
        let wait = min(max(head.headers["retry-after"].flatMap { Double($0) } ?? 0.5, 0), 5)
        guard [429, 502, 503, 504].contains(head.status), attempt < tries,
          .now + .seconds(wait) < end
        else { throw HandingFault(description: "it answered with \(head.status)") }
        try? await Task.sleep(for: .seconds(wait))
      }
    #else
      throw HandingFault(description: "this build has no HTTP stack")
    #endif
  }

  /// `key1=value1,key2=value2`, values with the escapes of URLs
  /// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
  private static func headers(_ text: String) -> [HTTPHeader] {
    text.split(separator: ",").compactMap { pair in
      guard let equal = pair.firstIndex(of: "=") else { return nil }
      let name = pair[..<equal].filter { $0 != " " }
      let value = pair[pair.index(after: equal)...].drop { $0 == " " }
      return name.isEmpty ? nil : HTTPHeader(String(name), unescaped(String(value)))
    }
  }

  private static func unescaped(_ text: String) -> String {
    var (plain, rest): ([UInt8], ArraySlice<UInt8>) = ([], Array(text.utf8)[...])
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
        plain.append(value)
        rest = rest.dropFirst(2)
      } else {
        plain.append(byte)
      }
    }
    return String(decoding: plain, as: UTF8.self)
  }
}
