import Glibc
import TraceStorage

/// The rows of the table: each piece of work beside its floor, measured in turns.
struct Table {
  var binary = absolute(".build/release/agent-eval")
  var corpus = Corpus(folder: absolute(".build/bench"))
  var longMiB = 64
  var rounds = 5
  var only: String?

  var this: String { CommandLine.arguments[0] }

  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return "\(String(cString: folder))/\(path)"
  }

  func print() throws {
    corpusIsMade()
    Swift.print(
      "corpus: 2,000 runs, \(Files.size(corpus.list) > 0 ? corpus.folder : "missing"), long run "
        + "\(longMiB) MiB of lines; medians of \(rounds) interleaved rounds\n")
    Swift.print("| work | CPU s | wall s | floor | CPU s | wall s | ratio | must reach |")
    Swift.print("|---|---|---|---|---|---|---|---|")
    judging()
    recording()
    replaying()
    ruleChecking()
    mutating()
    appending()
    startUp()
    size()
    memory()
    indexing()
    middle()
    importing()
    proxying()
    growing()
    pipelining()
  }

  /// The state at the step that holds the middle event of the long run, by a process of its own.
  private func middle() {
    let name = "state at one step in the middle of the long run"
    guard isWanted(name), longMiB > 0, let tail = try? LogTail(path: corpus.long),
      var reader = try? LogReader(path: corpus.long, startingAtCheckpointBefore: tail.events / 2)
    else { return }
    var middle = 0
    while let head = try? reader.advance() {
      guard case .event(let seq, let step, _) = head, seq >= tail.events / 2 else { continue }
      middle = step
      break
    }
    let piece = "\(corpus.folder)/piece.txt"
    _ = Processes.run([this, "work", "piece", corpus.folder, corpus.long], output: piece)
    let costs = medians([
      [this, "work", "inflate", piece], [binary, "replay", corpus.long, "--step", "\(middle)"],
    ])
    row(
      name, costs[1], "zlib inflating 4 MiB of lines", costs[0],
      "step \(middle), \(figure(costs[1].wallSeconds * 1_000, digits: 1)) ms", "< 100 ms")
  }

  /// A process of its own makes the corpus: this one stays small, see ``Processes/run(_:output:)``.
  private func corpusIsMade() {
    _ = Processes.run(
      [this, "work", "corpus", corpus.folder, String(longMiB)], output: "/dev/stderr")
  }

  func isWanted(_ name: String) -> Bool { only.map { name.contains($0) } ?? true }

  func row(
    _ name: String, _ cost: Cost?, _ floorName: String, _ floor: Cost?, _ ratio: String,
    _ aim: String
  ) {
    func cells(_ cost: Cost?) -> String {
      cost.map { "\(figure($0.cpuSeconds, digits: 3)) | \(figure($0.wallSeconds, digits: 3))" }
        ?? " | "
    }
    Swift.print(
      "| \(name) | \(cells(cost)) | \(floorName) | \(cells(floor)) | \(ratio) | \(aim) |")
    fflush(nil)
  }

  /// The medians of several commands, run in turns; `before` each.
  func medians(_ commands: [[String]], before: () -> Void = {}) -> [Cost] {
    var costs = [[Cost]](repeating: [], count: commands.count)
    for _ in 0..<rounds {
      for (index, command) in commands.enumerated() {
        before()
        costs[index].append(Processes.run(command))
      }
    }
    return costs.map { costs in
      Cost(
        cpuSeconds: costs.map(\.cpuSeconds).median, wallSeconds: costs.map(\.wallSeconds).median,
        peakBytes: costs.map(\.peakBytes).max() ?? 0, exitCode: costs.last?.exitCode ?? -1)
    }
  }

  func times(_ cost: Cost, _ floor: Cost) -> String {
    "\(figure(cost.cpuSeconds / floor.cpuSeconds)) ×"
  }

  // MARK: Rows

  private func judging() {
    guard isWanted("judging") else { return }
    let run = [binary, "run", "--json"]
    let costs = medians([
      [this, "work", "inflate", corpus.list],
      run + [corpus.cases, "--jobs", "1", "--no-summary"],
      run + [corpus.cases, "--jobs", "2", "--no-summary"],
      run + [corpus.cases, "--jobs", "1"],
      run + [corpus.yamlCases, "--jobs", "1", "--no-summary"],
    ])
    let floor = "zlib inflating"
    row(
      "judging 2,000 runs, bodies, one job", costs[1], floor, costs[0], times(costs[1], costs[0]),
      "≤ 1.1 ×")
    row("… from summaries", costs[3], floor, costs[0], times(costs[3], costs[0]), "≤ 0.12 ×")
    row(
      "… bodies, two jobs", costs[2], "one job", costs[1],
      "\(figure(costs[1].wallSeconds / costs[2].wallSeconds)) × faster (wall)", "≥ 1.8 ×")
    row("… bodies, YAML cases", costs[4], floor, costs[0], times(costs[4], costs[0]), "reported")
  }

  private func indexing() {
    guard isWanted("index build") else { return }
    let (index, floor) = ("\(corpus.runs)/.index.sqlite", "zlib inflating")
    let costs = medians([
      [this, "work", "inflate", corpus.list], [binary, "index", corpus.runs],
      [binary, "index", corpus.runs, "--no-summary"],
    ]) { _ = unlink(index) }
    row(
      "index build, from summaries", costs[1], floor, costs[0], times(costs[1], costs[0]), "≤ 0.3 ×"
    )
    row("… from bodies", costs[2], floor, costs[0], times(costs[2], costs[0]), "≤ 1.3 ×")
    row(
      "… nothing changed", medians([[binary, "index", corpus.runs]])[0], floor, costs[0], "",
      "reported")
  }

  private func recording() {
    guard isWanted("recording") else { return }
    for (level, aim) in [("6", "≤ 1.25 ×"), ("1", "≤ 1.6 ×")] {
      let costs = worked([["record", level, "fresh"], ["deflate", level, "fresh"]])
      row(
        "recording without repeats, level \(level)", costs[0], "zlib deflating", costs[1],
        times(costs[0], costs[1]), aim)
    }
    let costs = worked([["record", "6", "repeating"], ["deflate", "6", "repeating"]])
    row(
      "recording with repeats, level 6", costs[0], "zlib deflating, nothing said once", costs[1],
      times(costs[0], costs[1]), "reported")
  }

  /// Work that measures itself, without what it needs beforehand: two figures in its output.
  private func worked(_ works: [[String]]) -> [Cost] {
    let output = "\(corpus.folder)/output"
    var costs = [[Cost]](repeating: [], count: works.count)
    for _ in 0..<rounds {
      for (index, work) in works.enumerated() {
        var cost = Processes.run(
          [this, "work", work[0], corpus.folder] + work[1...], output: output)
        let fields = Self.fields(of: output)
        guard fields.count >= 2 else { continue }
        (cost.cpuSeconds, cost.wallSeconds) = (fields[0], fields[1])
        costs[index].append(cost)
      }
    }
    return costs.map { costs in
      Cost(
        cpuSeconds: costs.map(\.cpuSeconds).median, wallSeconds: costs.map(\.wallSeconds).median,
        peakBytes: 0, exitCode: 0)
    }
  }

  static func fields(of path: String) -> [Double] {
    let text = String(decoding: (try? Files.read(path)) ?? [], as: UTF8.self)
    return text.split(whereSeparator: { $0 == " " || $0 == "\n" }).compactMap { Double($0) }
  }

  private func replaying() {
    guard isWanted("replay") else { return }
    if longMiB > 0 {
      let one = "\(corpus.folder)/long.txt"
      try? Files.write(Array("\(corpus.long)\n".utf8), to: one)
      let costs = medians([
        [this, "work", "inflate", one], [this, "work", "replay", one],
      ])
      row(
        "replay of the long run to its last state", costs[1], "zlib inflating", costs[0],
        times(costs[1], costs[0]), "≤ 1.5 ×")
    }
    let costs = medians([
      [this, "work", "inflate", corpus.list], [this, "work", "replay", corpus.list],
    ])
    row(
      "replay of 2,000 runs to their last states", costs[1], "zlib inflating", costs[0],
      times(costs[1], costs[0]), "≤ 1.5 ×")
  }

  private func ruleChecking() {
    guard isWanted("rules") else { return }
    let costs = medians([
      [this, "work", "actions", corpus.folder], [this, "work", "rule", corpus.folder],
    ])
    let perSecond = Double(RuleChecking.calls) / costs[1].cpuSeconds
    row(
      "checking rules on \(RuleChecking.calls) calls of one run, 100 rules", costs[1], "action ids of the calls",
      costs[0], "\(times(costs[1], costs[0])), \(Int(perSecond)) calls a second",
      "≥ 10,000 calls a second")
  }

  /// Changes to runs of cases that miss nearly all of them, so that what would notice is looked for too.
  private func mutating() {
    let name = "changing 400 runs and judging each changed run, two jobs"
    guard isWanted(name), let all = try? Files.read(corpus.cases) else { return }
    let (cases, output) = ("\(corpus.folder)/first.jsonl", "\(corpus.folder)/output")
    let first = all.split(separator: 0x0a).prefix(400).joined(separator: [0x0a])
    guard (try? Files.write(Array(first), to: cases)) != nil else { return }
    let mutate = [binary, "mutate", cases, "--jobs", "2"]
    _ = Processes.run(mutate, output: output)
    // The last line: “14 of 531 changed runs are noticed”.
    let words = ((try? Files.read(output)) ?? []).split(separator: 0x0a).last.map {
      String(decoding: $0, as: UTF8.self).split(separator: " ")
    }
    guard let words, words.count > 2, let changes = Double(words[2]) else { return }
    let costs = medians([[binary, "run", cases, "--jobs", "1", "--no-summary", "--json"], mutate])
    row(
      name, costs[1], "judging the runs once", costs[0],
      "\(Int(changes)) changed runs, \(Int(changes / costs[1].wallSeconds)) a second",
      "≥ 2,000 a second")
  }

  private func appending() {
    guard isWanted("append") else { return }
    let output = "\(corpus.folder)/output"
    let levels = ["floor", "none", "process", "effect", "sync"]
    let names = [
      "write(2) of the same bytes plus deflate", "append one event, durability none",
      "append one event, durability process", "… one before an effect that cannot be undone",
      "append one event, durability sync",
    ]
    var fields = [[[Double]]](repeating: [], count: levels.count)
    for _ in 0..<rounds {
      for (index, level) in levels.enumerated() {
        _ = Processes.run([this, "work", "append", corpus.folder, level], output: output)
        fields[index].append(Self.fields(of: output))
      }
    }
    for (name, rounds) in zip(names, fields) where rounds.allSatisfy({ $0.count >= 2 }) {
      let (p50, p99) = (rounds.map { $0[0] }.median, rounds.map { $0[1] }.median)
      row(
        name, nil, "", nil, "p50 \(figure(p50, digits: 1)) µs, p99 \(figure(p99, digits: 1)) µs",
        "reported")
    }
  }

  private func startUp() {
    guard isWanted("first outcome") else { return }
    var (ours, floor): ([Double], [Double]) = ([], [])
    var last = Cost(cpuSeconds: 0, wallSeconds: 0, peakBytes: 0, exitCode: 0)
    for _ in 0..<40 {
      last = Processes.run([binary, "run", corpus.oneCase])
      ours.append(last.wallSeconds)
      floor.append(Processes.run(["/bin/true"]).wallSeconds)
    }
    let more = (ours.median - floor.median) * 1_000
    row(
      "first outcome, one JSON case", nil, "/bin/true", nil,
      "\(figure(more, digits: 1)) ms more (\(figure(ours.median * 1_000, digits: 1)) ms, peak \(mebibytes(last)))",
      "< 15 ms more")
  }

  private func size() {
    guard isWanted("size") else { return }
    let output = "\(corpus.folder)/output"
    _ = Processes.run([this, "work", "growth", corpus.folder], output: output)
    let fields = Self.fields(of: output)
    guard fields.count >= 2 else { return }
    row(
      "size of a run of 400 steps", nil, "one of 200 steps", nil,
      "\(figure(fields[1] / fields[0])) × (\(Int(fields[1])) and \(Int(fields[0])) bytes)",
      "≤ 2.2 ×")
  }

  private func memory() {
    guard isWanted("memory"), longMiB > 0 else { return }
    // An index is of a folder.
    let folder = "\(corpus.folder)/long-run"
    _ = mkdir(folder, 0o755)
    _ = symlink("../long.jsonl.gz", "\(folder)/long.jsonl.gz")
    _ = unlink("\(folder)/.index.sqlite")
    let works: [(String, [String])] = [
      ("judging", [binary, "run", "--no-summary", corpus.longCase]),
      ("verifying", [binary, "verify", corpus.long]),
      ("indexing", [binary, "index", folder, "--no-summary"]),
      ("showing", [binary, "show", corpus.long]),
      ("showing as JSON", [binary, "show", "--json", corpus.long]),
      ("replaying to step 3", [binary, "replay", corpus.long, "--step", "3"]),
      ("replaying to the last state", [this, "work", "replay", "\(corpus.folder)/long.txt"]),
    ]
    for (name, command) in works {
      let cost = Processes.run(command)
      row(
        "peak memory: \(name) the long run", cost, "", nil,
        mebibytes(cost) + (cost.exitCode == 0 ? "" : " (exit \(cost.exitCode))"), "< 32 MiB")
    }
  }

  func mebibytes(_ cost: Cost) -> String {
    "\(figure(Double(cost.peakBytes) / 1_048_576, digits: 1)) MiB"
  }
}
