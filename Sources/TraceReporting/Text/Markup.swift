/// Text in markup: HTML and XML.
enum Markup {
  /// The text with the characters that mean something to a markup language as references.
  ///
  /// - Parameter quotes: Which quotes a value stands in; the others are left as they are.
  static func escape(_ text: String, quotes: Set<Unicode.Scalar> = ["\"", "'"]) -> String {
    var escaped = ""
    escaped.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"" where quotes.contains(scalar): escaped += "&quot;"
      case "'" where quotes.contains(scalar): escaped += "&#39;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// A path, or the name of one file, as a URI reference (RFC 3986): each byte that is no unreserved one as `%XX`.
  static func uri(_ path: String, keepsSlashes: Bool = true) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in path.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e: bytes.append(byte)
      case UInt8(ascii: "/") where keepsSlashes: bytes.append(byte)
      default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
