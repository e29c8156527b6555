import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `disclose` of a tool: when the model is told of it.
enum DisclosureFile {
  private struct Draft: Sendable {
    var id = ""
    var isShown = true
    var routes: [Glob]?
    var after: [Glob] = []
    var firstStep: Int?
    var lastStep: Int?
    var attributes: Matcher?
    var condition: Matcher?

    /// Whether it names no condition.
    var isEmpty: Bool {
      routes == nil && after.isEmpty && firstStep == nil && lastStep == nil && attributes == nil
        && condition == nil
    }
  }

  static let rule = Shape<Draft>.record(
    Draft(),
    [
      Field("id", .name, \.id, required: true, "The rule's name, as packets bear it."),
      Field(
        "show", .flag, \.isShown,
        "Whether the tool is shown where the rule holds; true where it is left out."),
    ] + conditions
  ).map(finished)

  /// The conditions alone: when something is said.
  static let moment = Shape<Draft>.record(
    Draft(), conditions, constraints: ["minProperties": 1]
  ).map { draft, reader in
    if draft.isEmpty, !reader.hasErrorHere { reader.report("should not be empty") }
    return finished(draft, reader)
  }

  /// What a condition may look at.
  private static let looked = [
    "step", "route", "actorId", "tenantId", "attributes", "goal", "toolCalls", "denials",
    "succeeded",
  ]

  private static let conditions: [Field<Draft>] = [
    Field("route", .oneOrMore(of: .glob), \.routes, "Routes or globs of them; every route."),
    Field(
      "after", .oneOrMore(of: PolicyFile.toolGlob), \.after,
      "Tools of which each must have succeeded before."),
    Field("fromStep", .count(1...1_000_000_000), \.firstStep, "The first step, from 1."),
    Field("toStep", .count(1...1_000_000_000), \.lastStep, "The last step."),
    Field("attributes", .matcher, \.attributes, "A matcher on the attributes of policyContext."),
    Field(
      "when", .matcher(on: looked), \.condition,
      "A matcher on \(looked.joined(separator: ", "))."),
  ]

  @Sendable private static func finished(
    _ draft: Draft, _ reader: FieldReader
  ) -> DisclosureRule? {
    var steps: ClosedRange<Int>?
    if draft.firstStep != nil || draft.lastStep != nil {
      let (first, last) = (draft.firstStep ?? 1, draft.lastStep ?? .max)
      guard first <= last else { return reader.refuse("“fromStep” is greater than “toStep”") }
      steps = first...last
    }
    return DisclosureRule(
      id: draft.id, isShown: draft.isShown, routes: draft.routes, after: draft.after, steps: steps,
      attributes: draft.attributes, condition: draft.condition)
  }
}
