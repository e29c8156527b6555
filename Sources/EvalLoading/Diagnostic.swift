import AgentTrace

/// What is wrong with a file, and where.
///
/// Diagnostics are collected: a reader says all of them at once, sorted by file and line.
public struct Diagnostic: Error, Hashable, Sendable {
  /// How bad it is.
  public enum Severity: String, Sendable, Hashable {
    /// The file cannot be used.
    case error
    /// The file can be used, but probably does not say what its author meant.
    case warning
  }

  /// How bad it is.
  public var severity: Severity
  /// The file, as the caller named it.
  public var path: String
  /// From 1; `nil` where the fault has no place in the file.
  public var line: Int?
  /// From 1, in Unicode scalars.
  public var column: Int?
  /// The way to the value at fault, for example `expected.toolsCalled[0]`; empty for a whole file.
  public var key: String
  /// What is wrong, in words.
  public var message: String
  /// What to do about it, for example `did you mean “toolsCalled”?`.
  public var hint: String?

  /// Control characters are made visible only by ``description``.
  public init(
    _ severity: Severity, path: String, line: Int? = nil, column: Int? = nil, key: String = "",
    message: String, hint: String? = nil
  ) {
    self.severity = severity
    self.path = path
    self.line = line
    self.column = column
    self.key = key
    self.message = message
    self.hint = hint
  }
}

extension Diagnostic: CustomStringConvertible {
  /// One line: `path:line:column: error: key: message; hint`. Control characters are made visible.
  public var description: String {
    var text = path
    if let line { text += ":\(line)" }
    if let column { text += ":\(column)" }
    text += ": \(severity.rawValue): "
    if !key.isEmpty { text += "\(key): " }
    text += message
    if let hint { text += "; \(hint)" }
    return text.visible
  }
}

extension Diagnostic: Comparable {
  /// By file, line and column; errors before warnings at the same place.
  public static func < (left: Diagnostic, right: Diagnostic) -> Bool {
    if !left.path.hasSameUTF8(as: right.path) { return left.path.precedesByUTF8(right.path) }
    let (a, b) = (left.place, right.place)
    if a != b { return a < b }
    return left.text.precedesByUTF8(right.text)
  }

  private var place: (Int, Int) { (line ?? 0, column ?? 0) }
  private var text: String { "\(severity.rawValue) \(key) \(message) \(hint ?? "")" }
}

extension [Diagnostic] {
  /// Whether one of them is an error.
  public var hasErrors: Bool { contains { $0.severity == .error } }
}

extension String {
  /// The text with control characters, and those that turn the direction of text, as `\u001b`.
  var visible: String {
    guard unicodeScalars.contains(where: \.isTreacherous) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if scalar.isTreacherous {
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The text as a message quotes it: its beginning, at most about 80 bytes.
  var quoted: String { "“" + (utf8.count > 80 ? prefix(utf8Bytes: 77) + "…" : self) + "”" }

  /// A path as a message quotes it: its end is what tells files apart. No path that can be opened is longer than
  /// 4,096 bytes.
  var quotedPath: String {
    guard utf8.count > 4096 else { return "“" + self + "”" }
    return "“…" + String(decoding: utf8.suffix(4000), as: UTF8.self) + "”"
  }
}

extension Unicode.Scalar {
  /// A scalar that would move a terminal's cursor, colour its text or turn its direction.
  fileprivate var isTreacherous: Bool {
    switch value {
    case 0..<0x20, 0x7f..<0xa0, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: true
    default: false
    }
  }
}
