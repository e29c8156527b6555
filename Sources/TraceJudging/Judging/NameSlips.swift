import AgentTrace
import TraceMatching

/// A name beside those of tools that an expectation speaks of: whoever forbids something to a caller, a rule or a
/// person that is misspelt forbids nothing.
private struct NamedOther {
  /// Whose name it is.
  enum Sort: String {
    case caller, rule, person
    /// The key of a note.
    case note
  }

  /// Where it is named: `policy.notGiven[0]`.
  var place: String
  var sort: Sort
  var name: Glob

  init?(_ place: String, _ sort: Sort, _ name: Glob?) {
    guard let name else { return nil }
    (self.place, self.sort, self.name) = (place, sort, name)
  }

  /// Whether it names someone.
  func matches(_ other: String) -> Bool {
    sort == .caller ? CallerPattern(name).matches(other) : name.matches(other)
  }
}

extension Expectations {
  /// The names beside those of tools, parts aside, in the order of their outcomes.
  fileprivate var otherNames: [NamedOther] {
    let callers = namedCallers
    let moments =
      (self[TimeExpectation.self]?.rules ?? []).enumerated().flatMap { index, rule in
        (rule.moments + rule.others).map { ("time[\(index)]", $0) }
      } + (self[PolicyExpectation.self]?.lists ?? []).map { ($0.name, $0.moment) }
    let notes = (self[MemoryExpectation.self]?.rules ?? []).compactMap {
      NamedOther($0.name, .note, $0.key)
    }
    return callers + moments.compactMap(Self.name) + notes
  }

  /// Who is named as the caller of a call.
  private var namedCallers: [NamedOther] {
    all.flatMap(\.base.namedTools).compactMap { NamedOther($0.place, .caller, $0.call?.caller) }
  }

  private static func name(in place: String, _ moment: Moment) -> NamedOther? {
    switch moment {
    case .verdict(let verdict): NamedOther(place, .rule, verdict.rule)
    case .approval(let approval): NamedOther(place, .person, approval.by)
    case .reply(_, let by): NamedOther(place, .person, by)
    default: nil
    }
  }
}

/// Tells names beside those of tools that are nearly those of a run, and none of its own.
///
/// Which callers, rules, people and notes there may be, no log tells: who did nothing in this run is no slip, and only
/// what looks like a known one is told.
struct NameWarnings {
  private let trajectory: Trajectory
  private let gathered: GatheredFacts?

  init(_ trajectory: Trajectory, _ gathered: GatheredFacts?) {
    (self.trajectory, self.gathered) = (trajectory, gathered)
  }

  /// The warnings of some expectations, parts aside, in their order.
  func all(of expectations: Expectations) -> [String] {
    let named = expectations.otherNames
    guard !named.isEmpty else { return [] }
    var known: [NamedOther.Sort: Set<String>] = [:]
    return named.compactMap { other in
      let names = known[other.sort] ?? names(of: other.sort)
      known[other.sort] = names
      return warning(other, among: names)
    }
  }

  private func names(of sort: NamedOther.Sort) -> Set<String> {
    switch sort {
    case .caller: Set(trajectory.calls.lazy.map(\.caller)).union(["agent"])
    case .rule: (gathered?.rules ?? []).union(gathered?.verdicts.compactMap(\.rule) ?? [])
    case .person:
      Set(gathered?.approvals.map(\.by) ?? []).union(gathered?.taskApprovals.map(\.by) ?? [])
        .union(gathered?.replies.compactMap(\.by) ?? [])
    case .note: Set(gathered?.notes.map(\.key) ?? [])
    }
  }

  private func warning(_ other: NamedOther, among names: Set<String>) -> String? {
    guard let name = other.name.literal, !names.contains(where: other.matches),
      let nearest = Spelling.nearest(
        to: name, among: names.filter { !Self.differInNumbers($0, name) })
    else { return nil }
    return "\(other.place): no \(other.sort) of this run is named “\(CallWording.short(name))”; "
      + "did you mean “\(nearest)”?"
  }

  /// Whether two names are alike but for their digits, as those of one row are: `worker_1` and `worker_2`.
  private static func differInNumbers(_ left: String, _ right: String) -> Bool {
    func letters(_ text: String) -> [UInt8] {
      text.utf8.filter { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
    return !left.hasSameUTF8(as: right) && letters(left) == letters(right)
  }
}
