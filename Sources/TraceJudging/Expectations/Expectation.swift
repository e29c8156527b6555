import AgentTrace
import TraceMatching

/// One thing that a case may expect of a run: a key below `expected`, with all that the program knows of it.
///
/// Each stands in a file of its own in `Kinds/`; adding one is that file and its row in ``Expectations/kinds``.
/// No requirement has a default, so that the compiler names whatever a new one lacks.
///
/// Why: Docs/decisions/0018-one-file-for-each-expectation.md
protocol Expectation: Sendable, Hashable {
  /// The key that it stands under.
  static var key: String { get }
  /// How the table of Docs/eval-case-format.md tells it.
  static var summary: ExpectationSummary { get }
  /// What the JSON Schema of cases says of its value; see ``ExpectationSchema`` for the parts that it may name.
  static var schema: JSONValue { get }
  /// The parts of schemas that only it refers to, by name.
  static var schemaParts: JSONObject { get }
  /// Expectations of its kind that a run may meet, each as a case writes it below `expected`: offered where a
  /// changed run passes a suite, if the changed run does not meet them.
  static func suggestions(for run: Trajectory) -> [JSONValue]

  /// Reads a value, and reports what is wrong with it; `nil` where nothing is expected by it, or nothing could
  /// be read.
  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self?

  /// What of a trajectory judging it looks at.
  var needs: TrajectoryNeeds { get }
  /// What judging it looks at beyond a trajectory.
  var facts: Facts { get }
  /// Holds a run against it: one outcome for each thing that it says, in the order in which it says them.
  ///
  /// Only asked where ``facts`` were gathered.
  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome]
  /// What of it only the end of a run decides, so that a guard cannot; empty where what has happened breaks it
  /// for good.
  var undecided: [UndecidedPart] { get }
  /// Whether what breaks it in one run of a tree breaks it for the tree: so that a guard of the root can hold each
  /// run below against it by itself.
  var isOfEachRun: Bool { get }
  /// The tools that it names.
  var namedTools: [NamedTool] { get }

  /// What a value asks, one thing at a time, as a baseline holds it.
  static func asked(_ value: JSONValue) -> [AskedPart]
  /// Whether every run that meets one thing asked met another under the same name.
  ///
  /// - Parameter change: what was asked and what is asked, with what they stand among. Both are there, and differ
  ///   by value.
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool

  /// Adds its edge cases; the word that they are about is its key unless it says another.
  static func addConformance(to book: inout ConformanceBook)
}

extension Expectation {
  /// What its edge cases are written with.
  typealias Run = ConformanceRun
  typealias Call = ConformanceRun.Call

  /// Whether another one is the same.
  fileprivate func isEqual(to other: any Expectation) -> Bool {
    (other as? Self).map { $0 == self } ?? false
  }
}

/// An expectation of any kind.
package struct AnyExpectation: Sendable, Hashable {
  let base: any Expectation

  init(_ base: any Expectation) { self.base = base }

  /// The key that it stands under.
  package var key: String { type(of: base).key }

  package static func == (left: AnyExpectation, right: AnyExpectation) -> Bool {
    left.base.isEqual(to: right.base)
  }

  package func hash(into hasher: inout Hasher) { base.hash(into: &hasher) }
}

/// How documents tell an expectation, in Markdown.
struct ExpectationSummary: Sendable {
  /// What its value is.
  var takes: String
  /// When a run meets it.
  var holds: String
}

/// What of a trajectory an expectation looks at. A reader of logs passes over what is not needed.
struct TrajectoryNeeds: OptionSet, Sendable, Hashable {
  let rawValue: Int

  /// More than the summary of a log holds: tools, status, number and order of calls, and the stop.
  static let body = TrajectoryNeeds(rawValue: 1)
  /// The input of calls.
  static let inputs = TrajectoryNeeds(rawValue: 2)
  /// What tools returned.
  static let results = TrajectoryNeeds(rawValue: 4)
  /// What the run answered.
  static let answer = TrajectoryNeeds(rawValue: 8)
  /// Something that no log tells: a program is started, or a model asked.
  static let outsiders = TrajectoryNeeds(rawValue: 16)

  /// Everything that is in a log.
  static let all: TrajectoryNeeds = [.body, .inputs, .results, .answer]
}

/// Something that only the end of a run decides.
struct UndecidedPart: Sendable {
  /// From `expected` to it.
  var place: [String]
  /// Why.
  var why: String

  /// Why what is known only at the end is not decided before.
  static let end = "it is known only at the end of a run"

  /// Of something that is counted; `nil` where once there is too much of it, it stays so.
  static func counted(
    _ name: String, under key: String, _ times: CallEntry.Times, isForbidden: Bool
  ) -> UndecidedPart? {
    guard !isForbidden || times.maximum != nil else { return nil }
    return UndecidedPart(
      place: [key], why: "\(name) may come to hold, or no longer to, later on")
  }
}

/// One thing that a value asks.
struct AskedPart {
  /// Its place below `expected`: `stopReason`, `toolsCalled[1]`, `budget.steps`.
  var name: String
  /// What is asked there.
  var value: JSONValue

  /// A value that is asked as a whole.
  static func whole(_ key: String, _ value: JSONValue) -> [AskedPart] {
    [AskedPart(name: key, value: value)]
  }

  /// The elements of a list, each by itself.
  static func elements(_ name: String, _ value: JSONValue) -> [AskedPart] {
    guard let elements = value.arrayValue, !elements.isEmpty else { return whole(name, value) }
    return elements.enumerated().map { AskedPart(name: "\(name)[\($0)]", value: $1) }
  }

  /// The members of a mapping, and of those that are lists the elements.
  static func members(_ key: String, _ value: JSONValue) -> [AskedPart] {
    guard let object = value.objectValue else { return whole(key, value) }
    return object.flatMap { elements("\(key).\($0.key)", $0.value) }
  }
}

/// One thing asked before and now, with what it stood and stands among.
struct AskedChange {
  /// The list, or the name, that it stands under: `toolsCalled`, `policy.given`, `evidence.min`.
  var list: String
  var was: JSONValue
  var now: JSONValue
  var before: AskedContext
  var after: AskedContext

  /// Whether what is asked now is a number that is no greater.
  var isNumberLowered: Bool { Self.isNumber(now, atMost: was) }
  /// Whether what is asked now is a number that is no smaller.
  var isNumberRaised: Bool { Self.isNumber(was, atMost: now) }

  static func isNumber(_ value: JSONValue, atMost limit: JSONValue) -> Bool {
    (try? Matcher(compiling: ["$lte": limit]))?.matches(value) == true
  }

  /// Whether each word of a choice, one or a list, was one before.
  var isChoiceNarrowed: Bool {
    let known = Set(was.arrayValue ?? [was])
    return (now.arrayValue ?? [now]).allSatisfy(known.contains)
  }

  /// Whether an entry of a list of calls, verdicts, approvals or notes asks for at least as much.
  var isEntryNarrowed: Bool {
    EntryProof(list: list, before: before, after: after).shows(now, atLeast: was)
  }
}
