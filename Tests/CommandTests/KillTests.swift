import AgentRuntime
import AgentTrace
import Foundation
import Subprocess
import Synchronization
import TestSupport
import Testing
import TraceStorage

/// Agents that do many things quickly, so that there is always something under way.
private struct BusyAgent {
  /// An agent file of so many steps with one call each. What it is told grows with every step.
  static func file(steps: Int) -> String {
    """
    name: busy
    limits: {maxSteps: 10000, maxToolCalls: 10000}
    tools:
      - name: draft
        sideEffect: draft
        scripted: [{ok: {text: "\(String(repeating: "Dear Sir or Madam, ", count: 20))"}}]
    model:
      script:
        - call: {tool: draft, input: {what: "\(String(repeating: "a letter about ", count: 30))"}}
          repeat: \(steps)
        - answer: All drafted.
    """
  }
}

@Suite("A process that is killed while it records")
struct KillTests {
  /// What a recording left behind.
  private struct Remains {
    /// The greatest number of an event that it had printed; -1 where it had printed none.
    var printed: Int
    var wasKilled: Bool
    /// From the first thing that it printed to its end.
    var seconds: Double
  }

  /// When a recording is killed.
  private enum KillTime {
    /// So many seconds after its process was started.
    case afterStart(Double)
    /// So many seconds after it printed something for the first time.
    case afterFirstEvent(Double)
    case never
  }

  /// Records an agent, reads what it prints through a pipe, and kills it.
  private static func record(
    _ agent: String, to log: String, in folder: String, killed moment: KillTime
  ) async throws -> Remains {
    let command = Command(
      program: Binary.path, arguments: ["record", agent, "Draft letters", "--out", log],
      folder: folder)
    let ended = try await Subprocess.run(
      command.configuration, input: .none, output: .sequence, error: .discarded
    ) { running in
      let killer = Killer(pid: running.processIdentifier.value)
      if case .afterStart(let seconds) = moment { killer.kill(after: seconds) }
      var text: [UInt8] = []
      var first: ContinuousClock.Instant?
      for try await piece in running.standardOutput {
        if first == nil, case .afterFirstEvent(let seconds) = moment {
          killer.kill(after: seconds)
        }
        first = first ?? .now
        piece.withUnsafeBytes { text.append(contentsOf: $0) }
      }
      killer.stop()
      return (text, first.map { (ContinuousClock.now - $0) / .seconds(1) } ?? 0)
    }
    let (text, seconds) = ended.closureResult
    // An event's number is the first word of its line; a line cut short by the kill has no end.
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let numbers = lines.dropLast().compactMap { line -> Int? in
      guard let word = line.split(separator: UInt8(ascii: " ")).first,
        line.prefix(5).contains(where: { $0 != UInt8(ascii: " ") })
      else { return nil }
      return Int(String(decoding: word, as: UTF8.self))
    }
    return Remains(
      printed: numbers.max() ?? -1, wasKilled: ended.terminationStatus == .signaled(SIGKILL),
      seconds: seconds)
  }

  /// Kills a process after a while, unless its output has ended by then.
  private final class Killer: Sendable {
    private let pid: Int32
    private let isOver = Mutex(false)

    init(pid: Int32) { self.pid = pid }

    func kill(after seconds: Double) {
      Thread.detachNewThread {
        Thread.sleep(forTimeInterval: seconds)
        self.isOver.withLock { if !$0 { _ = Foundation.kill(self.pid, SIGKILL) } }
      }
    }

    func stop() { isOver.withLock { $0 = true } }
  }

  /// Holds a log against what its writer had printed, and goes on in it.
  ///
  /// - Returns: how many events it held; `nil` where there is none.
  private static func check(_ remains: Remains, log path: String) throws -> Int? {
    let names = [path, path + ".open"].filter { FileManager.default.fileExists(atPath: $0) }
    guard let name = names.first else {
      #expect(remains.printed == -1, "the log is gone")
      return nil
    }
    #expect(names.count == 1)
    #expect(remains.wasKilled || name == path)
    var reader = try LogReader(path: path)
    var count = 0
    while let event = try reader.next() {
      #expect(event.seq == count)
      count += 1
    }
    #expect(count > remains.printed, "event \(remains.printed) is lost; \(count) are left")
    let found = LogVerifier.verify(path: path)
    #expect(found.findings.isEmpty && found.status == (name == path ? .whole : .torn), "\(found)")
    guard name != path else { return count }
    let (writer, reopened) = try LogWriter.reopening(path)
    #expect(reopened.nextSeq == count)
    if !reopened.runIsOver {
      let (runId, t) = (reopened.lastEvent?.runId ?? "r", reopened.lastEvent?.t ?? 0)
      var event = Event(
        seq: count, step: 0, type: .runResumed, runId: runId, t: t,
        data: RunResumed(
          why: "killed", cutAt: reopened.cutAt, bytesDropped: reopened.bytesDropped
        ).encoded)
      try writer.append(event, isEffectAhead: true)
      event = Event(
        seq: count + 1, step: 0, type: .humanReplied, runId: runId, t: t,
        data: ["text": "Go on."])
      try writer.append(event, isEffectAhead: false)
      count += 2
    }
    let closed = try writer.close()
    let whole = LogVerifier.verify(path: path, expectedDigest: closed.sealDigest)
    #expect(whole.status == .whole && whole.findings.isEmpty && whole.events == count, "\(whole)")
    return count
  }

  @Test(
    "loses no event whose number it had told, and the log goes on",
    .timeLimit(.minutes(240)))
  func kills() async throws {
    let folder = try TemporaryFolder()
    let sizes = TestRun.isLong ? [2, 20, 80, 250] : [30, 60]
    var durations: [Double] = []
    for steps in sizes {
      let agent = "agent-\(steps).yaml"
      try folder.write(agent, BusyAgent.file(steps: steps))
      var seconds: [Double] = []
      for number in 0..<3 {
        let remains = try await Self.record(
          agent, to: "whole-\(steps)-\(number).jsonl.gz", in: folder.path, killed: .never)
        #expect(!remains.wasKilled && remains.printed > 3 * steps)
        seconds.append(remains.seconds)
      }
      durations.append(seconds.sorted()[1])
    }
    var generator = Seeded(seed: 7)
    var (unborn, cut, ended, events) = (0, 0, 0, 0)
    let kills = TestRun.count(20, long: 500)
    // On a busy machine many a kill comes when all is over; then others are tried.
    for number in 0..<(5 * kills) where number < kills || cut <= kills / 4 {
      let size = Int.random(in: 0..<sizes.count, using: &generator)
      let log = "killed/\(number).jsonl.gz"
      let part = Double.random(in: 0...1, using: &generator)
      let remains = try await Self.record(
        "agent-\(sizes[size]).yaml", to: log, in: folder.path,
        killed: number % 10 == 9
          ? .afterStart(part * 0.05) : .afterFirstEvent(part * durations[size]))
      let held = try Self.check(remains, log: folder.path(log))
      events += held ?? 0
      if held == nil {
        unborn += 1
      } else if remains.wasKilled {
        cut += 1
      } else {
        ended += 1
      }
      try? FileManager.default.removeItem(atPath: folder.path(log))
    }
    #expect(cut > kills / 4, "\(unborn) before there was a log, \(ended) too late; \(durations)")
    if TestRun.isLong {
      print(
        "proof: \(unborn + cut + ended) kills: \(cut) while recording, \(unborn) before there was a log, "
          + "\(ended) after its end; \(events) events read, none lost")
    }
  }

  /// What must be so after a recording that ran out of room.
  private static func checkFull(
    _ folder: TemporaryFolder, _ outcome: Command.Outcome, says reason: String
  ) async throws {
    #expect(outcome.lines.last == "exit 2", "\(outcome)")
    #expect(
      outcome.errors.contains("one.jsonl.gz") && outcome.errors.contains(reason), "\(outcome)")
    #expect(!FileManager.default.fileExists(atPath: folder.path("one.jsonl.gz")))
    let printed =
      (folder.text("printed") ?? "").split(separator: "\n")
      .compactMap { $0.prefix(5).split(separator: " ").first.flatMap { Int($0) } }.max() ?? -1
    #expect(printed > 5)
    try await Binary.run(["verify", "one.jsonl.gz"], in: folder.path)
    let events = try await Binary.run(["show", "one.jsonl.gz", "--json"], in: folder.path)
      .jsonLines().compactMap { $0["seq"]?.intValue }
    #expect(events == Array(0..<events.count) && events.count > printed)
    let repaired = try await Binary.run(
      ["repair", "one.jsonl.gz", "--json"], in: folder.path
    ).json()
    #expect(repaired["events"]?.intValue == events.count && repaired["gaps"] == [])
  }

  @Test("a file that may not grow ends the run with that error, and exit code 2")
  func fileLimit() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", BusyAgent.file(steps: 60))
    let outcome = try await shell(
      """
      { ulimit -f 8; "$0" record agent.yaml x --out one.jsonl.gz; echo "exit $?" >&2; } \
        2>errors | cat >printed
      grep -v '^exit' errors >&2; grep '^exit' errors
      """, in: folder.path)
    try await Self.checkFull(folder, outcome, says: "File too large")
  }

  // Only who may mount can fill a disk without filling a real one.
  @Test(
    "a full disk ends the run with that error, and exit code 2",
    .enabled("nothing can be mounted here") {
      (try? await shell("unshare -m mount -t tmpfs none /mnt")) != nil
    })
  func fullDisk() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", BusyAgent.file(steps: 60))
    let outcome = try await shell(
      """
      mkdir disk
      unshare -m bash -c 'mount -t tmpfs -o size=12k none disk
        "$0" record agent.yaml x --out disk/one.jsonl.gz >printed
        echo "exit $?"; cp disk/one* .' "$0"
      """, in: folder.path)
    try await Self.checkFull(folder, outcome, says: "No space left on device")
  }
}
