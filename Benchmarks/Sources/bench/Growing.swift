import AgentTrace
import Glibc

/// Runs of one agent whose context only grows: 200, 400, 800 and 1,600 steps with results of 5 KB.
struct Growing {
  static let steps = [200, 400, 800, 1_600]
  private static let resultBytes = 5_000

  let folder: String
  let steps: Int

  init(in corpus: Corpus, steps: Int) {
    folder = "\(corpus.folder)/growing"
    self.steps = steps
  }

  var agent: String { "\(folder)/agent-\(steps).json" }
  var log: String { "\(folder)/run-\(steps).jsonl.gz" }
  var evalCase: String { "\(folder)/case-\(steps).json" }
  /// Its path alone, for the floor.
  var list: String { "\(folder)/run-\(steps).txt" }

  /// The command that records it.
  func recording(_ binary: String) -> [String] {
    [
      binary, "record", agent, "go", "--fixed-clock", "--seed", "2", "--memory", "none", "--out",
      log,
    ]
  }

  func removeLog() {
    _ = unlink(log)
    _ = unlink(log + ".open")
  }

  /// Writes its agent and its case.
  func makeFiles() throws {
    _ = mkdir(folder, 0o755)
    var text = TextSource(seed: 11)
    let answers = (0..<steps).map { page -> JSONValue in
      [
        "when": ["input": ["page": JSONValue(page)]],
        "ok": ["text": .string(text.text(Self.resultBytes))],
      ]
    }
    let turns = (0..<steps).map { page -> JSONValue in
      ["call": ["tool": "read_page", "input": ["page": JSONValue(page)]]]
    }
    let agent: JSONValue = [
      "name": "reader", "system": "You read.",
      "limits": ["maxSteps": 99_999, "maxToolCalls": 99_999],
      "context": ["tokenBudget": 100_000_000],
      "tools": [
        [
          "name": "read_page", "description": "Reads.", "sideEffect": "read",
          "inputSchema": ["type": "object", "properties": ["page": ["type": "integer"]]],
          "scripted": .array(answers),
        ]
      ], "model": ["script": .array(turns + [["answer": "done"]])],
    ]
    try Files.write(CanonicalJSON.encode(agent, form: .plain), to: self.agent)
    let expected: JSONValue = [
      "toolsCalled": [["tool": "read_page", "times": JSONValue(steps)]],
      "toolsNotCalled": ["delete_*"], "stopReason": "success",
    ]
    let cases: JSONValue = [
      ["caseId": "growing", "recording": .string(log), "expected": expected]
    ]
    try Files.write(CanonicalJSON.encode(cases, form: .plain), to: evalCase)
    try Files.write(Array("\(log)\n".utf8), to: list)
  }
}

extension Table {
  /// What each verb costs over a context that grows, beside inflating the same log, and what twice the
  /// steps cost.
  func growing() {
    guard isWanted("growing") else { return }
    let works: [(name: String, aim: String, command: (Growing) -> [String])] = [
      ("verifying", "≤ 3 ×", { [binary, "verify", $0.log] }),
      ("replay to the last state", "≤ 2 ×", { [this, "work", "replay", $0.list] }),
      ("showing", "≤ 6 ×", { [binary, "show", $0.log] }),
      ("judging from the body", "≤ 1.5 ×", { [binary, "run", "--no-summary", $0.evalCase] }),
      (
        "re-executing", "reported",
        { [binary, "replay", $0.log, "--reexecute", "--agent", $0.agent] }
      ),
    ]
    var before: [String: Cost] = [:]
    for steps in Growing.steps {
      let run = Growing(in: corpus, steps: steps)
      guard (try? run.makeFiles()) != nil else { continue }
      let record = medians([run.recording(binary)], before: run.removeLog)[0]
      let floor = medians([[this, "work", "inflate", run.list]])[0]
      // What a process costs that does next to nothing.
      let start = medians([[binary, "--version"]])[0]
      var costs = medians(works.map { $0.command(run) })
      costs.append(record)
      let names = works.map { ($0.name, $0.aim) } + [("recording", "reported")]
      for ((name, aim), cost) in zip(names, costs) {
        var cost = cost
        cost.cpuSeconds = max(0.001, cost.cpuSeconds - start.cpuSeconds)
        let growth = before[name].map { ", \(times(cost, $0)) of half the steps" } ?? ""
        row(
          "growing context, \(steps) steps of 5 KB: \(name)", cost, "zlib inflating", floor,
          times(cost, floor) + growth + ", \(mebibytes(cost))",
          aim + (before[name] == nil ? "" : ", ≤ 2.2 × of half"))
        before[name] = cost
      }
    }
  }
}
