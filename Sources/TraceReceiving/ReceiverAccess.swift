import AgentTrace

/// Who may send to a receiver.
public struct ReceiverAccess: Sendable {
  private let token: [UInt8]?

  /// - Parameter token: what has to be shown; `nil` where everybody on this machine may send.
  public init(token: String?) { self.token = token.map { Array($0.utf8) } }

  /// Whether a request may be taken, by its headers.
  ///
  /// With a token: as `Authorization: Bearer`, as the second half of `Authorization: Basic` (Langfuse's secret key), or as
  /// `x-api-key` (LangSmith's). Without one the request has to name this machine by its address or as `localhost`:
  /// pages in a browser can reach it under names of their own.
  public func allows(_ header: (String) -> String?) -> Bool {
    guard let token else { return header("host").map(Self.isAddress) ?? true }
    let shown = [header("x-api-key"), Self.credential(header("authorization") ?? "")]
    return shown.contains { $0.map { Self.isSame(Array($0.utf8), token) } ?? false }
  }

  private static func credential(_ header: String) -> String? {
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    switch parts[0].lowercased() {
    case "bearer": return String(parts[1])
    case "basic":
      guard let bytes = Base64.decode(String(parts[1])),
        let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
      else { return nil }
      return String(decoding: bytes[(colon + 1)...], as: UTF8.self)
    default: return nil
    }
  }

  /// Compares in a time that says nothing about where two texts differ.
  private static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    var difference: UInt8 = 0
    for (a, b) in zip(Digest(of: left).bytes, Digest(of: right).bytes) { difference |= a ^ b }
    return difference == 0
  }

  private static func isAddress(_ host: String) -> Bool {
    if host.hasPrefix("[") { return true }
    let name = host.prefix { $0 != ":" }
    return name.lowercased() == "localhost"
      || name.split(separator: ".", omittingEmptySubsequences: false).count == 4
        && name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
  }
}
