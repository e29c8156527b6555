import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `human` of agent and case files: a person written down.
enum HumanFile {
  static let shape = Shape<ScriptedPerson>.record(
    ScriptedPerson(),
    [
      Field(
        "approvals", .list(of: approval), \.approvals,
        "What the person says when a call waits for approval; the first rule that fits answers."),
      Field(
        "answers", .list(of: answer), \.answers,
        "What the person says to a question; the first rule that fits answers."),
    ])

  private static let approval = Shape<ScriptedPerson.ApprovalRule>.record(
    ScriptedPerson.ApprovalRule(granted: false, by: "person"),
    [
      Field(
        "tool", .oneOrMore(of: PolicyFile.toolGlob), \.tools,
        "Names or globs of tools; every tool where it is left out."),
      Field("input", .matcher, \.input, "A matcher on the call's input."),
      Field("granted", .flag, \.granted, required: true, "Whether the call may run."),
      Field("by", .name, \.by, "Who answers; “person” where it is left out."),
      Field("reason", .text, \.reason, "Why."),
    ])

  private static let answer = Shape<ScriptedPerson.AnswerRule>.record(
    ScriptedPerson.AnswerRule(text: "", by: "person"),
    [
      Field("question", .matcher, \.question, "A matcher on the question's text."),
      Field("text", .text, \.text, required: true, "What the person says."),
      Field("by", .name, \.by, "Who answers; “person” where it is left out."),
    ])
}
