public import AgentRuntime
import AgentTrace

extension CallerMatcher {
  /// Whether a request is one of those that are meant.
  public func matches(_ request: ObservedRequest) -> Bool {
    switch way {
    case .model(let name): return request.model?.hasSameUTF8(as: name) ?? false
    case .tool(let name):
      return request.tools.contains { $0["name"]?.stringValue?.hasSameUTF8(as: name) ?? false }
    case .text(let text):
      let first = request.messages.first { $0["role"] != "system" }
      let told = request.messages.filter { $0["role"] == "system" } + (first.map { [$0] } ?? [])
      return told.flatMap { $0["content"]?.arrayValue ?? [] }.contains {
        $0["text"]?.stringValue?.contains(text) ?? false
      }
    }
  }
}

/// Names of those who speak, which depend on what they ask alone and not on who comes first.
struct CallerNames: Sendable {
  var given: [CallerName] = []
  private var used: [String: Int] = [:]

  init(_ given: [CallerName] = []) { self.given = given }

  /// The name of a conversation that begins with a request: of those with the same instructions, tools and first
  /// message the second is called `…-2`.
  mutating func name(of request: ObservedRequest) -> String {
    if let name = givenName(of: request) { return name }
    let first = request.messages.first { $0["role"] != "system" }
    let name = "\(Self.kind(of: request))-\(Digest(of: first?["content"] ?? .null).hex.prefix(4))"
    used[name, default: 0] += 1
    let count = used[name] ?? 1
    return count == 1 ? name : "\(name)-\(count)"
  }

  /// The name of whoever takes a conversation over.
  func successor(in request: ObservedRequest) -> String {
    givenName(of: request) ?? Self.kind(of: request)
  }

  func givenName(of request: ObservedRequest) -> String? {
    given.first { $0.matcher.matches(request) }?.name
  }

  /// By its instructions and the names of its tools.
  private static func kind(of request: ObservedRequest) -> String {
    let instructions = request.messages.filter { $0["role"] == "system" }
    let tools = request.tools.map { $0["name"] ?? .null }
    return "agent-" + Digest(of: .array([.array(instructions), .array(tools)])).hex.prefix(4)
  }
}

extension ObservedRequest {
  /// Whether the model may choose what to call, and whether to: a single tool that it has to call is the form of
  /// its answer.
  var hasChoiceOfTools: Bool { !tools.isEmpty && !(tools.count == 1 && hasToCall) }

  private var hasToCall: Bool {
    if parameters["toolConfig"]?["functionCallingConfig"]?["mode"] == "ANY" { return true }
    let choice = parameters["tool_choice"]
    if choice == "required" { return true }
    // Of Converse.
    if choice?["any"] != nil || choice?["tool"]?.objectValue != nil { return true }
    guard let type = choice?["type"]?.stringValue else { return false }
    return ["any", "custom", "function", "tool"].contains(type)
  }
}
