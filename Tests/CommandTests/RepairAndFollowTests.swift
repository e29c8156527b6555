import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@Suite("repair and show --follow")
struct RepairAndFollowTests {
  @Test("a damaged log is repaired beside itself, and the new one is whole, shown and told as JSON")
  func repair() async throws {
    let folder = try TemporaryFolder()
    let damaged = Project.path("Fixtures/damaged/error-recovered.jsonl.gz")
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: damaged)))
    try folder.write("a.jsonl.gz", bytes)
    let outcome = try await Binary.run(["repair", "a.jsonl.gz"], in: folder.path)
    #expect(outcome.lines.last == "log    a-repaired.jsonl.gz")
    #expect(outcome.output.contains("missing event"))
    #expect(try folder.read("a.jsonl.gz") == bytes)
    try await Binary.run(["verify", "a.jsonl.gz"], in: folder.path, status: 1)
    try await Binary.run(["verify", "a-repaired.jsonl.gz"], in: folder.path)
    let shown = try await Binary.run(["show", "a-repaired.jsonl.gz"], in: folder.path)
    #expect(shown.output.contains("gap"))
    let report = try await Binary.run(
      ["repair", "a.jsonl.gz", "--json", "--out", "b.jsonl.gz"], in: folder.path
    ).json()
    #expect(report["repaired"] == "b.jsonl.gz" && report["isClosed"] == true)
    #expect(report["gaps"]?[0]?["first"]?.intValue == 0)
    #expect(report["missingEvents"]?.intValue ?? 0 > 0)
    #expect(try folder.read("b.jsonl.gz") == folder.read("a-repaired.jsonl.gz"))
    try await Binary.run(
      ["verify", "b.jsonl.gz", "--expect-digest", report["sealDigest"]?.stringValue ?? ""],
      in: folder.path)
    // Nothing is replaced.
    let taken = try await Binary.run(
      ["repair", "a.jsonl.gz", "--out", "b.jsonl.gz"], in: folder.path, status: 2)
    #expect(taken.errors.contains("b.jsonl.gz"))
    let again = try await Binary.run(["repair", "a.jsonl.gz"], in: folder.path)
    #expect(again.lines.last == "log    a-repaired-2.jsonl.gz")
  }

  @Test("a repaired log is judged by what is left: what may be missing is unverifiable, not passed")
  func judged() async throws {
    let folder = try TemporaryFolder()
    // A run that was cut off behind its first event, so that nobody knows what it called.
    let events = try await Binary.run(["show", Fixture.run("hidden-deletion"), "--json"])
      .jsonLines().filter { $0["seq"] != nil }
    #expect(events.count > 10)
    let whole = Array(
      try Data(contentsOf: URL(fileURLWithPath: Fixture.run("hidden-deletion"))))
    try folder.write("torn.jsonl.gz.open", whole[..<(whole.count / 3)])
    // The last block is lost, and with it the stop.
    var bytes = whole
    bytes[whole.count - 300] ^= 4
    try folder.write("damaged.jsonl.gz", bytes)
    for name in ["torn", "damaged"] {
      try await Binary.run(["repair", "\(name).jsonl.gz"], in: folder.path)
      try folder.write(
        "case.yaml",
        """
        caseId: c
        recording: \(name)-repaired.jsonl.gz
        expected: {toolsNotCalled: [no_such_tool], stopReason: success}
        """)
      let judged = try await Binary.run(
        ["run", "case.yaml", "--json"], in: folder.path, status: 3
      ).json()
      let expectations = judged["cases"]?[0]?["trials"]?[0]?["expectations"]
      #expect(expectations?[0]?["outcome"] == "unverifiable", "\(name): \(judged)")
      #expect(expectations?[1]?["outcome"] == "unverifiable", "\(name): \(judged)")
    }
  }

  @Test("what is shown while a run is recorded is what is shown of it afterwards")
  func follow() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: slow
      tools:
        - name: nap
          sideEffect: read
          command: [/bin/sh, -c, "sleep 0.1; echo 1"]
      model:
        script:
      \((0..<6).map { _ in "    - call: {tool: nap, input: {}}" }.joined(separator: "\n"))
          - answer: Well rested.
      """)
    let outcome = try await shell(
      """
      "$0" record agent.yaml "Sleep well" --out one.jsonl.gz >recorded & pid=$!
      until [ -e one.jsonl.gz.open ]; do sleep 0.005; done
      "$0" show one.jsonl.gz --follow >shown 2>notes & first=$!
      "$0" show one.jsonl.gz.open --follow --json >json 2>>notes & second=$!
      wait $pid; wait $first; echo "first $?"; wait $second; echo "second $?"
      """, in: folder.path, timeoutSeconds: 50)
    #expect(outcome.lines == ["first 0", "second 0"], "\(outcome)")
    #expect(folder.text("notes") == "")
    let shown = try await Binary.run(["show", "one.jsonl.gz"], in: folder.path)
    #expect(folder.text("shown") == shown.output)
    let json = try await Binary.run(["show", "one.jsonl.gz", "--json"], in: folder.path)
    #expect(folder.text("json") == json.output)
  }

  @Test("waiting costs next to nothing, and ends with a signal or when nobody reads any more")
  func waiting() async throws {
    let folder = try TemporaryFolder()
    try writeLog(
      [
        Event(
          seq: 0, step: 0, type: .humanReplied, runId: "r", data: ["text": "Is anybody there?"])
      ], to: folder.path("a.jsonl.gz"), closes: false)
    let outcome = try await shell(
      """
      "$0" show a.jsonl.gz --follow >shown 2>notes & pid=$!
      sleep 1.5
      read -r -a fields </proc/$pid/stat; echo "ticks $((fields[13] + fields[14]))"
      kill -TERM $pid; wait $pid; echo "exit $?"
      "$0" show a.jsonl.gz --follow 2>>notes | head -n 1 >head
      echo "reader ${PIPESTATUS[0]}"
      """, in: folder.path, timeoutSeconds: 30)
    #expect(outcome.lines.dropFirst() == ["exit 143", "reader 0"], "\(outcome)")
    let ticks = outcome.lines.first?.split(separator: " ").last.flatMap { Int($0) } ?? 999
    // Hundredths of a second, of which a busy loop would use about 150.
    #expect(ticks < 40, "\(ticks)")
    #expect(folder.text("shown")?.contains("Is anybody there?") == true)
    #expect(folder.text("notes")?.contains("no process writes this log") == true)
  }

  @Test("a file that goes, shrinks or is replaced while it is shown is told, and ends with 2")
  func gone() async throws {
    for (change, words) in [
      ("rm a.jsonl.gz.open", "no longer there"),
      // At once: between a name that goes and another that comes it may be looked at.
      ("cp a.jsonl.gz.open b; mv -f b a.jsonl.gz.open", "place of"),
      ("truncate -s 0 a.jsonl.gz.open", "was cut"),
    ] {
      let folder = try TemporaryFolder()
      try writeLog(
        [Event(seq: 0, step: 0, type: .humanReplied, runId: "r", data: ["text": "Anybody?"])],
        to: folder.path("a.jsonl.gz"), closes: false)
      let outcome = try await shell(
        """
        "$0" show a.jsonl.gz --follow >shown 2>notes & pid=$!
        until grep -q Anybody shown; do sleep 0.02; done
        \(change)
        wait $pid; echo "exit $?"
        """, in: folder.path, timeoutSeconds: 30)
      #expect(outcome.lines == ["exit 2"], "\(change): \(outcome)")
      #expect(folder.text("notes")?.contains(words) == true, "\(folder.text("notes") ?? "")")
      #expect(folder.text("notes")?.contains("1 event was read before") == true)
    }
  }

  @Test("a file without an event is not repaired, and nonsense that is sealed is left out")
  func nothing() async throws {
    let folder = try TemporaryFolder()
    try folder.write("empty.jsonl.gz", "")
    let empty = try await Binary.run(["repair", "empty.jsonl.gz"], in: folder.path, status: 2)
    #expect(empty.errors.contains("empty.jsonl.gz") && empty.output.isEmpty)
    #expect(folder.text("empty-repaired.jsonl.gz") == nil)
    try writeLog(
      [
        Event(seq: 0, step: 0, type: .humanReplied, runId: "r", data: ["text": "a"]),
        Event(seq: 1, step: 0, type: .decision, runId: "r", data: ["kind": ["tool"]]),
        Event(seq: 2, step: 0, type: .humanReplied, runId: "r", data: ["text": "b"]),
      ], to: folder.path("odd.jsonl.gz"))
    try await Binary.run(["verify", "odd.jsonl.gz"], in: folder.path, status: 1)
    let mended = try await Binary.run(["repair", "odd.jsonl.gz"], in: folder.path)
    #expect(mended.output.contains("missing event 1: "), "\(mended)")
    try await Binary.run(["verify", "odd-repaired.jsonl.gz"], in: folder.path)
  }

  @Test("a log that is already closed, and one that is none, do not keep anybody waiting")
  func closed() async throws {
    let log = Fixture.run("hundred-steps")
    let shown = try await Binary.run(["show", log])
    #expect(try await Binary.run(["show", log, "--follow"]).outputBytes == shown.outputBytes)
    try await Binary.run(["show", "nowhere.jsonl.gz", "--follow"], status: 2)
    let damaged = try await Binary.run(
      ["show", "Fixtures/damaged/error-recovered.jsonl.gz", "--follow"], status: 2)
    #expect(damaged.errors.contains("damaged"))
    try await Binary.run(["show", log, "--follow", "--skip-damaged"], status: 64)
  }
}
