public import TraceMatching

/// Changes to its run that a case lets pass on purpose.
public struct ToleratedChange: Sendable, Hashable {
  /// The kinds of change; never empty in one that was read from a file.
  public var kinds: [RunMutation.Kind]
  /// Only changes to calls of these tools; `nil` for any change of the kinds.
  public var tool: Glob?
  /// Why they may pass.
  public var why: String

  /// Without a tool, any change of these kinds.
  public init(kinds: [RunMutation.Kind], tool: Glob? = nil, why: String) {
    self.kinds = kinds
    self.tool = tool
    self.why = why
  }

  /// Whether it speaks of a change. Where a change is to several tools, it has to speak of them all.
  public func covers(_ mutation: RunMutation) -> Bool {
    guard kinds.contains(mutation.kind) else { return false }
    guard let tool else { return true }
    return !mutation.tools.isEmpty && mutation.tools.allSatisfy { tool.matches($0) }
  }
}
