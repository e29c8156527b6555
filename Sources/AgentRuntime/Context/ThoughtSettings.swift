/// A call of the model between decisions, whose words stand in the prompts that follow: a plan, or a look back at what
/// came of the last decision.
///
/// What it says is recorded as a `model_result` of the purpose `plan` or `reflect`, and is no decision: what it would
/// call is not called.
public struct ThoughtSettings: Sendable {
  /// What results make a look back due; a plan asks for none.
  public enum Cause: String, Sendable, Hashable, CaseIterable {
    /// Any result of a tool since the last decision.
    case results
    /// One that is not `ok`.
    case failures
  }

  /// What the model is asked, behind everything that the next decision is made on.
  public var prompt: PromptTemplate
  /// The file that it stands in, and SHA-256 of its bytes; `nil` where it stands in the agent file.
  public var file: (path: String, digest: String)?
  /// Steps from one to the next; 0 for one that is made once.
  public var everySteps: Int
  /// What makes a look back due.
  public var cause = Cause.results
  /// Calls of the model for it in one run at most, those that failed among them.
  public var maxCalls = 10
  /// Tokens, in and out, after which none is asked for any more; `nil` for what the run may use.
  public var maxTokens: Int?

  /// One that is due every so many steps, 10 times at most.
  public init(prompt: PromptTemplate, everySteps: Int) {
    self.prompt = prompt
    self.everySteps = everySteps
  }
}

extension ThoughtSettings {
  /// Whose question it answers, in words behind others; empty where that stands in the agent file.
  var askedBy: String { file.map { ", asked by \(PromptPart.words(for: $0))" } ?? "" }
}
