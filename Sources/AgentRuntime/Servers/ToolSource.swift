public import AgentTrace

/// Something outside that has tools of its own and says which: a server, for example.
public protocol ToolSource: Sendable {
  /// What it offers now. A failure is a value.
  func list() async -> ToolOffer
  /// What it offers now, where that may have changed since it was asked last; `nil` where it has not.
  /// Asked before each context packet and before each call.
  func news() async -> ToolOffer?
  /// The result of one call. A failure is a value.
  ///
  /// - Parameters:
  ///   - request: the call, with an input that is valid by the tool's schema.
  ///   - name: what the source calls the tool.
  func run(_ request: ToolRequest, as name: String) async -> ToolAnswer
  /// The run has ended or paused: whatever was started is ended. It may be asked again, for another run.
  func close() async
}

extension ToolSource {
  /// A list that never changes.
  public func news() async -> ToolOffer? { nil }

  /// Nothing was started.
  public func close() async {}
}

/// What a source says of its tools.
public struct ToolOffer: Sendable, Hashable {
  /// Its tools, in its own order.
  public var tools: [OfferedTool]
  /// Who answered; see `ToolsListed.server`.
  public var server: JSONObject
  /// Why there is no list, in words; `nil` where there is one.
  public var error: String?

  /// A list.
  public init(tools: [OfferedTool], server: JSONObject = [:]) {
    self.tools = tools
    self.server = server
  }

  /// No list, and why.
  public init(error: String) {
    tools = []
    server = [:]
    self.error = error
  }
}

/// A source is asked what it offers.
public struct ToolListRequest: Sendable, Hashable {
  /// When it is asked.
  public enum Timing: Sendable, Hashable {
    /// The run starts, or goes on after it stood still: there must be an answer.
    case session
    /// Before the packet of a try, from 1: there is an answer where the list may have changed.
    case packet(tryNumber: Int)
  }

  /// The name of the source.
  public var source: String
  /// The step that the run is in or about to begin; 0 before the first.
  public var step: Int
  /// When it is asked.
  public var timing: Timing

  /// Steps count from 1; 0 is before the first.
  public init(source: String, step: Int, timing: Timing) {
    self.source = source
    self.step = step
    self.timing = timing
  }
}
