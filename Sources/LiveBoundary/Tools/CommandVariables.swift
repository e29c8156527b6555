import AgentRuntime
import AgentTrace
import Glibc

/// The environment of a command: what the agent file says, and nothing that it does not.
struct CommandVariables {
  private static let defaultPath = "/usr/local/bin:/usr/bin:/bin"

  private(set) var all: [String: String] = [:]

  init(_ environment: CommandEnvironment) {
    self["PATH"] = Self.defaultPath
    inherit("PATH")
    for name in environment.pass { inherit(name) }
    for (name, value) in environment.set { self[name] = value }
    own = Set(environment.set.keys)
  }

  /// Names that the agent file gives a value.
  private var own: Set<String> = []

  subscript(name: String) -> String? {
    get { all[name] }
    set { all[name] = newValue }
  }

  /// Where `PATH` leads to for the program of a name, in order; whether it is there is not looked at.
  func paths(of name: String) -> [String] {
    (self["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
  }

  /// Passes a variable of this process on, unless the agent file gives it a value of its own.
  mutating func inherit(_ name: String) {
    guard !own.contains(name), let value = getenv(name) else { return }
    self[name] = String(cString: value)
  }
}

/// Takes from the edges of a text that was cut what may be a part of a secret: whoever withholds secrets knows them whole
/// only. What is withheld whole, the run's redactor does, which can put it back.
struct CutEdges {
  /// Where a text was cut.
  struct Ends: OptionSet {
    let rawValue: Int
    static let start = Ends(rawValue: 1)
    static let end = Ends(rawValue: 2)
  }

  /// Shorter values are no secrets, and stand everywhere by chance; so do shorter parts of words.
  private static let shortest = 8
  /// Of the word at an edge no more is taken away: no token that is of use in part is longer.
  private static let wordLimit = 1_024
  /// Lines of so many characters of base64 are those of a key (RFC 7468 has 64).
  private static let keyLineBytes = 40

  private let values: [[UInt8]]

  /// - Parameter environment: the values of what it passes on by name may be secrets of any form.
  init(_ environment: CommandEnvironment) {
    values = environment.pass.compactMap { name in
      guard let value = getenv(name) else { return nil }
      let bytes = Array(String(cString: value).utf8)
      return bytes.count >= Self.shortest ? bytes : nil
    }.sorted { $0.count > $1.count }
  }

  /// `: …` with the end of standard error, or nothing where that is empty.
  func quote(_ errors: Tail) -> String {
    let text = trimmed(errors.text, errors.isCut ? .start : [])
    return text.isEmpty ? "" : ": \(text)"
  }

  /// A result of which perhaps only the beginning is there.
  func trimmed(_ result: ToolResult) -> ToolResult {
    guard case .ok(.cut(let bytes, let head)) = result else { return result }
    return .ok(data: .cut(bytes: bytes, head: trimmed(head, .end)))
  }

  /// The same of a value, and of what stands in an object.
  func trimmed(_ value: JSONValue) -> JSONValue {
    switch value {
    case .cut(let bytes, let head): .cut(bytes: bytes, head: trimmed(head, .end))
    case .object(let object): .object(object.mapValues(trimmed))
    default: value
    }
  }

  func trimmed(_ text: String, _ ends: Ends) -> String {
    guard !ends.isEmpty else { return text }
    let mark = text.hasPrefix("…") ? "…" : ""
    var bytes = Array(text.utf8)[mark.utf8.count...]
    if ends.contains(.start) {
      for value in values {
        let count = (4..<value.count).reversed().first { bytes.starts(with: value.suffix($0)) }
        bytes = bytes.dropFirst(count ?? 0)
      }
      let word = bytes.prefix(Self.wordLimit).prefix(while: Self.isOfToken).count
      if word >= Self.shortest { bytes = bytes.dropFirst(word) }
      bytes = Self.withoutKeyLines(bytes)
    }
    if ends.contains(.end) {
      for value in values {
        let count = (4..<value.count).reversed().first {
          bytes.suffix($0).elementsEqual(value.prefix($0))
        }
        bytes = bytes.dropLast(count ?? 0)
      }
      let word = bytes.suffix(Self.wordLimit).reversed().prefix(while: Self.isOfToken).count
      if word >= Self.shortest { bytes = bytes.dropLast(word) }
    }
    return mark + String(decoding: bytes, as: UTF8.self)
  }

  /// What tokens are made of.
  private static func isOfToken(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "+/=_-.~%:".utf8.contains(byte)
  }

  /// Without the lines that a key goes on in whose beginning was cut off.
  private static func withoutKeyLines(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = text
    while rest.first == UInt8(ascii: "\n") || rest.first == UInt8(ascii: "\r") {
      let line = rest.drop { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
      let count = line.prefix(while: isOfToken).count
      let end = line.dropFirst(count).first
      guard count >= keyLineBytes,
        end == nil || end == UInt8(ascii: "\n") || end == UInt8(ascii: "\r")
      else { break }
      rest = line.dropFirst(count)
    }
    return rest
  }
}
