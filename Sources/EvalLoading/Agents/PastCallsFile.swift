import AgentRuntime
import AgentTrace
import TraceMatching

/// What a policy rule says of earlier calls: a tool's name, a glob, or a call as expectations have it.
enum PastCallsFile {
  private struct Draft: Sendable {
    var tool: Glob?
    var input: Matcher?
    var statuses: [CallStatus]?
    var result: Matcher?
    var times: ClosedRange<Int>?
    var withinSeconds: Double?
  }

  /// How many executed calls there have to be.
  static let executed = shape(common + counting) { draft, reader in
    if draft.statuses == [.refused] {
      reader.report(
        "a refused call was never executed", hint: "say it under “proposals”",
        deeper: [.key("status")])
    }
  }

  /// How many proposed calls there have to be.
  static let proposed = shape(common + counting) { _, _ in }

  /// What must, or must not, have begun before.
  static let begun = shape(common) { draft, reader in
    if draft.statuses == [.refused] {
      reader.report("a refused call never began", deeper: [.key("status")])
    }
  }

  private static func shape(
    _ fields: [Field<Draft>], check: @escaping @Sendable (Draft, FieldReader) -> Void
  ) -> Shape<Policy.PastCalls> {
    let record = Shape<Draft>.record(Draft(), fields, expected: "a tool's name, a glob or a call")
    return Shape<Policy.PastCalls>(["anyOf": [Shape<Glob>.glob.schema(), record.schema()]]) {
      value, reader in
      if case .string = value {
        return PolicyFile.toolGlob.read(value, reader).map { Policy.PastCalls(tool: $0) }
      }
      guard let draft = record.read(value, reader) else { return nil }
      check(draft, reader)
      guard let tool = draft.tool else { return nil }
      return Policy.PastCalls(
        tool: tool, input: draft.input, statuses: draft.statuses, result: draft.result,
        times: draft.times ?? 1...Int.max, withinSeconds: draft.withinSeconds)
    }
  }

  private static let common: [Field<Draft>] = [
    Field(
      "tool", PolicyFile.toolGlob, \.tool, required: true,
      "The name of the tool that was called, or a glob."),
    Field(
      "input", .matcher(origins: .ownInput), \.input,
      "A matcher on what went into the earlier call; $from with a path alone is this call's input."),
    Field(
      "status", .oneOrMore(of: .word), \.statuses,
      "What became of the earlier call; anything where it is left out."),
    Field(
      "result", .matcher(origins: .ownInput), \.result,
      "A matcher on the data of a result that is ok, else on its reason."),
    Field(
      "withinSeconds", .amount, \.withinSeconds,
      "Only calls of the last so many seconds of active run time."),
  ]

  private static let counting: [Field<Draft>] = [
    Field("times", times, \.times, "How many of them: a number, or min and max; at least one.")
  ]

  private struct Bounds: Sendable {
    var minimum: Int?
    var maximum: Int?
  }

  private static let bounds = Shape<Bounds>.record(
    Bounds(),
    [
      Field("min", .count(0...1_000_000), \.minimum, "At least so many."),
      Field("max", .count(0...1_000_000), \.maximum, "At most so many."),
    ],
    constraints: ["minProperties": 1, "not": ["const": ["min": 0]]])

  private static let times = Shape<ClosedRange<Int>>([
    "anyOf": [Shape<Int>.count(0...1_000_000).schema(), bounds.schema()]
  ]) { value, reader in
    guard case .object = value else {
      return Shape<Int>.count(0...1_000_000).read(value, reader).map { $0...$0 }
    }
    guard let bounds = bounds.read(value, reader) else { return nil }
    guard bounds.minimum != nil || bounds.maximum != nil else {
      return reader.lacks("neither “min” nor “max”")
    }
    guard bounds.minimum != 0 || bounds.maximum != nil else {
      return reader.refuse(
        "every number is at least 0, so that this says nothing", deeper: [.key("min")])
    }
    let (minimum, maximum) = (bounds.minimum ?? 0, bounds.maximum ?? .max)
    guard minimum <= maximum else { return reader.refuse("“min” is greater than “max”") }
    return minimum...maximum
  }
}
