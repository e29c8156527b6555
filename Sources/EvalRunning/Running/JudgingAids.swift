public import AgentTrace
public import TraceJudging
import TraceStorage

/// Runs a program that judges along: gives it a value, returns what it printed, as a command that is a
/// tool does.
public typealias ProgramRunner =
  @Sendable (_ program: ProgramCheck, _ input: JSONValue) async ->
  ToolResult

extension Judge.Aids {
  /// Finds out what other logs tell of a run.
  ///
  /// - Throws: where a log of a sub-run cannot be read.
  init(
    for run: RecordedRun, _ expectations: Expectations, folders: @autoclosure () -> [String]
  ) throws {
    self.init()
    if expectations.includesSubRuns {
      subRuns = try SubRuns(folders(), expectations).totals(below: run.trajectory.runId)
    }
  }

  /// Finds out what programs say of a run.
  ///
  /// - Throws: where one does not say what it should.
  mutating func run(
    programsOf expectations: Expectations, on run: RecordedRun, with runProgram: ProgramRunner
  ) async throws {
    guard !expectations.programs.isEmpty else { return }
    let input = run.trajectory.json
    for program in expectations.programs where programs[program] == nil {
      let name = program.command.first ?? ""
      switch await runProgram(program, input) {
      case .ok(let data), .returned(let data):
        guard let answer = ProgramAnswer(data) else {
          throw CaseError(
            reason: "exec “\(name)” printed no outcome; it takes {\"outcome\": "
              + "\"pass\", \"fail\", \"not_exercised\" or \"unverifiable\", \"message\": text}")
        }
        programs[program] = answer
      case .error(let reason, _):
        throw CaseError(reason: "exec “\(name)”: \(reason.stringValue ?? "\(reason)")")
      case .refused(let reason): throw CaseError(reason: "exec “\(name)”: \(reason)")
      }
    }
  }
}

extension Judge.Aids {
  /// Finds out what models say of a run by the rubrics of a case.
  ///
  /// - Throws: as ``JudgingModels/judged(_:_:of:in:)``.
  mutating func judge(
    _ run: RecordedRun, _ expectations: Expectations, with judges: JudgingModels,
    keptIn files: JudgementFiles
  ) async throws {
    guard let gathered = run.gathered else { return }
    for rule in expectations.judges where judged[rule] == nil {
      guard case .question(let question) = rule.subject(in: run.trajectory, gathered) else {
        continue
      }
      judged[rule] = try await judges.judged(
        rule, question,
        of: JudgingModels.Judged(runId: run.trajectory.runId, seq: run.trajectory.lastSeq),
        in: files)
    }
  }
}

extension ProgramAnswer {
  /// Reads what a program printed.
  fileprivate init?(_ value: JSONValue) {
    guard let outcome = value["outcome"]?.stringValue.flatMap(Outcome.init(rawValue:)) else {
      return nil
    }
    self.init(
      outcome: outcome,
      message: value["message"]?.stringValue ?? "The program says \(outcome.rawValue).",
      events: (value["events"]?.arrayValue ?? []).compactMap(\.intValue).filter { $0 >= 0 })
  }
}

extension Trajectory {
  /// The trajectory as a program gets it on standard input; Docs/expectations.md lists its keys.
  var json: JSONValue {
    .object(
      JSONObject([
        ("runId", .string(runId)), ("steps", JSONValue(steps)),
        ("calls", .array(calls.map(\.json))),
        (
          "answer",
          answer.map { answer in
            [
              "text": answer.value, "evidenceRefs": JSONValue(answer.evidenceRefs),
              "seq": JSONValue(answer.seq),
            ]
          } ?? .null
        ),
        (
          "stop",
          stop.map { stop in
            [
              "reason": .string(stop.reason.rawValue),
              "detail": stop.detail.map(JSONValue.string) ?? .null, "final": .bool(stop.isFinal),
              "seq": JSONValue(stop.seq),
            ]
          } ?? .null
        ),
        (
          "gaps",
          .array(
            gaps.map {
              ["first": JSONValue($0.first), "last": $0.last.map { JSONValue($0) } ?? .null]
            })
        ),
        (
          "recorded",
          .object(JSONObject(recorded.all.map { ($0.name, .string($0.extent)) }))
        ),
      ]))
  }
}

extension Trajectory.Call {
  fileprivate var json: JSONValue {
    var object: JSONObject = [
      "callId": .string(outline.callId), "caller": .string(caller), "tool": .string(tool),
      "input": input ?? .null, "step": JSONValue(step), "decision": JSONValue(group),
      "status": status.map { .string($0.rawValue) } ?? .null,
      "verdict": outline.verdict.map { .string($0.rawValue) } ?? .null,
      "seq": JSONValue(outline.seq),
      "resultSeq": outline.resultSeq.map { JSONValue($0) } ?? .null,
    ]
    switch result {
    case .ok(let data)?, .returned(let data)?: object["data"] = data
    case .refused(let reason)?: object["reason"] = .string(reason)
    case .error(let reason, _)?: object["reason"] = reason
    case nil: break
    }
    return .object(object)
  }
}

/// The runs that other runs started, found among the logs of some folders.
private struct SubRuns {
  /// How many logs are looked at; more are an error, for what was not seen may be beyond a limit.
  private static let limit = 100_000

  private let expectations: Expectations
  /// Logs by the run that started theirs.
  private var children: [String: [String]] = [:]

  init(_ folders: [String], _ expectations: Expectations) throws {
    self.expectations = expectations
    var seen: Set<String> = []
    for folder in folders {
      for path in try LogFiles.all(below: folder) where seen.insert(path).inserted {
        guard seen.count <= Self.limit else {
          throw CaseError(
            reason:
              "\(folder): more than \(Self.limit) logs, too many to look for runs below this one")
        }
        // One that cannot be read may have been started by this run.
        var reader = try LogReader(path: path)
        guard let first = try reader.next(), let parent = first.data["parent"],
          parent["relation"] != "fork",
          parent["relation"] != "judge",
          // Those of agents that it called, and of its tasks, are in the row of events that is judged.
          !ParentRun.isPart(parent),
          let runId = parent["runId"]?.stringValue
        else { continue }
        children[runId, default: []].append(path)
      }
    }
  }

  /// What all runs used that a run started, and those that they started.
  func totals(below runId: String) throws -> [RunTotals] {
    var (found, pending, seen): ([RunTotals], [String], Set<String>) = ([], [runId], [runId])
    while let next = pending.popLast() {
      for path in children[next] ?? [] {
        let run = try RecordedRun(path: path, for: expectations)
        guard seen.insert(run.trajectory.runId).inserted else { continue }
        found.append(
          RunTotals(
            of: run.trajectory, run.gathered ?? GatheredFacts(for: expectations),
            includesBelow: true))
        pending.append(run.trajectory.runId)
      }
    }
    return found
  }
}
