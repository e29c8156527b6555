import Foundation
import TestSupport
import Testing

@Suite("run --watch")
struct WatchTests {
  /// What a script in which the program watches may use: `wait_for N` waits until it has judged N
  /// times, `end SIGNAL` ends it and prints its exit code.
  private static let script = """
    set -m
    wait_for() {
      for _ in $(seq 1500); do
        [ "$(grep -c ': watching' errors)" -ge "$1" ] && return
        kill -0 $pid 2>/dev/null || break
        sleep 0.02
      done
      echo "not judged $1 times"; cat out errors; kill -KILL $pid; exit 99
    }
    end() { kill -$1 $pid; wait $pid; echo "exit $?"; }
    : >errors

    """

  private static func watch(
    _ body: String, _ arguments: String, in folder: TemporaryFolder
  ) async throws -> Command.Outcome {
    try await shell(
      script + "\"$0\" run \(arguments) --watch >out 2>errors & pid=$!\nwait_for 1\n" + body,
      in: folder.path, timeoutSeconds: 90)
  }

  private static func makeProject() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let log = try Array(Data(contentsOf: URL(fileURLWithPath: Fixture.run("refund-drafted"))))
    try folder.write("runs/one.jsonl.gz", log)
    try folder.write("policies/p.yaml", "rules: [{id: all, verdict: allow}]\n")
    try folder.write("agents/a.yaml", agentFile(extra: "policy: ../policies/p.yaml"))
    try folder.write("common/sets.yaml", "sets: {ends: {stopReason: success}}\n")
    try folder.write(
      "cases/recorded.yaml",
      "caseId: one\nrecording: ../runs/one.jsonl.gz\ninclude: ../common/sets.yaml#ends\n")
    try folder.write(
      "cases/made.yaml",
      "caseId: two\ninput: x\nagent: ../agents/a.yaml\nexpected: {answer: Done.}\n")
    return folder
  }

  @Test("cases, what they share, agents, policies and logs: each change is judged, and only once")
  func changes() async throws {
    let folder = try Self.makeProject()
    try folder.write(
      "other.gz", try Array(Data(contentsOf: URL(fileURLWithPath: Fixture.run("tool-failure")))))
    let outcome = try await Self.watch(
      """
      sed -i 's/Done/Other/' agents/a.yaml; wait_for 2
      sed -i 's/success/blocked/' common/sets.yaml; wait_for 3
      sed -i 's/allow/deny/' policies/p.yaml; wait_for 4
      cp other.gz runs/one.jsonl.gz; wait_for 5
      echo '{caseId: three, recording: ../runs/one.jsonl.gz, expected: {maxSteps: 9}}' >cases/new.yaml; wait_for 6
      rm cases/new.yaml; wait_for 7
      touch unrelated agents/notes.txt; sleep 0.8
      end INT
      """, "cases", in: folder)
    #expect(outcome.output == "exit 130\n")
    let errors = try #require(folder.text("errors"))
    let changes = errors.split(separator: "\n").filter { $0.hasSuffix(" changed.") }
      .map { String($0.dropFirst("agent-eval: ".count).dropLast(" changed.".count)) }
    #expect(
      changes == [
        "agents/a.yaml", "common/sets.yaml", "policies/p.yaml", "runs/one.jsonl.gz",
        "cases/new.yaml", "cases/new.yaml",
      ])
    let totals = try #require(folder.text("out")).split(separator: "\n")
      .filter { $0.contains(" cases: ") }.map(String.init)
    #expect(totals.count == 7)
    #expect(totals.first == "2 cases: 2 passed")
    #expect(totals[1] == "2 cases: 1 passed, 1 failed")
    #expect(totals[2] == "2 cases: 0 passed, 2 failed")
    #expect(totals[5].hasPrefix("3 cases: "))
    // Nothing that was printed is wiped away.
    #expect(folder.text("out")?.contains("\u{1b}") == false)
  }

  @Test("a baseline that is accepted elsewhere is a change")
  func baselines() async throws {
    let folder = try TemporaryFolder()
    try await Binary.run(["init"], in: folder.path)
    let outcome = try await Self.watch(
      """
      sed -i 's/is on its way/comes/' agents/support.yaml; wait_for 2
      sed -i 's/on its way/comes/' EvalCases/refunds.yaml; wait_for 3
      "$0" accept EvalCases --all >accepted; wait_for 4
      end INT
      """, "EvalCases --against accepted", in: folder)
    #expect(outcome.output == "exit 130\n")
    let totals = try #require(folder.text("out")).split(separator: "\n")
      .filter { $0.contains(" cases: ") }.map(String.init)
    #expect(totals.count == 4)
    #expect(totals.first == "2 cases: 2 passed, against accepted: 0 regressed, 2 same")
    #expect(totals.last == totals.first && totals[1].contains("1 regressed"), "\(totals)")
  }

  @Test("a mistake in a file is told, and mended by the next change; reports are written each time")
  func mistakes() async throws {
    let folder = try Self.makeProject()
    let outcome = try await Self.watch(
      """
      sed -i 's/expected/expectd/' cases/made.yaml; wait_for 2
      cp out out-2
      sed -i 's/expectd/expected/' cases/made.yaml; wait_for 3
      sed -i 's/Done/Other/' cases/made.yaml; wait_for 4
      end TERM
      """, "cases --report junit:j.xml", in: folder)
    #expect(outcome.output == "exit 143\n")
    #expect(folder.text("errors")?.contains("did you mean “expected”?") == true)
    #expect(folder.text("out-2")?.contains("2 cases: 2 passed\n") == true)
    #expect(folder.text("j.xml")?.contains("failures=\"1\"") == true)
  }

  @Test("a run that is made by watching is not a change; one that somebody else makes is")
  func ownRuns() async throws {
    let folder = try Self.makeProject()
    let outcome = try await Self.watch(
      """
      sleep 1
      [ "$(grep -c ': watching' errors)" = 1 ] || cat errors
      cp runs/one.jsonl.gz made/two.jsonl.gz; wait_for 2
      end INT
      """, "cases --live --runs made --out made --filter two",
      in: try {
        try folder.write("made/.keep", "")
        return folder
      }())
    #expect(outcome.output == "exit 130\n")
  }

  @Test("many changes in a row are judged together")
  func debounce() async throws {
    let folder = try Self.makeProject()
    let outcome = try await Self.watch(
      """
      for i in {1..500}; do echo "# $i" >>cases/made.yaml; done
      wait_for 2; sleep 0.8
      end INT
      grep -c ': watching' errors
      """, "cases", in: folder)
    // Once more where the machine was busy in between.
    #expect(["exit 130\n2\n", "exit 130\n3\n"].contains(outcome.output), "\(outcome)")
  }

  @Test("watching goes with no list of logs")
  func lists() async throws {
    try await Binary.run(["run", "EvalCases", "--watch", "--files-from", "-"], status: 64)
  }
}
