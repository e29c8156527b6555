/// A path into a JSON value (RFC 6901).
public struct JSONPointer: Hashable, Sendable {
  /// The unescaped parts, outermost first.
  public var tokens: [String]

  /// A pointer from its unescaped parts.
  public init(tokens: [String] = []) { self.tokens = tokens }

  /// Reads `/a/b~1c/0` (or the empty text, the whole value); `nil` where it does not begin with `/`
  /// or holds a `~` that is neither `~0` nor `~1`.
  public init?(_ text: String) {
    guard !text.isEmpty else {
      tokens = []
      return
    }
    guard text.utf8.first == UInt8(ascii: "/") else { return nil }
    tokens = []
    for part in text.utf8.dropFirst().split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    {
      var token: [UInt8] = []
      var iterator = part.makeIterator()
      while let byte = iterator.next() {
        guard byte == UInt8(ascii: "~") else {
          token.append(byte)
          continue
        }
        switch iterator.next() {
        case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
        case UInt8(ascii: "1"): token.append(UInt8(ascii: "/"))
        default: return nil
        }
      }
      tokens.append(String(decoding: token, as: UTF8.self))
    }
  }

  /// The pointer one step deeper.
  public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }
}

extension JSONPointer: CustomStringConvertible {
  /// The escaped form, `""` for the whole value.
  public var description: String {
    var text = ""
    for token in tokens {
      text += "/"
      guard token.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") })
      else {
        text += token
        continue
      }
      for scalar in token.unicodeScalars {
        switch scalar {
        case "~": text += "~0"
        case "/": text += "~1"
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
    return text
  }
}

extension JSONValue {
  /// The value that a pointer leads to; `nil` where there is none. An index is decimal digits
  /// without a leading zero.
  public subscript(pointer: JSONPointer) -> JSONValue? {
    var value = self
    for token in pointer.tokens {
      switch value {
      case .object(let object):
        guard let next = object[token] else { return nil }
        value = next
      case .array(let elements):
        guard let index = Int(token), String(index) == token, elements.indices.contains(index)
        else { return nil }
        value = elements[index]
      default: return nil
      }
    }
    return value
  }
}
