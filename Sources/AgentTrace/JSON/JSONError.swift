/// Why some bytes are not the JSON that was asked for.
public struct JSONError: Error, Hashable, Sendable {
  /// What is wrong; open, so that cases can be added.
  public enum Code: Hashable, Sendable {
    case unexpectedEnd
    case unexpectedByte(UInt8)
    case trailingBytes
    case invalidUTF8
    case invalidEscape
    case loneSurrogate
    case controlCharacter
    case invalidNumber
    case duplicateKey(String)
    case tooDeep(limit: Int)
  }

  /// What is wrong there.
  public var code: Code
  /// Bytes from the start of the text to the fault.
  public var offset: Int

  /// The offset counts bytes from 0.
  public init(code: Code, offset: Int) {
    self.code = code
    self.offset = offset
  }
}

extension JSONError: CustomStringConvertible {
  public var description: String { "\(code.phrase) at byte \(offset)" }
}

extension JSONError.Code {
  /// The fault in words, without its place.
  public var phrase: String {
    switch self {
    case .unexpectedEnd: "the text ends in the middle of a value"
    case .unexpectedByte(let byte):
      (0x21...0x7e).contains(byte)
        ? "unexpected “\(String(decoding: [byte], as: UTF8.self))”"
        : "unexpected byte 0x\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
    case .trailingBytes: "more text behind the end of the value"
    case .invalidUTF8: "bytes that are not UTF-8"
    case .invalidEscape: "a backslash escape that JSON does not know"
    case .loneSurrogate: "half of a surrogate pair"
    case .controlCharacter: "a control character that is not escaped"
    case .invalidNumber: "a number that JSON does not allow"
    case .duplicateKey(let key): "the key “\(key.prefix(utf8Bytes: 80))” stands twice"
    case .tooDeep(let limit): "nesting deeper than \(limit)"
    }
  }
}
