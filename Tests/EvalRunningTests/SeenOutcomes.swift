import AgentTrace
import TraceJudging

/// What rules come to over many rows of events: of each, in its order, every outcome that was seen.
///
/// A row is folded once for all rules that are asked of it, not once for each: of a proof over thousands of orders that
/// is most of the time. A rule that came to two outcomes is asked no more.
struct SeenOutcomes {
  private(set) var found: [Set<Outcome>]
  private let rules: [JSONValue]
  private var asked: [Int] = []
  private var expectations = Expectations()

  init(of rules: [JSONValue]) throws {
    self.rules = rules
    found = rules.map { _ in [] }
    try ask()
  }

  /// Whether another row could tell anything.
  var isOpen: Bool { !asked.isEmpty }

  mutating func take(_ row: [Event]) throws {
    guard isOpen else { return }
    for (index, outcome) in zip(asked, Judge.judge(row, against: expectations).outcomes) {
      found[index].insert(outcome.outcome)
    }
    if asked.contains(where: { found[$0].count > 1 }) { try ask() }
  }

  private mutating func ask() throws {
    asked = rules.indices.filter { found[$0].count < 2 }
    expectations = try Expectations(parsing: .array(asked.map { rules[$0] }))
  }
}
