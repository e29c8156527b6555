import AgentTrace
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@testable import EvalRunning

@Suite("A log read for judging")
struct RecordedRunTests {
  @Test("a damaged log, one that is none and one that is missing are errors that name the file")
  func unreadable() throws {
    let folder = try TemporaryFolder()
    let whole = try Fixture.bytes("refund-drafted")
    var flipped = whole
    flipped[whole.count / 2] ^= 4
    for (name, bytes) in [
      ("empty", []), ("text", Array("hello".utf8)), ("cut", Array(whole.dropLast(100))),
      ("no-trailer", Array(whole.dropLast(46))), ("flipped", flipped),
      ("behind", whole + Array("x".utf8)),
    ] {
      let path = try folder.write("\(name).jsonl.gz", bytes)
      let error = #expect(throws: LogError.self, "\(name)") { try RecordedRun(path: path) }
      #expect(error?.path == path)
    }
    #expect(throws: LogError.self) { try RecordedRun(path: Fixture.damaged) }
    let missing = #expect(throws: LogError.self) {
      try RecordedRun(path: folder.path("nowhere.jsonl.gz"))
    }
    #expect(missing?.code == .notFound)
  }

  @Test("what is passed over unread changes nothing that is judged", arguments: Fixture.runs)
  func sameAsEverything(log: String) throws {
    let path = Project.path(log)
    let run = try RecordedRun(path: path)
    let whole = Trajectory(of: try Fixture.events(path))
    #expect(run.path == path)
    #expect(run.trajectory.runId == whole.runId)
    #expect(run.trajectory.calls == whole.calls)
    #expect(run.trajectory.steps == whole.steps)
    #expect(run.trajectory.answer == whole.answer)
    #expect(run.trajectory.stop == whole.stop)
    #expect(run.trajectory.toolNames == whole.toolNames)
    #expect(run.trajectory.lastSeq == whole.lastSeq)
    #expect(run.trajectory.gaps.isEmpty)
  }

  @Test("what contradicts itself is judged the same in a hurry and plainly")
  func contradictions() throws {
    let folder = try TemporaryFolder()
    let events = try Fixture.events(Fixture.run("refund-drafted"))
    let last = events.count - 1
    let result = try #require(events.firstIndex { $0.type == .toolResult })
    let start = try #require(events.firstIndex { $0.type == .toolStarted })
    var changed: [[Event]] = []
    for (place, key, value) in [
      (result, "tool", "wipe"), (start, "tool", "wipe"), (result, "status", "done"),
      (last, "answer", "another"),
    ] as [(Int, String, JSONValue)] {
      var copy = events
      copy[place].data[key] = value
      changed.append(copy)
    }
    for place in [start, result] {
      var copy = events
      copy.insert(events[place], at: result + 1)
      for index in copy.indices { copy[index].seq = index }
      changed.append(copy)
    }
    for (number, events) in changed.enumerated() {
      let path = folder.path("\(number).jsonl.gz")
      let writer = try LogWriter(creating: path)
      for event in events { try writer.append(event, isEffectAhead: false) }
      _ = try writer.close()
      for expected in [
        ["toolsNotCalled": ["wipe"], "maxToolCalls": 99], ["answer": ["$contains": "a"]],
        ["stopReason": "success"], ["toolsCalled": [["tool": "*", "status": "ok"]]],
      ] as [JSONObject] {
        let expectations = try expecting(expected)
        let run = try RecordedRun(path: path, for: expectations)
        let plain = Trajectory(of: events)
        #expect(run.trajectory.recorded == plain.recorded)
        #expect(
          Judge.judge(run.trajectory, against: expectations).outcomes.map(\.outcome)
            == Judge.judge(plain, against: expectations).outcomes.map(\.outcome))
        if let summed = RecordedRun(endOf: path, for: expectations) {
          #expect(
            Judge.judge(summed.trajectory, against: expectations).outcomes.map(\.outcome)
              == Judge.judge(plain, against: expectations).outcomes.map(\.outcome))
        }
      }
    }
  }

  @Test("a log cut anywhere has a gap behind its last event, unless its run was over")
  func cut() throws {
    let folder = try TemporaryFolder()
    let whole = try Fixture.bytes("refund-drafted")
    let final = try Fixture.events(Fixture.run("refund-drafted")).count - 1
    for cut in stride(from: 0, to: whole.count, by: TestRun.isLong ? 1 : 13) {
      let path = try folder.write("cut.jsonl.gz.open", whole.prefix(cut))
      let run = try RecordedRun(path: path)
      let isOver = run.trajectory.lastSeq == final
      #expect(
        run.trajectory.gaps
          == (isOver ? [] : [Trajectory.Gap(first: run.trajectory.lastSeq + 1, last: nil)]))
      #expect((run.trajectory.stop != nil) == isOver, "cut at \(cut)")
      let judgement = Judge.judge(
        run.trajectory, against: try expecting(["toolsNotCalled": ["delete_*"]]))
      #expect(judgement.outcome == (isOver ? .pass : .inconclusive), "cut at \(cut)")
    }
  }

  @Test("a declared gap is no damage; what may stand in it is unverifiable, and the rest is judged")
  func gap() throws {
    let folder = try TemporaryFolder()
    let events = try Fixture.events(Fixture.run("refund-drafted"))
    let path = folder.path("gap.jsonl.gz")
    // Every row of events that may be missing, but the first and the last.
    for first in 1..<(events.count - 1) {
      for last in [first, min(first + 4, events.count - 2)] {
        try writeLog(of: events, without: first...last, to: path)
        let run = try RecordedRun(path: path)
        #expect(run.trajectory.lastSeq == events.count - 1)
        #expect(run.trajectory.gaps == [Trajectory.Gap(first: first, last: last)])
        func outcome(_ expected: JSONObject) throws -> Outcome? {
          Judge.judge(run.trajectory, against: try expecting(expected)).outcomes.first?.outcome
        }
        #expect(try outcome(["stopReason": "success"]) == .pass)
        #expect(try outcome(["toolsNotCalled": ["issue_refund"]]) == .unverifiable)
        // Never a failure for what may well have happened.
        #expect(try outcome(["toolsCalled": ["draft_refund_request"]]) != .fail)
        #expect(try outcome(["toolsCalled": ["issue_refund"]]) == .unverifiable)
      }
    }
  }

  @Test("a run that only paused, in a log left behind, may have gone on")
  func paused() throws {
    let folder = try TemporaryFolder()
    let events = try Fixture.events(Fixture.run("refund-needs-approval"))
    let path = folder.path("paused.jsonl.gz")
    let writer = try LogWriter(creating: path)
    for event in events { try writer.append(event, isEffectAhead: false) }
    let run = try RecordedRun(path: path)
    #expect(run.path == path + ".open")
    #expect(run.trajectory.stop?.isFinal == false)
    #expect(run.trajectory.gaps.count == 1)
    _ = try writer.close()
    #expect(try RecordedRun(path: path).trajectory.gaps.isEmpty)
  }
}

@Suite("Runs by their cases")
struct RunCatalogueTests {
  @Test("a log that names its case belongs to that case alone, wherever it lies")
  func named() throws {
    let folder = try TemporaryFolder()
    for caseId in ["a", "../../b", "ä", "a\u{308}", "x y", "", "caf\u{e9}", "cafe\u{301}"] {
      try writeLog(caseId: caseId, to: folder.path("runs/\(Array(caseId.utf8)).jsonl.gz"))
    }
    let catalogue = try RunCatalogue(folder: folder.path("runs"))
    for caseId in ["a", "../../b", "ä", "a\u{308}", "x y", "", "caf\u{e9}", "cafe\u{301}"] {
      #expect(
        try catalogue.logs(of: caseId) == [folder.path("runs/\(Array(caseId.utf8)).jsonl.gz")],
        "\(caseId)")
    }
    #expect(try catalogue.logs(of: "runs") == [])
    #expect(try catalogue.logs(of: "[97]") == [])
  }

  @Test("a log that names none belongs to the case of its file's or its folder's name, once")
  func unnamed() throws {
    let folder = try TemporaryFolder()
    let places = ["one", "two/x", "two/y", "three/three", "deep/er/four/z", "two"]
    for place in places { try writeLog(caseId: nil, to: folder.path("runs/\(place).jsonl.gz")) }
    let catalogue = try RunCatalogue(folder: folder.path("runs"))
    func logs(_ caseId: String) throws -> [String] {
      try catalogue.logs(of: caseId).map {
        String($0.dropFirst(folder.path("runs/").count).dropLast(".jsonl.gz".count))
      }
    }
    #expect(try logs("one") == ["one"])
    #expect(try logs("two") == ["two", "two/x", "two/y"])
    #expect(try logs("three") == ["three/three"])
    #expect(try logs("four") == ["deep/er/four/z"] && logs("z") == ["deep/er/four/z"])
    #expect(try logs("deep") == [] && logs("er") == [] && logs("nothing") == [])
  }

  @Test("a case whose id is no file name finds its runs below the name they were recorded under")
  func folderName() throws {
    let folder = try TemporaryFolder()
    for caseId in ["letters/and more", "..", "-x"] {
      let path = RunFiles(output: nil).path(of: caseId, runId: "r")
      try writeLog(caseId: nil, to: folder.path(path))
      let catalogue = try RunCatalogue(folder: folder.path(".agent-eval/runs"))
      #expect(try catalogue.logs(of: caseId) == [folder.path(path)])
    }
  }

  @Test(
    "unfinished logs are found by their names, unreadable ones are no case's; hidden files and links are not"
  )
  func unreadable() throws {
    let folder = try TemporaryFolder()
    try folder.write("runs/torn.jsonl.gz.open", [])
    try folder.write("runs/.hidden.jsonl.gz", "no log")
    try folder.write("runs/note.txt", "no log")
    try folder.link("runs/loop", to: folder.path("runs"))
    let catalogue = try RunCatalogue(folder: folder.path("runs"))
    #expect(try catalogue.logs(of: "torn") == [folder.path("runs/torn.jsonl.gz.open")])
    #expect(try catalogue.logs(of: ".hidden") == [] && catalogue.logs(of: "note") == [])
    #expect(throws: (any Error).self) { try RunCatalogue(folder: folder.path("nowhere")) }
    // It may be a run of any case.
    try folder.write("runs/broken.jsonl.gz", "no log")
    let broken = try RunCatalogue(folder: folder.path("runs"))
    for caseId in ["torn", "broken", "note"] {
      #expect(throws: CaseError.self) { try broken.logs(of: caseId) }
    }
  }
}
