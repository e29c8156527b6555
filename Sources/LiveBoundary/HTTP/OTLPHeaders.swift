/// The headers that exporters of OpenTelemetry send along, and that mostly are keys: `key1=value1,key2=value2`, values with
/// the escapes of URLs (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
public enum OTLPHeaders {
  /// Variables that hold headers: of all exporters, and of one each.
  static let variables = [
    "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
  ]

  /// What this process is to send along with traces.
  public static var inEnvironment: [(name: String, value: String)] {
    ProcessVariables[variables[1]].map(headers) ?? ProcessVariables[variables[0]].map(headers)
      ?? []
  }

  /// The headers of a variable's value; what is none is left out.
  static func headers(_ text: String) -> [(name: String, value: String)] {
    text.split(separator: ",").compactMap { pair in
      guard let equal = pair.firstIndex(of: "=") else { return nil }
      let name = trimmed(pair[..<equal])
      guard !name.isEmpty else { return nil }
      return (name, HTTPAddress.unescaped(trimmed(pair[pair.index(after: equal)...])))
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    let isBlank = { (character: Character) in character.isWhitespace }
    let front = text.drop(while: isBlank)
    return String(front.reversed().drop(while: isBlank).reversed())
  }

  /// The values in some variable's value that may be keys, as they are sent and as they stand there.
  static func secrets(in text: String) -> [String] {
    text.split(separator: ",").flatMap { pair -> [String] in
      guard let equal = pair.firstIndex(of: "=") else { return [] }
      let name = trimmed(pair[..<equal]).lowercased()
      // Words that stand in any request.
      guard !["accept", "content-", "user-agent"].contains(where: name.hasPrefix) else { return [] }
      let value = trimmed(pair[pair.index(after: equal)...])
      let plain = HTTPAddress.unescaped(value)
      // The scheme of a credential is none.
      let words = plain.split(separator: " ").map(String.init)
      return Array(Set([value, plain] + words))
    }
  }
}
