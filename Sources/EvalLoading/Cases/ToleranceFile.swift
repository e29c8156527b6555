import TraceJudging
import TraceMatching

/// The keys by which a case says which changes to its run it lets pass on purpose.
enum ToleranceFile {
  private struct Draft: Sendable {
    var kinds: [RunMutation.Kind] = []
    var tool: Glob?
    var why = ""
  }

  static let shape = Shape<Draft>.record(
    Draft(),
    [
      Field(
        "change", .oneOrMore(of: .word), \.kinds, required: true, "The kinds of change."),
      Field("tool", .glob, \.tool, "Only changes to calls of these tools."),
      Field("why", .name, \.why, required: true, "Why they may pass."),
    ]
  ).map { draft, _ in ToleratedChange(kinds: draft.kinds, tool: draft.tool, why: draft.why) }
}
