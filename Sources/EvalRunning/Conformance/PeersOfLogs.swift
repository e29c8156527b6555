import AgentRuntime
import AgentTrace
import FilePaths
import Glibc
import TraceJudging
import TraceStorage

extension ConformanceBook {
  /// Where others err on files, on exit codes and on recordings.
  mutating func addPeersOfLogs() async {
    rule = "the run log"
    peer = "Inspect 0.3.285, a log short by one byte"
    let run = ConformanceRun("a", "b")
    add(
      "every event before the cut is readable", wanted: "\(run.events.count) events",
      actual: Self.eventsOfCutLog(run), "the last byte of a closed log was cut off")

    rule = "exit code"
    let expected: JSONValue = ["stopReason": "success"]
    let failed = ConformanceRun { $0.stop(.modelFailure) }
    peer = "Inspect 0.3.285 eval, a log with status error"
    add("a run that broke off fails its case", expected, on: failed, is: .fail)
    add(
      "and the command", wanted: "1", actual: "\(Self.exitCode(expected, failed))",
      "one case, failed")
    var results = EvalResults(cases: [CaseResult(caseId: "a", position: "")], skipped: [])
    results.cases[0].error = "no log"
    add(
      "a case that cannot be judged", wanted: "2", actual: "\(results.exitCode)",
      "one case, an error")
    add(
      "nothing to judge", wanted: "2", actual: "\(EvalResults(cases: [], skipped: []).exitCode)",
      "no case")
    peer = "Braintrust's default reporter"
    add(
      "a bad outcome is no success", wanted: "1",
      actual: "\(Self.exitCode(["toolsCalled": ["b"]], ConformanceRun("a")))", "one case, failed")

    rule = "recorded answers"
    peer = "record and replay of equal requests"
    add(
      "the first answer first, the second second", wanted: "one, two",
      actual: await Self.answersToEqualRequests(), "one request, made twice")
    peer = nil
  }

  private static func exitCode(_ expected: JSONValue, _ run: ConformanceRun) -> Int32 {
    guard let expectations = try? Expectations(parsing: expected) else { return 2 }
    var result = CaseResult(caseId: "a", position: "")
    result.trials = [
      TrialResult(
        runId: "conformance", log: "", judgedFrom: "body", judgement: run.judge(expectations))
    ]
    return EvalResults(cases: [result], skipped: []).exitCode
  }

  /// Writes a log, cuts its last byte off, and counts what can be read.
  private static func eventsOfCutLog(_ run: ConformanceRun) -> String {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/agent-eval-conformance-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return "no temporary folder" }
    let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { rmdir(folder) }
    let path = "\(folder)/run\(LogFormat.suffix)"
    defer { unlink(path) }
    do {
      let writer = try LogWriter(creating: path)
      for event in run.events { try writer.append(event, isEffectAhead: false) }
      _ = try writer.close()
      guard let status = fileStatus(path), truncate(path, status.st_size - 1) == 0 else {
        return "the file cannot be cut"
      }
      var reader = try LogReader(path: path)
      var count = 0
      // The missing byte is damage, told behind what is whole.
      while let event = try? reader.next() { if event.seq == count { count += 1 } }
      return "\(count) events"
    } catch {
      return "\(error)"
    }
  }

  private static func answersToEqualRequests() async -> String {
    let model = ScriptedModel(
      ModelScript(
        turns: ["one", "two"].map { text in
          .init(choices: [.init(answer: .reply(["text": .string(text)]))])
        }))
    var texts: [String] = []
    for number in 1...2 {
      let answer = await model.reply(
        to: ModelRequest(
          step: 1, tryNumber: number, attempt: 1, number: number, goal: "a goal", messages: []))
      texts.append(answer.reply?["text"]?.stringValue ?? "nothing")
    }
    return texts.joined(separator: ", ")
  }
}
