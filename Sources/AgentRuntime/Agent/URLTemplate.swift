public import AgentTrace

/// A URL in whose path and query `{key}` stands for a value that is filled in.
///
/// A value is percent-encoded as a whole, so that none adds a segment, a parameter or a fragment; one that
/// would be a segment `.` or `..` is refused, for those are no names but directions (RFC 3986 §5.2.4).
public struct URLTemplate: Sendable, Hashable {
  /// Why a text is no template, or a value cannot be filled in.
  public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
    /// In words.
    public var description: String

    init(_ description: String) { self.description = description }
  }

  private enum Piece: Sendable, Hashable {
    case text([UInt8])
    case key(String)
  }

  /// As it is written.
  public let text: String
  /// `http` or `https`.
  public let scheme: String
  /// In lower case, without brackets.
  public let host: String
  /// The keys that are filled in, each once, in order.
  public let keys: [String]
  /// Scheme, host and port, as they are sent.
  private let origin: String
  private let path: [[Piece]]
  private let query: [Piece]?

  /// Reads a template.
  ///
  /// - Throws: ``Fault`` where it is no URL with a fixed `http` or `https` host, or a place is not closed.
  public init(_ text: String) throws(Fault) {
    self.text = text
    let bytes = Array(text.utf8)
    guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw Fault("a URL holds visible ASCII characters alone; encode others with %")
    }
    guard
      let scheme = ["https", "http"].first(where: {
        bytes.count > $0.utf8.count + 3
          && String(decoding: bytes.prefix($0.utf8.count + 3), as: UTF8.self).lowercased()
            .utf8.elementsEqual("\($0)://".utf8)
      })
    else { throw Fault("a URL begins with https:// or http://") }
    self.scheme = scheme
    let rest = bytes.dropFirst(scheme.utf8.count + 3)
    let end =
      rest.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
      ?? rest.endIndex
    let authority = rest[..<end]
    guard !authority.contains(UInt8(ascii: "{")), !authority.contains(UInt8(ascii: "@")) else {
      throw Fault("the host of a URL is fixed: nothing is filled in before its path, and no user")
    }
    host = try Self.host(of: authority)
    origin = "\(scheme)://" + String(decoding: authority, as: UTF8.self).lowercased()
    guard !rest.contains(UInt8(ascii: "#")) else { throw Fault("a URL that is sent has no “#”") }
    let target = rest[end...]
    let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    path = try target[..<mark].dropFirst().split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
    ).map { segment throws(Fault) in try Self.pieces(of: segment) }
    query = mark == target.endIndex ? nil : try Self.pieces(of: target[(mark + 1)...])
    var keys: [String] = []
    for case .key(let key) in path.joined() + (query ?? []) where !keys.contains(key) {
      keys.append(key)
    }
    self.keys = keys
  }

  private static func host(of authority: ArraySlice<UInt8>) throws(Fault) -> String {
    var name = authority
    if name.first == UInt8(ascii: "[") {
      guard let close = name.firstIndex(of: UInt8(ascii: "]")) else {
        throw Fault("the host of the URL has no end")
      }
      name = name[(name.startIndex + 1)..<close]
    } else if let colon = name.firstIndex(of: UInt8(ascii: ":")) {
      name = name[..<colon]
    }
    guard !name.isEmpty else { throw Fault("the URL names no host") }
    return String(decoding: name, as: UTF8.self).lowercased()
  }

  private static func pieces(of text: ArraySlice<UInt8>) throws(Fault) -> [Piece] {
    var pieces: [Piece] = []
    var plain: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "{"):
        guard let end = rest.firstIndex(of: UInt8(ascii: "}")), end > rest.startIndex else {
          throw Fault("a place {key} of the URL has no key or no end")
        }
        if !plain.isEmpty { pieces.append(.text(plain)) }
        plain = []
        pieces.append(.key(String(decoding: rest[..<end], as: UTF8.self)))
        rest = rest[(end + 1)...]
      case UInt8(ascii: "}"): throw Fault("a “}” of the URL closes nothing")
      default: plain.append(byte)
      }
    }
    if !plain.isEmpty { pieces.append(.text(plain)) }
    return pieces
  }

  // MARK: Filling in

  /// The URL with the values of an input, and further parameters of its query.
  ///
  /// - Throws: ``Fault`` where a value is missing or is neither text, a number nor true or false.
  public func filled(
    from input: JSONValue, adding parameters: [(name: String, value: JSONValue)] = []
  ) throws(Fault) -> String {
    var url = origin
    for segment in path {
      var filled: [UInt8] = []
      var isFixed = true
      for piece in segment {
        switch piece {
        case .text(let text): filled += text
        case .key(let key):
          isFixed = false
          filled += Self.encoded(try Self.text(of: input[key], key))
        }
      }
      if !isFixed, [".", "..", ""].contains(String(decoding: filled, as: UTF8.self)) {
        throw Fault("a part of the URL's path would be empty, “.” or “..”")
      }
      url += "/" + String(decoding: filled, as: UTF8.self)
    }
    var fields: [String] = []
    if let query {
      var filled: [UInt8] = []
      for piece in query {
        switch piece {
        case .text(let text): filled += text
        case .key(let key): filled += Self.encoded(try Self.text(of: input[key], key))
        }
      }
      if !filled.isEmpty { fields.append(String(decoding: filled, as: UTF8.self)) }
    }
    let form = try Self.form(parameters)
    if !form.isEmpty { fields.append(form) }
    if path.isEmpty { url += "/" }
    return fields.isEmpty ? url : "\(url)?\(fields.joined(separator: "&"))"
  }

  /// Parameters as a query or a form has them; a list becomes one for each of its elements, and `null` none.
  ///
  /// - Throws: ``Fault`` where a value is an object, or a list of other than plain values.
  public static func form(
    _ parameters: [(name: String, value: JSONValue)]
  ) throws(Fault) -> String {
    var fields: [String] = []
    for (name, value) in parameters {
      let key = escaped(name)
      for element in value.arrayValue ?? [value] where !element.isNull {
        let text = try text(of: element, name)
        fields.append("\(key)=\(escaped(text))")
      }
    }
    return fields.joined(separator: "&")
  }

  private static func text(of value: JSONValue?, _ key: String) throws(Fault) -> String {
    switch value {
    case .string(let text)?: return text
    case .number(let number)?: return number.token
    case .bool(let flag)?: return flag ? "true" : "false"
    case nil: throw Fault("the input has no “\(key)”, which the URL needs")
    default: throw Fault("“\(key)” is neither text, a number nor true or false")
    }
  }

  /// A text as one segment of a path, or one name or value of a query.
  package static func escaped(_ text: String) -> String {
    String(decoding: encoded(text), as: UTF8.self)
  }

  /// All but the unreserved characters (RFC 3986 §2.3) as `%XX`.
  private static func encoded(_ text: String) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return bytes
  }
}
