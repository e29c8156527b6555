import AgentRuntime
import AgentTrace

/// The keys `plan` and `reflect` of an agent file: what the model is asked between decisions.
enum ThoughtFile {
  private struct Draft: Sendable {
    var text: String?
    var file: String?
    var settings: ThoughtSettings
  }

  /// What is asked before the first decision, and again every so many steps.
  static let plan = shape(
    everySteps: 0,
    Field(
      "everySteps", .count(1...1_000_000), \.settings.everySteps,
      "Steps from one plan to the next; one plan in all where it is left out."))

  /// What is asked once results are there, before the next decision.
  static let reflect = shape(
    everySteps: 1,
    Field(
      "everySteps", .count(1...1_000_000), \.settings.everySteps,
      "Steps from one look back to the next; 1 where it is left out."),
    Field(
      "after", .word, \.settings.cause,
      "What makes it due: results, any of the last decision's, or failures; results."))

  private static func shape(
    everySteps: Int, _ own: Field<Draft>...
  ) -> Shape<ThoughtSettings> {
    Shape<Draft>.record(
      Draft(settings: ThoughtSettings(prompt: PromptTemplate(""), everySteps: everySteps)),
      [
        Field("prompt", .text, \.text, "What the model is asked."),
        Field("file", .path, \.file, "The file that what it is asked stands in."),
      ] + own + [
        Field(
          "maxCalls", .count(1...1_000_000), \.settings.maxCalls,
          "Calls of the model for it in one run at most, failed ones too; 10."),
        Field(
          "maxTokens", .count(1...1_000_000_000), \.settings.maxTokens,
          "Tokens, in and out, after which none is asked for any more."),
      ],
      constraints: ["oneOf": [["required": ["prompt"]], ["required": ["file"]]]]
    ).map { draft, reader in
      PromptFile.template(of: draft.text, or: draft.file, under: "prompt", reader).map { prompt in
        var settings = draft.settings
        (settings.prompt, settings.file) = prompt
        return settings
      }
    }
  }
}
