/// Where a URL leads to: enough to tell hosts apart, and nothing is fetched.
public struct HTTPAddress: Sendable, Hashable {
  /// `http` or `https`.
  public var scheme: String
  /// In lower case; an IPv6 address without its brackets.
  public var host: String
  /// 80 or 443 where the URL names none.
  public var port: Int
  /// From the first slash on, with the query; `/` where the URL ends before it.
  public var target: String

  /// `nil` unless the text is an absolute URL of HTTP without user information, white space, backslashes or
  /// control characters, which parsers read in different ways.
  public init?(_ url: String) {
    guard !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "\\") }),
      let colon = url.utf8.firstIndex(of: UInt8(ascii: ":"))
    else { return nil }
    scheme = url[..<colon].lowercased()
    guard scheme == "http" || scheme == "https" else { return nil }
    let rest = url[colon...].dropFirst()
    guard rest.utf8.starts(with: "//".utf8) else { return nil }
    let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
    let path = rest.dropFirst(2)[authority.endIndex...]
    guard !authority.utf8.contains(UInt8(ascii: "@")) else { return nil }
    var name = authority
    port = scheme == "https" ? 443 : 80
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      name = authority[authority.index(after: authority.startIndex)..<end]
      let behind = authority[end...].dropFirst()
      guard behind.isEmpty || behind.hasPrefix(":") else { return nil }
      if behind.count > 1 {
        guard let number = Self.port(behind.dropFirst()) else { return nil }
        port = number
      }
    } else if let colon = authority.firstIndex(of: ":") {
      name = authority[..<colon]
      let digits = authority[colon...].dropFirst()
      if !digits.isEmpty {
        guard let number = Self.port(digits) else { return nil }
        port = number
      }
    }
    guard !name.isEmpty else { return nil }
    host = name.lowercased()
    let fragment = path.prefix { $0 != "#" }
    target = fragment.hasPrefix("/") ? String(fragment) : "/" + fragment
  }

  private static func port(_ digits: Substring) -> Int? {
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return UInt16(digits).map(Int.init)
  }
}

extension HTTPAddress {
  /// The URL that a `Location` names in a reply from here (RFC 3986, section 5.2).
  ///
  /// - Parameter origin: scheme and authority of this address, as they are to be said.
  func url(of location: String, origin: String) -> String {
    // A URL within a query is no scheme.
    let name = location.prefix { !"/?#".contains($0) }
    if name.contains(":") { return location }
    if location.hasPrefix("//") { return "\(scheme):\(location)" }
    if location.hasPrefix("/") { return origin + location }
    let path = target.prefix { $0 != "?" }
    if location.isEmpty || location.hasPrefix("#") { return origin + target }
    if location.hasPrefix("?") { return origin + path + location }
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
    return origin + folder + location
  }

  /// A segment of a path as the text that it stands for; what is no escape stays as it is.
  static func unescaped(_ segment: String) -> String {
    var (plain, rest): ([UInt8], ArraySlice<UInt8>) = ([], Array(segment.utf8)[...])
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      guard byte == UInt8(ascii: "%"), digits.utf8.count == 2,
        digits.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
        let value = UInt8(digits, radix: 16)
      else {
        plain.append(byte)
        continue
      }
      plain.append(value)
      rest = rest.dropFirst(2)
    }
    return String(decoding: plain, as: UTF8.self)
  }
}
