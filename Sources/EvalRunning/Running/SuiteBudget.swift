import AgentRuntime
import AgentTrace
import Synchronization
import TraceStorage

/// What all live runs of a suite may use together.
public struct SuiteBudget: Sendable, Hashable {
  /// Money, in the currency of the models' prices; `nil` for no limit.
  public var cost: Double?
  /// Minutes from the first run on; `nil` for no limit.
  public var minutes: Double?

  /// What is wrong with a text that should be a budget.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// In words.
    public var description: String
  }

  /// Reads `cost=5,minutes=20`, of which one may be left out.
  ///
  /// - Throws: ``Fault``.
  public init(_ text: String) throws(Fault) {
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, let number = Double(pair[1]), (0...1e9).contains(number) else {
        throw Fault(description: "“\(part)” is not cost=NUMBER or minutes=NUMBER")
      }
      switch pair[0] {
      case "cost" where cost == nil: cost = number
      case "minutes" where minutes == nil: minutes = number
      default: throw Fault(description: "a budget has one “cost” and one “minutes”, not “\(part)”")
      }
    }
  }
}

/// What a suite has used of its budget; may be told and asked from any task.
final class SuiteSpending: Sendable {
  private struct Spent {
    var cost = 0.0
    /// A case of which nobody knows what its run cost.
    var unknown: String?
  }

  private let budget: SuiteBudget
  private let clock: any RunClock
  private let spent = Mutex(Spent())

  /// - Parameter clock: one that begins now.
  init(_ budget: SuiteBudget, clock: any RunClock) {
    self.budget = budget
    self.clock = clock
    _ = clock.reading()
  }

  /// Why no further run is begun; `nil` where one may be.
  var refusal: String? {
    let spent = spent.withLock { $0 }
    if let limit = budget.cost {
      if let caseId = spent.unknown {
        return
          "the suite's budget is one of cost, and nobody knows what the run of \(caseId) cost: "
          + "say “prices” of its model"
      }
      if Figures.isSpent(limit, by: spent.cost) {
        let used = Self.text(Figures.money(spent.cost))
        return "the suite's budget is spent: \(used) of cost=\(Self.text(limit))"
      }
    }
    if let limit = budget.minutes, Double(clock.reading().t) >= limit * 60_000_000 {
      return "the suite's time is over: minutes=\(Self.text(limit))"
    }
    return nil
  }

  private static func text(_ number: Double) -> String {
    CanonicalJSON.string(JSONValue(number), form: .plain)
  }

  /// Takes in what a run cost, by its log.
  ///
  /// - Throws: `LogError` where that cannot be read.
  func take(_ log: String, of caseId: String) throws {
    guard budget.cost != nil else { return }
    var (cost, asked): (Double?, Bool) = (nil, false)
    var reader = try LogReader(path: log)
    while let event = try reader.next() {
      if event.type == .modelResult { asked = true }
      if event.type == .stop { cost = event.data["totals"]?["cost"]?.doubleValue ?? cost }
      // What a task of a pipeline used, its log says.
      if event.type == .taskFinished || event.type == .taskFailed, let run = event.data["run"] {
        if let used = run["totals"]?["cost"]?.doubleValue { cost = (cost ?? 0) + max(0, used) }
        asked = asked || run["totals"]?["modelCalls"]?.intValue ?? 0 > 0
      }
    }
    spent.withLock { spent in
      if let cost {
        spent.cost += max(0, cost)
      } else if asked {
        spent.unknown = spent.unknown ?? caseId
      }
    }
  }
}
