import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `redaction` of an agent file.
enum RedactionFile {
  static let shape = Shape<RedactionSettings>.record(
    RedactionSettings(),
    texts + [
      Field(
        "places", .list(of: place), \.places,
        "Places in what tools are given and return, or in the goal, whose value is withheld.")
    ])

  /// That of a pipeline's file, which has no tools.
  static let ofPipeline = Shape<RedactionSettings>.record(RedactionSettings(), texts)

  private static let texts: [Field<RedactionSettings>] = [
    Field(
      "credentials", .flag, \.findsCredentials,
      "Whether credentials are looked for by their forms; true where it is left out."),
    Field(
      "patterns", .list(of: pattern), \.patterns,
      "Patterns whose matches are withheld, wherever text enters the run."),
  ]

  private struct PatternDraft: Sendable {
    var kind = ""
    var pattern: Pattern?
  }

  private static let pattern = Shape<PatternDraft>.record(
    PatternDraft(),
    [
      Field("kind", kind, \.kind, required: true, "What is found, as tokens name it."),
      Field("pattern", regex, \.pattern, required: true, "A regular expression."),
    ]
  ).map { draft, _ -> RedactionSettings.PatternRule? in
    draft.pattern.map { RedactionSettings.PatternRule(kind: draft.kind, pattern: $0) }
  }

  private struct PlaceDraft: Sendable {
    var kind = ""
    var side: RedactionSettings.PlaceRule.Side?
    var tools: [Glob]?
    var pointer: JSONPointer?
  }

  private static let place = Shape<PlaceDraft>.record(
    PlaceDraft(),
    [
      Field("kind", kind, \.kind, required: true, "What stands there, as tokens name it."),
      Field(
        "in", .word, \.side, required: true,
        "Which value the pointer leads into: a tool’s input, its result, or the run’s goal."),
      Field(
        "tool", .oneOrMore(of: PolicyFile.toolGlob), \.tools,
        "Names or globs of tools; every tool where it is left out."),
      Field(
        "pointer", pointer, \.pointer, required: true,
        "A JSON Pointer to the part; * stands for every key or element."),
    ]
  ).map { draft, reader -> RedactionSettings.PlaceRule? in
    guard let side = draft.side, let pointer = draft.pointer else { return nil }
    if side == .goal, draft.tools != nil {
      reader.report("has no effect where the goal is meant", as: .warning, deeper: [.key("tool")])
    }
    return RedactionSettings.PlaceRule(
      kind: draft.kind, side: side, tools: draft.tools, pointer: pointer)
  }

  /// A kind must be readable within a token.
  private static let kind = Shape<String>.text(
    ["type": "string", "pattern": "^[A-Za-z0-9_.-]{1,60}$"],
    expected: "a word of letters, digits, “_”, “-” and “.”"
  ) { text in
    let token = RedactionToken(kind: text, hex: "0").description
    return (1...60).contains(text.utf8.count)
      && RedactionToken.ranges(in: Array(token.utf8)).count == 1
      && !text.utf8.contains(UInt8(ascii: ":"))
  }

  private static let regex = Shape<Pattern>(["type": "string", "minLength": 1]) { value, reader in
    guard case .string(let text) = value, !text.isEmpty else {
      return reader.refuseKind(of: value, expected: "a regular expression")
    }
    do { return try Pattern(text) } catch {
      return reader.refuse("\(error)")
    }
  }

  static let pointer = Shape<JSONPointer>(
    ["type": "string", "pattern": "^(/.*)?$"], expected: "a JSON Pointer, as “/card/number”"
  ) { value in value.stringValue.flatMap { JSONPointer($0) } }
}
