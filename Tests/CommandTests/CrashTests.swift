import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import LiveBoundary
import Subprocess
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

/// An agent whose tools have effects that can be counted: each appends its idempotency key to a file.
private struct Clerk {
  /// A tool that does nothing where its key is there already, also while another one is at work. Both note
  /// the input that they act on.
  static let putScript = """
    input=$(cat)
    echo "input $input" >>inputs
    exec 9>>lock
    flock 9
    grep -qxF "$IDEMPOTENCY_KEY" effects 2>/dev/null || echo "$IDEMPOTENCY_KEY" >>effects
    echo '"done"'
    """
  /// A tool that appends each time.
  static let addScript = """
    input=$(cat)
    echo "input $input" >>inputs
    echo "$IDEMPOTENCY_KEY" >>effects
    echo '"done"'
    """

  /// The word for the tool that the agent uses: `put`, which is idempotent, or `add`.
  let tool: String
  let folder: TemporaryFolder
  /// The calls that have an effect, in the order of their ids.
  static let calls = ["1.1.0", "1.1.1", "2.1.0", "4.1.0"]

  var log: String { folder.path("run.jsonl.gz") }
  var agentPath: String { folder.path("clerk.yaml") }

  init(_ tool: String) throws {
    self.tool = tool
    folder = try TemporaryFolder()
    try folder.script("put.sh", Self.putScript)
    try folder.script("add.sh", Self.addScript)
    // An absolute path of the program, so that what is left of a killed run can be told by it.
    try folder.write(
      "clerk.yaml",
      """
      name: clerk
      policy: {rules: [{id: hold, tool: held_*, verdict: approval_required}, {id: free, verdict: allow}]}
      human:
        approvals: [{granted: true, by: ana}]
        answers: [{text: "go on", by: ana}]
      tools:
        - {name: put, sideEffect: write, idempotent: true, command: [/bin/sh, \(folder.path("put.sh"))]}
        - {name: add, sideEffect: write, command: [/bin/sh, \(folder.path("add.sh"))]}
        - {name: held_put, sideEffect: write, idempotent: true, command: [/bin/sh, \(folder.path("put.sh"))]}
        - {name: held_add, sideEffect: write, command: [/bin/sh, \(folder.path("add.sh"))]}
      model:
        script:
          - calls: [{tool: \(tool), input: {n: 1}}, {tool: \(tool), input: {n: 2}}]
          - call: {tool: held_\(tool), input: {n: 3}}
          - ask: Shall I go on?
          - call: {tool: \(tool), input: {n: 4}}
          - answer: All is written down.
      """)
  }

  // MARK: Lives

  /// Records the run in this process, and kills the process behind one event.
  static func record(_ agentPath: String, to log: String, killedBehind seq: Int) async throws {
    let agent = try #require(AgentLoader.load(agentPath).value)
    let cancellation = Cancellation()
    let boundary = LiveBoundary.make(
      for: agent, clock: SystemClock(cancellation: cancellation), identifiers: RandomRunIDs(),
      cancellation: cancellation)
    _ = try await AgentRecording(
      of: agent, .init(goal: "Write it down", files: RunFiles(output: log)), on: boundary,
      observe: { if $0.seq >= seq { kill(getpid(), SIGKILL) } })
  }

  /// Goes on with the run in this process, and kills the process behind one event.
  static func resume(_ agentPath: String, _ log: String, killedBehind seq: Int) async throws {
    let agent = try #require(AgentLoader.load(agentPath).value)
    let cancellation = Cancellation()
    _ = try await RunResumption(
      .init(
        log: log, agent: agent,
        clock: { SystemClock(elapsedMicroseconds: $0, cancellation: cancellation) },
        boundary: {
          LiveBoundary.make(
            for: $0, clock: $1, identifiers: RandomRunIDs(), cancellation: cancellation)
        }),
      observe: { if $0.seq >= seq { kill(getpid(), SIGKILL) } })
  }

  // MARK: What is left

  /// The keys that were appended, in order.
  var effects: [String] {
    (folder.text("effects") ?? "").split(separator: "\n").map { line in
      String(line.split(separator: "/").last ?? "")
    }
  }

  /// The inputs that were acted on.
  var inputs: Set<String> {
    Set((folder.text("inputs") ?? "").split(separator: "\n").map(String.init))
  }

  /// Waits until no process is left that was started from the folder.
  func awaitOrphans() async throws {
    for _ in 0..<2_000 {
      guard Self.processes(of: folder.path("")) else { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("a tool is still at work")
  }

  private static func processes(of folder: String) -> Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.contains { name in
      guard let pid = Int32(name), pid != getpid(),
        let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
      else { return false }
      return String(decoding: words, as: UTF8.self).contains(folder) && Processes.isAlive(pid)
    }
  }

  func events() throws -> [Event] { try readLog(log) }

  /// The calls of which nobody knows whether they had their effect: the last that is said of them is
  /// that they were started.
  func open(in events: [Event]) -> [String] {
    var last: [String: EventType] = [:]
    for event in events where [.toolStarted, .approval, .toolResult].contains(event.type) {
      last[event.data["callId"]?.stringValue ?? ""] = event.type
    }
    return last.filter { $0.value == .toolStarted }.keys.sorted()
  }

  /// Goes on until the run has ended: says of calls that block it what their file says.
  ///
  /// - Returns: how often a person had to say so.
  func finish(_ about: String) async throws -> Int {
    var words = 0
    for _ in 0..<12 {
      try await awaitOrphans()
      // Killed before there was a log, or before anything stood in it.
      guard let past = try? events(), !past.isEmpty else {
        #expect(effects == [], "\(about): an effect without a log")
        try? FileManager.default.removeItem(atPath: log + ".open")
        try await Binary.run(["record", agentPath, "Write it down", "--out", log])
        continue
      }
      if past.last?.data["final"] == true, FileManager.default.fileExists(atPath: log) { break }
      let open = open(in: past)
      let outcome = try await Binary.run(
        ["resume", log, "--agent", agentPath, "--json"], status: nil)
      let stop = try #require(
        outcome.status == 2 ? nil : try outcome.json(), "\(about): \(outcome)")
      #expect(
        (stop["stopReason"] == "blocked") == (tool == "add" && !open.isEmpty),
        "\(about): \(outcome)")
      try await check(about)
      guard stop["stopReason"] == "blocked" else { continue }
      for call in open {
        let happened = effects.contains(call)
        try await Binary.run(
          ["approve", log, call, "--by", "ana", happened ? "--happened" : "--did-not-happen"])
        words += 1
      }
    }
    try await check(about)
    let types = try events().map(\.type.rawValue)
    #expect(effects.sorted() == Self.calls, "\(about): \(types)")
    return words
  }

  /// What must be so of every log: whole, and made again to its end.
  func check(_ about: String) async throws {
    #expect(Set(effects).count == effects.count, "\(about): an effect twice: \(effects)")
    #expect(
      inputs.isSubset(of: (1...4).map { "input {\"n\":\($0)}" }),
      "\(about): a wrong input: \(inputs)")
    let found = LogVerifier.verify(path: log)
    #expect(found.status == .whole && found.findings.isEmpty, "\(about): \(found)")
    let times = try events().map(\.t)
    #expect(times == times.sorted(), "\(about): active time runs backwards: \(times)")
    let agent = try #require(AgentLoader.load(agentPath).value)
    let again = try await Reexecution(of: log, with: agent)
    #expect(
      try again.isFaithful && again.made == events().count,
      "\(about): \(String(describing: again.divergence))")
  }
}

@Suite("A process that is killed while tools write", .serialized)
struct CrashTests {
  /// How many events the run has.
  private static let eventCount = 32

  @Test(
    "killed behind any event, the run goes on, and no effect comes twice",
    .timeLimit(.minutes(60)), arguments: ["put", "add"])
  func everyEvent(tool: String) async throws {
    let whole = try Clerk(tool)
    _ = try await whole.finish("whole")
    let count = try whole.events().count
    #expect(count == Self.eventCount)
    var generator = Seeded(seed: tool == "put" ? 1 : 2)
    var (words, blocks) = (0, 0)
    let boundaries = TestRun.isLong ? Array(0..<count) : [4, 8, 9, 17, 27, count - 1]
    for seq in boundaries {
      let clerk = try Clerk(tool)
      let (agent, log) = (clerk.agentPath, clerk.log)
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [agent = agent as String, log = log as String, seq = seq as Int] in
        try await Clerk.record(agent, to: log, killedBehind: seq)
      }
      try await clerk.awaitOrphans()
      let events = try clerk.events()
      #expect(events.count == seq + 1 || seq == count - 1, "\(seq): \(events.count)")
      // And once more while it goes on, where it may.
      if events.last?.data["final"] != true, Bool.random(using: &generator) || TestRun.isLong {
        let second = seq + Int.random(in: 1...6, using: &generator)
        await #expect(processExitsWith: .failure) {
          [agent = agent as String, log = log as String, second = second as Int] in
          try await Clerk.resume(agent, log, killedBehind: second)
          exit(3)
        }
      }
      let isOpen = try tool == "add" && !clerk.open(in: clerk.events()).isEmpty
      let said = try await clerk.finish("\(tool) killed behind \(seq)")
      #expect((said > 0) == isOpen)
      words += said
      blocks += isOpen ? 1 : 0
    }
    #expect((blocks > 0) == (tool == "add"))
    if TestRun.isLong { print("proof: \(boundaries.count) events, \(words) words of a person") }
  }

  @Test(
    "killed at any moment, and again while it goes on, no effect comes twice",
    .timeLimit(.minutes(120)))
  func anyMoment() async throws {
    var generator = Seeded(seed: 11)
    var (kills, cut, words) = (0, 0, 0)
    // A kill that comes when all is over is of no use: then the next ones come sooner.
    var longest = 0.5
    let wanted = TestRun.count(8, long: 500)
    for number in 0..<(6 * wanted) where cut < wanted {
      let clerk = try Clerk(number % 2 == 0 ? "put" : "add")
      var arguments = ["record", clerk.agentPath, "Write it down", "--out", clerk.log]
      for _ in 0..<3 {
        let delay = Double.random(in: 0...1, using: &generator) * longest
        kills += 1
        guard try await Self.run(arguments, in: clerk.folder.path, killedAfter: delay) else {
          longest = max(0.01, longest * 0.8)
          break
        }
        cut += 1
        longest = min(2, longest * 1.1)
        try await clerk.awaitOrphans()
        guard let last = try? clerk.events().last, last.data["final"] != true,
          Bool.random(using: &generator)
        else { break }
        arguments = ["resume", clerk.log, "--agent", clerk.agentPath]
      }
      words += try await clerk.finish("number \(number)")
    }
    #expect(cut >= wanted, "\(cut) of \(kills) kills came in time")
    if TestRun.isLong {
      print("proof: \(kills) kills, \(cut) of them in time, \(words) words of a person")
    }
  }

  /// Runs the program and kills it after a while; whether it was still there.
  private static func run(
    _ arguments: [String], in folder: String, killedAfter seconds: Double
  ) async throws -> Bool {
    let command = Command(program: Binary.path, arguments: arguments, folder: folder)
    let ended = try await Subprocess.run(
      command.configuration, input: .none, output: .discarded, error: .discarded
    ) { running in
      let pid = running.processIdentifier.value
      return Task {
        guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
        kill(pid, SIGKILL)
      }
    }
    ended.closureResult.cancel()
    return ended.terminationStatus == .signaled(SIGKILL)
  }
}
