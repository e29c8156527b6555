import AgentTrace
public import EvalLoading
import TraceJudging
import TraceStorage

/// A run that was found, whatever it was found as.
public struct FoundRun: Sendable, Hashable {
  /// What it is called below what was named: a path without its ending, and the number in a file of many.
  public var name: String
  /// The path of its log, or why there is none.
  public var log: Result<String, FoundFault>
  /// The file that it was imported from; `nil` for a log.
  public var source: String?

  /// Whether it can be read is not looked at.
  public init(name: String, log: Result<String, FoundFault>, source: String? = nil) {
    self.name = name
    self.log = log
    self.source = source
  }
}

/// Why a run that was found cannot be read.
public struct FoundFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// In words.
  public var reason: String

  /// In words.
  public init(_ reason: String) { self.reason = reason }

  public var description: String { reason }
}

/// Cases that name no run, put on each of many: one case a run that its `where` lets through.
public enum RuleSuite {
  /// Why cases are no rules.
  public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, in a sentence without its end.
    public var description: String
  }

  /// The cases, in the order of the rules, and for each in that of the runs.
  ///
  /// A run that cannot be read is a case that cannot be judged, one for all rules. So is a rule that no run is for. A
  /// run that no rule is for is a case that is left out: it was not judged, and nobody shall take it for judged.
  ///
  /// - Parameter tellsUnused: whether a rule that no run is for is told; not where runs come one by one.
  /// - Complexity: reads the runs once where a rule has a `where`, else none.
  /// - Throws: ``Refusal`` where a case names a run or an agent of its own.
  public static func cases(
    of rules: [EvalCase], on runs: [FoundRun], tellsUnused: Bool = true
  ) throws(Refusal) -> [EvalCase] {
    if let odd = rules.first(where: { $0.recording != nil || $0.hasAgent }) {
      throw Refusal(
        description:
          "the case “\(odd.caseId)” (\(odd.path):\(odd.position.line)) names a run or an agent "
          + "of its own; cases that are put on other runs name neither")
    }
    var descriptions = Descriptions(
      asksForCalls: rules.contains { $0.filter?.asksForCalls ?? false })
    var suite = Gathered()
    var judged: Set<Int> = []
    for rule in rules {
      var isUsed = false
      for (index, run) in runs.enumerated() {
        guard case .success(let log) = run.log else { continue }
        if let filter = rule.filter {
          switch descriptions.description(at: index, of: log) {
          case .success(let description):
            guard filter.matches(description) else { continue }
          case .failure: continue
          }
        }
        isUsed = true
        judged.insert(index)
        suite.add(rule.on(run: run.name, recording: log), from: run)
      }
      guard !isUsed, tellsUnused else { continue }
      var none = rule
      none.rule = rule.caseId
      none.fault =
        switch runs.count {
        case 0: "there is no run to judge"
        case _ where rule.filter == nil: "no run can be read that it could be put on"
        case 1: "the run is not what it asks for"
        default: "none of \(runs.count) runs is what it asks for"
        }
      suite.cases.append(none)
    }
    // Whichever rule a run that cannot be read was for: it is told once.
    for (index, run) in runs.enumerated() {
      var fault: FoundFault?
      switch run.log {
      case .failure(let found): fault = found
      case .success: if case .failure(let found)? = descriptions.known[index] { fault = found }
      }
      guard fault != nil || !judged.contains(index), var one = rules.first else { continue }
      one.caseId = fault == nil ? noRule : unreadable
      one = one.on(run: run.name, recording: nil)
      one.rule = nil
      one.isOfNoRule = fault == nil
      one.fault = fault?.reason
      one.skip =
        fault == nil ? CaseSkip(reason: reason(against: descriptions.known[index])) : nil
      suite.add(one, from: run)
    }
    return suite.cases
  }

  /// What the cases of runs that cannot be read begin with, and of those that no rule is for.
  private static let unreadable = "unreadable"
  private static let noRule = "no-rule"

  /// Why a run is not judged: what it is, beside which every `where` asks for something else.
  private static func reason(against known: Result<RunDescription, FoundFault>?) -> String {
    guard case .success(let run)? = known else { return "no rule is for this run" }
    let agent = run.agent.isEmpty ? "an agent without a name" : "agent “\(run.agent)”"
    let calls = run.hasAllCalls ? "" : ", calls recorded in part"
    return "no rule is for this run: \(agent)\(run.format.map { ", format \($0)" } ?? "")\(calls)"
  }

  /// Cases, each with an id of its own.
  private struct Gathered {
    var cases: [EvalCase] = []
    private var taken: Set<[UInt8]> = []

    mutating func add(_ evalCase: EvalCase, from run: FoundRun) {
      var evalCase = evalCase
      evalCase.recordingName = run.source
      let base = evalCase.caseId
      var number = 2
      while !taken.insert(Array(evalCase.caseId.utf8)).inserted {
        evalCase.caseId = "\(base)~\(number)"
        number += 1
      }
      cases.append(evalCase)
    }
  }

  /// What runs are, each read once.
  private struct Descriptions {
    let asksForCalls: Bool
    private(set) var known: [Int: Result<RunDescription, FoundFault>] = [:]

    mutating func description(
      at index: Int, of log: String
    ) -> Result<RunDescription, FoundFault> {
      if let known = known[index] { return known }
      let found: Result<RunDescription, FoundFault>
      do throws(LogError) {
        found = .success(try RunDescription(log: log, readsCalls: asksForCalls))
      } catch {
        found = .failure(FoundFault("\(error)"))
      }
      known[index] = found
      return found
    }
  }
}

extension RunDescription {
  /// Reads what a run is from its log: its beginning, and where that is asked for the tools of its decisions and
  /// whether all of its calls are there.
  ///
  /// - Throws: `LogError` where the log is damaged or is none.
  init(log: String, readsCalls: Bool) throws(LogError) {
    self.init()
    var reader = try LogReader(path: log)
    while let head = try reader.advance() {
      guard case .event(_, _, .runStarted) = head else { continue }
      if case .event(let event) = try reader.line() { apply(runStarted: event.data) }
      break
    }
    guard readsCalls else { return }
    let trajectory = try RecordedRun(path: log, for: RunProfile.common).trajectory
    hasAllCalls = trajectory.hasAllCalls
    for call in trajectory.calls where !tools.contains(where: { $0.hasSameUTF8(as: call.tool) }) {
      tools.append(call.tool)
    }
  }
}
