import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("What the end of a log tells of its run")
struct ClosingScanTests {
  /// The plain way: every line is read whole.
  private static func plainly(_ text: [UInt8]) throws -> RunOutline? {
    try text.withUnsafeBufferPointer { bytes throws(LogError) in
      let tail = try LogTail(of: bytes, events: 0, path: "a.jsonl.gz", offset: 0)
      return tail.stop.flatMap { RunOutline(summary: tail.summary, stop: $0) }
    }
  }

  private static func scanned(_ text: [UInt8]) -> RunOutline? {
    text.withUnsafeBufferPointer { ClosingScan.outline(of: $0) }
  }

  private static let stop =
    #"{"seq":25,"step":6,"type":"stop","runId":"r-1","t":7,"data":{"answer":"Done: \"é\"","detail":"final_answer","evidenceRefs":["1.1.0"],"final":true,"reason":"success","source":{"pointers":["/a"]},"stateDigest":"ab","stateFormat":1,"totals":{"inputTokens":1,"modelCalls":2,"outputTokens":3,"steps":4,"toolCalls":5}}}"#
  private static let summary =
    #"{"mark":"summary","data":{"answer":"Done: \"é\"","calls":[{"callId":"1.1.0","caller":"agent","resultSeq":5,"seq":4,"status":"ok","tool":"look","verdict":null},{"callId":"1.1.1","caller":"user","ofUser":true,"resultSeq":null,"seq":4,"startedSeq":6,"status":"refused","tool":"send","verdict":"deny"},{"callId":"2.1.0","caller":"agent","resultSeq":null,"seq":9,"status":"unknown","tool":"send","verdict":"allow"}],"recorded":{"model":"partial","time":"none"},"stop":{"final":true},"totals":{"steps":4}}}"#
  private static let seal =
    #"{"mark":"seal","data":{"digest":"95a81fa2542ec24a2ecf5647cf80e6867da1c5b6e9753ca1a8a660267be98a03","first":25,"last":25,"prev":"e1"}}"#

  private static func text(
    stop: String = stop, summary: String = summary, seal: String = seal
  ) -> [UInt8] {
    Array("\(stop)\n\(summary)\n\(seal)\n".utf8)
  }

  @Test("is the same, scanned or read line by line")
  func whole() throws {
    let outline = try #require(Self.scanned(Self.text()))
    #expect(outline == (try Self.plainly(Self.text())))
    #expect(outline.runId == "r-1")
    #expect(outline.calls.map(\.tool) == ["look", "send", "send"])
    #expect(outline.calls.map(\.status) == [.ok, .refused, .unknown])
    #expect(outline.recorded == ["model": "partial", "time": "none"])
    #expect(outline.stop.detail == "final_answer")
  }

  @Test("is never made up from a text that is cut anywhere")
  func cut() throws {
    let text = Self.text()
    for length in 0..<(text.count - 1) {
      #expect(Self.scanned(Array(text.prefix(length))) == nil)
    }
  }

  @Test(
    "is left to the plain way where a block is not as this project writes it",
    arguments: [
      ("\"final\":true", "\"final\":null"), ("\"final\":true", "\"final\":1"),
      ("\"reason\":\"success\"", "\"reason\":\"of_tomorrow\""),
      ("\"detail\":\"final_answer\"", "\"detail\":\"f\\u0069nal\""),
      ("\"detail\":\"final_answer\"", "\"detail\":null"),
      ("\"answer\":\"Done: \\\"é\\\"\",\"detail\"", "\"answer\":7,\"detail\""),
      ("\"answer\":\"Done: \\\"é\\\"\",\"detail\"", "\"answer\":{\"$lost\":\"x\"},\"detail\""),
      ("[\"1.1.0\"]", "[1]"), ("\"stateFormat\":1", "\"stateFormat\":1.0"),
      ("\"steps\":4,\"toolCalls\":5}}}", "\"steps\":4}}}"),
      ("\"type\":\"stop\"", "\"type\":\"paused\""), ("{\"seq\":25,", "{ \"seq\":25,"),
      ("\"data\":{\"answer\":\"Done", "\"data\":{\"zz\":1,\"answer\":\"Done"),
      ("\"status\":\"ok\"", "\"status\":null"), ("\"status\":\"ok\"", "\"status\":\"of_tomorrow\""),
      ("\"verdict\":\"deny\"", "\"verdict\":\"of_tomorrow\""),
      ("\"resultSeq\":5", "\"resultSeq\":5e0"), ("\"resultSeq\":5", "\"resultSeq\":\"5\""),
      ("\"tool\":\"look\"", "\"tool\":\"lóok\""), ("\"tool\":\"look\",", ""),
      ("\"callId\":\"1.1.0\",\"caller\"", "\"callId\":\"1.1.0\",\"callId\":\"1.1.0\",\"caller\""),
      ("\"recorded\":{\"model\"", "\"mayHideCalls\":true,\"recorded\":{\"model\""),
      ("\"time\":\"none\"", "\"time\":{}"), ("\"calls\":[", "\"Calls\":["),
      ("\"digest\":\"95", "\"digest\":\"9"), ("\"digest\":\"95", "\"digest\":\"9A"),
      ("\"mark\":\"seal\"", "\"mark\":\"gap\""),
      ("\"prev\":\"e1\"}}", "\"prev\":\"e1\"},\"more\":1}"),
    ])
  func unusual(_ change: (from: String, to: String)) throws {
    let text = String(decoding: Self.text(), as: UTF8.self)
    #expect(text.contains(change.from))
    let range = try #require(text.range(of: change.from))
    let changed = Array(text.replacingCharacters(in: range, with: change.to).utf8)
    #expect(Self.scanned(changed) == nil)
  }

  @Test("is the same where bytes are exchanged, as far as the block can be read", arguments: 1...20)
  func exchanged(seed: Int) throws {
    var numbers = Seeded(seed: UInt64(seed))
    let letters = Array("{}[]\":,0123456789.eaé\\ntrue$".utf8)
    var compared = 0
    for _ in 0..<TestRun.count(300, long: 5000) {
      var text = Self.text()
      for _ in 0..<Int.random(in: 1...2, using: &numbers) {
        text[Int.random(in: text.indices, using: &numbers)] =
          letters.randomElement(using: &numbers) ?? 0x20
      }
      guard let scanned = Self.scanned(text), let plain = try? Self.plainly(text) else { continue }
      #expect(scanned == plain, "\(String(decoding: text, as: UTF8.self))")
      compared += 1
    }
    #expect(compared > 10)
  }

  @Test("is the same for random runs and all that were recorded")
  func logs() throws {
    var (count, told) = (0, 0)
    func compare(_ path: String) throws {
      guard let tail = try? LogTail(path: path) else { return }
      let plain = tail.stop.flatMap { RunOutline(summary: tail.summary, stop: $0) }
      #expect(try LogTail.outline(path: path) == plain)
      count += 1
      if plain != nil { told += 1 }
    }
    for path in Project.files(below: "Fixtures", ending: ".jsonl.gz") {
      try compare(Project.path(path))
    }
    let folder = try TestSupport.TemporaryFolder()
    for seed in 1...20 {
      let path = folder.path("\(seed).jsonl.gz")
      try writeLog(
        RandomRun.events(seed: UInt64(seed), count: 40, endsWithStop: seed % 4 > 0), to: path)
      try compare(path)
    }
    #expect(count > 30)
    #expect(told > 20)
  }
}
