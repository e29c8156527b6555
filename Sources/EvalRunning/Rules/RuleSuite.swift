import AgentTrace
public import EvalLoading
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
  /// A run that cannot be read is a case that cannot be judged, of every rule. So is a rule that no run is for.
  ///
  /// - Complexity: reads the runs once where a rule has a `where`, else none.
  /// - Throws: ``Refusal`` where a case names a run or an agent of its own.
  public static func cases(
    of rules: [EvalCase], on runs: [FoundRun]
  ) throws(Refusal) -> [EvalCase] {
    if let odd = rules.first(where: { $0.recording != nil || $0.hasAgent }) {
      throw Refusal(
        description:
          "the case “\(odd.caseId)” (\(odd.path):\(odd.position.line)) names a run or an agent "
          + "of its own; cases that are put on other runs name neither")
    }
    var descriptions = Descriptions(
      asksForTools: rules.contains { $0.filter?.asksForTools ?? false })
    var cases: [EvalCase] = []
    var taken: Set<[UInt8]> = []
    for rule in rules {
      var isUsed = false
      for (index, run) in runs.enumerated() {
        var one: EvalCase
        switch run.log {
        case .failure(let fault):
          one = rule.on(run: run.name, recording: nil)
          one.fault = fault.reason
        case .success(let log):
          one = rule.on(run: run.name, recording: log)
          if let filter = rule.filter {
            switch descriptions.description(at: index, of: log) {
            case .success(let description):
              guard filter.matches(description) else { continue }
            case .failure(let fault): one.fault = fault.reason
            }
          }
        }
        one.recordingName = run.source
        let base = one.caseId
        var number = 2
        while !taken.insert(Array(one.caseId.utf8)).inserted {
          one.caseId = "\(base)~\(number)"
          number += 1
        }
        isUsed = true
        cases.append(one)
      }
      guard !isUsed else { continue }
      var none = rule
      none.fault =
        runs.isEmpty
        ? "there is no run to judge" : "none of \(runs.count) runs is what “where” asks for"
      cases.append(none)
    }
    return cases
  }

  /// What runs are, each read once.
  private struct Descriptions {
    let asksForTools: Bool
    private var known: [Int: Result<RunDescription, FoundFault>] = [:]

    init(asksForTools: Bool) { self.asksForTools = asksForTools }

    mutating func description(
      at index: Int, of log: String
    ) -> Result<RunDescription, FoundFault> {
      if let known = known[index] { return known }
      let found: Result<RunDescription, FoundFault>
      do throws(LogError) {
        found = .success(try RunDescription(log: log, readsTools: asksForTools))
      } catch {
        found = .failure(FoundFault("\(error)"))
      }
      known[index] = found
      return found
    }
  }
}

extension RunDescription {
  /// Reads what a run is from its log: its beginning, and where that is asked for the tools of its decisions.
  ///
  /// - Throws: `LogError` where the log is damaged or is none.
  init(log: String, readsTools: Bool) throws(LogError) {
    self.init()
    var reader = try LogReader(path: log)
    while let head = try reader.advance() {
      guard case .event(_, _, let type) = head, Self.types.contains(type) else { continue }
      guard readsTools || type == .runStarted else { return }
      guard case .event(let event) = try reader.line() else { continue }
      apply(event)
      guard readsTools else { return }
    }
  }
}
