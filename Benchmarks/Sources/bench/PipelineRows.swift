import AgentTrace
import Glibc

extension Table {
  /// What a task of a pipeline costs, and what four times the tasks do; the memory of a fan-out of 100,000; how long
  /// what a pipeline does is in coming.
  func pipelining() {
    guard isWanted("pipeline") else { return }
    _ = mkdir(corpus.folder, 0o755)
    closures()
    agentTasks()
    pipelineTimes()
    let large = Processes.run(pipeline(.fanOut, 100_000))
    row("pipeline: fan-out of 100,000 closures", large, "", nil, mebibytes(large), "reported")
  }

  private func pipeline(_ shape: Pipelining.Shape, _ count: Int) -> [String] {
    [this, "work", "pipeline", corpus.folder, shape.rawValue, "\(count)"]
  }

  private func closures() {
    // What a process costs that does next to nothing.
    let start = medians([pipeline(.chain, 1)])[0]
    for shape in Pipelining.Shape.allCases {
      let count = 1_000
      let costs = medians([pipeline(shape, count), pipeline(shape, 4 * count)])
        .map { $0.without(start) }
      _ = Processes.run(pipeline(shape, count))
      let bytes = Files.size("\(corpus.folder)/pipeline.jsonl.gz") / count
      row(
        "pipeline: \(shape.rawValue) of 4,000 closures", costs[1], "of 1,000", costs[0],
        "\(times(costs[1], costs[0])); \(each(costs[0], of: count)) and \(bytes) bytes a task",
        "≤ 4.4 ×, ≤ 150 µs, ≤ 400 bytes")
    }
  }

  private func each(_ cost: Cost, of count: Int) -> String {
    let scale = 1_000_000 / Double(count)
    return "\(figure(cost.cpuSeconds * scale, digits: 0)) µs of CPU, "
      + "\(figure(cost.wallSeconds * scale, digits: 0)) µs (wall)"
  }

  /// A fan-out of scripted agents, each a run with a log of its own.
  private func agentTasks() {
    let (folder, count) = ("\(corpus.folder)/pipeline-agents", 1_000)
    _ = mkdir(folder, 0o755)
    let agent: JSONValue = ["name": "nobody", "model": ["script": [["answer": "done"]]]]
    func definition(_ count: Int) -> JSONValue {
      [
        "pipeline": "agents", "input": ["default": .array((0..<count).map { JSONValue($0) })],
        "tasks": [
          [
            "id": "each", "agent": "agent.json", "forEach": "${input}",
            "input": ["goal": "${item}"],
          ]
        ],
      ]
    }
    let files = [("agent", agent), ("p-1", definition(1)), ("p-\(count)", definition(count))]
    for (name, value) in files {
      let bytes = CanonicalJSON.encode(value, form: .plain)
      guard (try? Files.write(bytes, to: "\(folder)/\(name).json")) != nil else { return }
    }
    let runs = "\(folder)/runs"
    func command(_ count: Int) -> [String] {
      [
        binary, "record", "\(folder)/p-\(count).json", "--out", "\(runs)/p.jsonl.gz",
      ]
    }
    let costs = medians(
      [command(1), command(count)],
      before: {
        _ = Processes.run(["/bin/rm", "-rf", runs])
        _ = mkdir(runs, 0o755)
      })
    let cost = costs[1].without(costs[0])
    row(
      "pipeline: fan-out of 1,000 scripted agents", cost, "", nil,
      "\(each(cost, of: count)) and \(Files.sizes(in: runs) / count) bytes a task, its own log counted"
        + (costs[1].exitCode == 0 ? "" : " (exit \(costs[1].exitCode))"), "reported")
  }

  private func pipelineTimes() {
    let output = "\(corpus.folder)/output"
    func milliseconds(_ work: String, _ count: Int) -> [String] {
      _ = Processes.run([this, "work", work, corpus.folder, "\(count)"], output: output)
      return Self.fields(of: output).map { figure($0 * 1_000, digits: 2) }
    }
    for count in [1_000, 4_000] {
      _ = Processes.run([this, "work", "pipeline-die", corpus.folder, "\(count)"])
      let going = milliseconds("pipeline-go-on", count)
      guard going.count == 2 else { continue }
      row(
        "pipeline: chain of \(count), killed at half", nil, "", nil,
        "goes on after \(going[0]) ms, at its end after \(going[1]) ms", "reported")
    }
    let works = [
      ("from the end of an element to the start of the one behind it", "pipeline-flow", "≤ 5 ms"),
      ("from the record of an event to whoever follows", "pipeline-follow", "p99 ≤ 10 ms"),
    ]
    for (name, work, aim) in works {
      let waits = milliseconds(work, 1_000)
      guard waits.count == 2 else { continue }
      row("pipeline: \(name)", nil, "", nil, "p50 \(waits[0]) ms, p99 \(waits[1]) ms", aim)
    }
  }
}

extension Cost {
  /// What is left where a process does what another does as well.
  func without(_ other: Cost) -> Cost {
    var cost = self
    cost.cpuSeconds = max(0.001, cpuSeconds - other.cpuSeconds)
    cost.wallSeconds = max(0.001, wallSeconds - other.wallSeconds)
    return cost
  }
}
