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

/// The values of variables that are passed on by name. They may be secrets: where a command prints one,
/// `«NAME»` stands in its place before a result or an error is made.
struct HiddenValues {
  /// Shorter values are no secrets, and stand everywhere by chance.
  private static let shortest = 8

  private let values: [(name: String, bytes: [UInt8])]

  init(_ environment: CommandEnvironment) {
    values = environment.pass.compactMap { name in
      guard let value = getenv(name) else { return nil }
      let bytes = Array(String(cString: value).utf8)
      return bytes.count >= Self.shortest ? (name, bytes) : nil
    }.sorted { $0.bytes.count > $1.bytes.count }
  }

  /// `: …` with the end of standard error, or nothing where that is empty.
  func quote(_ errors: Tail) -> String {
    let text = hide(errors.text, isCut: errors.isCut)
    return text.isEmpty ? "" : ": \(text)"
  }

  func hide(_ result: ToolResult) -> ToolResult {
    guard !values.isEmpty else { return result }
    switch result {
    case .ok(let data): return .ok(data: hide(data))
    case .returned(let data): return .returned(data: hide(data))
    case .error(let reason, let isUnknown):
      return .error(reason: hide(reason), isEffectUnknown: isUnknown)
    case .refused: return result
    }
  }

  func hide(_ value: JSONValue) -> JSONValue {
    guard !values.isEmpty else { return value }
    switch value {
    case .string(let text): return .string(hide(text))
    case .array(let elements): return .array(elements.map(hide))
    case .object(let object):
      var hidden = JSONObject()
      for member in object { hidden[hide(member.key)] = hide(member.value) }
      return .object(hidden)
    case .cut(let bytes, let head): return .cut(bytes: bytes, head: hide(head, isCut: true))
    default: return value
    }
  }

  /// - Parameter isCut: whether the text may begin or end within a value: what could be a part of one
  ///   there goes too.
  func hide(_ text: String, isCut: Bool = false) -> String {
    var bytes = Array(text.utf8)
    for (name, value) in values {
      bytes = bytes.replacing(value, with: Array("«\(name)»".utf8))
      guard isCut else { continue }
      for count in (4..<value.count).reversed() where bytes.count >= count {
        if bytes.suffix(count).elementsEqual(value.prefix(count)) { bytes.removeLast(count) }
        let start = bytes.starts(with: "…".utf8) ? "…".utf8.count : 0
        if bytes.dropFirst(start).starts(with: value.suffix(count)) {
          bytes.removeSubrange(start..<(start + count))
        }
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
