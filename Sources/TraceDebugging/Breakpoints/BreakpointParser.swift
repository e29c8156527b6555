import AgentTrace
import TraceJudging
import TraceMatching

/// A command that cannot be followed: what is wrong with it, and what to write instead.
public struct CommandError: Error, Hashable, Sendable, CustomStringConvertible {
  /// In words.
  public var description: String

  init(_ description: String) { self.description = description }
}

/// Reads what stands behind `break`.
struct BreakpointParser {
  /// Reads a value as it is written on a command line, or in a file behind `@`.
  var readValue: (String) throws -> JSONValue

  static let kinds = ["tool", "verdict", "event", "stop", "step", "when"]

  func condition(_ text: String) throws -> Breakpoint.Condition {
    let (kind, rest) = Self.word(text)
    switch kind {
    case "stop" where rest.isEmpty: return .event(try glob(EventType.stop.rawValue))
    case _ where !Self.kinds.contains(kind):
      let nearest = Spelling.nearest(to: kind, among: Self.kinds)
      throw CommandError(
        "break knows no “\(kind.prefix(utf8Bytes: 80))”"
          + (nearest.map { "; did you mean “break \($0)”?" } ?? "")
          + "; there are \(Self.kinds.map { "break \($0)" }.joined(separator: ", "))")
    case _ where rest.isEmpty: throw CommandError(Self.usage(kind))
    case "tool": return .tool(try glob(rest))
    case "verdict": return .verdict(try verdict(rest))
    case "event": return .event(try eventType(rest))
    case "step":
      guard let number = Int(rest), number >= 0 else { throw CommandError(Self.usage(kind)) }
      return .step(number)
    case "when": return try when(rest)
    default: throw CommandError("break stop takes nothing more")
    }
  }

  private static func usage(_ kind: String) -> String {
    switch kind {
    case "tool": "break tool takes the name of a tool, or a glob: break tool delete_*"
    case "verdict": "break verdict takes allow, deny or approval_required"
    case "event": "break event takes a type of events: break event tool_result"
    case "step": "break step takes the number of a step"
    default:
      "break when takes a matcher of an event's data or an expectation: "
        + "break when {status: error}, break when {toolsNotCalled: [delete_*]}, break when @FILE"
    }
  }

  /// The first word of a text, and what follows it.
  static func word(_ text: String) -> (word: String, rest: String) {
    let text = trimmed(text)
    let end = text.firstIndex(of: " ") ?? text.endIndex
    return (String(text[..<end]), trimmed(String(text[end...])))
  }

  static func trimmed(_ text: String) -> String {
    var scalars = Substring(text).unicodeScalars
    while let first = scalars.first, first == " " || first == "\t" || first == "\r" {
      scalars.removeFirst()
    }
    while let last = scalars.last, last == " " || last == "\t" || last == "\r" {
      scalars.removeLast()
    }
    return String(scalars)
  }

  private func glob(_ text: String) throws -> Glob {
    do { return try Glob(text) } catch {
      throw CommandError("“\(text.prefix(utf8Bytes: 80))” is no glob: \(error)")
    }
  }

  private func verdict(_ text: String) throws -> VerdictStatus {
    if let status = VerdictStatus(rawValue: text) { return status }
    let names = VerdictStatus.allCases.map(\.rawValue)
    let nearest = Spelling.nearest(to: text, among: names)
    throw CommandError(
      "there is no verdict “\(text.prefix(utf8Bytes: 80))”"
        + (nearest.map { "; did you mean “\($0)”?" } ?? "")
        + "; verdicts are \(names.joined(separator: ", "))")
  }

  /// A type that a newer version writes is not known here, but has nothing near it either.
  private func eventType(_ text: String) throws -> Glob {
    let glob = try glob(text)
    let names = EventType.known.map(\.rawValue)
    guard !names.contains(where: glob.matches),
      let nearest = Spelling.nearest(to: text, among: names)
    else { return glob }
    throw CommandError(
      "there is no event “\(text.prefix(utf8Bytes: 80))”; did you mean “\(nearest)”?")
  }

  /// An object whose keys are all words of the judging language is an expectation, any other value a
  /// matcher; `data` and `expected` in front say it outright.
  private func when(_ text: String) throws -> Breakpoint.Condition {
    let (first, rest) = Self.word(text)
    switch first {
    case "data" where !rest.isEmpty: return .data(try matcher(readValue(rest)))
    case "expected" where !rest.isEmpty: return try expectation(readValue(rest), hint: "")
    default: break
    }
    let value = try readValue(text)
    let keys = (value.arrayValue?.first ?? value).objectValue?.keys ?? []
    guard !keys.isEmpty, keys.allSatisfy(Self.isWord) else { return .data(try matcher(value)) }
    return try expectation(
      value, hint: "; a matcher of an event's data is written: break when data {…}")
  }

  private static func isWord(_ key: String) -> Bool {
    Expectations.keyNames.contains { $0.hasSameUTF8(as: key) }
  }

  private func matcher(_ value: JSONValue) throws -> Matcher {
    do {
      let matcher = try Matcher(compiling: value)
      try matcher.refuseContradictions()
      return matcher
    } catch {
      throw CommandError("that is no matcher: \(error)")
    }
  }

  private func expectation(_ value: JSONValue, hint: String) throws -> Breakpoint.Condition {
    do {
      return .expectation(ExpectationWatch(try Expectations(parsing: value)))
    } catch {
      throw CommandError("that is no expectation: \(error)\(hint)")
    }
  }
}
