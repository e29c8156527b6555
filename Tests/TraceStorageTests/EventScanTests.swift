import AgentTrace
import TestSupport
import Testing

@testable import TraceStorage

@Suite("Some of an event's data")
struct EventScanTests {
  private static let keys: [StaticString] = ["callId", "effect", "status", "data", "text", "what"]

  /// The plain way: the whole line is read, then what is not wanted is dropped.
  private static func plainly(_ line: [UInt8]) throws -> Event? {
    let raw = try line.withUnsafeBufferPointer { bytes throws(LineFault) in
      try RawLine(parsing: bytes)
    }
    guard case .event(var event) = raw else { return nil }
    event.time = nil
    let names = keys.map { "\($0)" }
    for key in event.data.keys where !names.contains(key) { event.data[key] = nil }
    return event
  }

  private static func scanned(_ line: [UInt8], _ wanted: EventScan.Wanted) -> Event? {
    line.withUnsafeBufferPointer { EventScan.event(of: $0, withOnly: wanted) }
  }

  @Test("are the same, whether the others are read or stepped over", arguments: 1...20)
  func samePlainly(seed: Int) throws {
    let folder = try TestSupport.TemporaryFolder()
    let path = folder.path("log.jsonl.gz")
    try writeLog(RandomRun.events(seed: UInt64(seed), count: 120), to: path)
    let cursor = try LogReader(path: path).cursor
    var scanned = 0
    while let head = try cursor.advance() {
      guard case .event = head else { continue }
      let line = Array(cursor.bytes)
      guard let event = Self.scanned(line, .init(keys: Self.keys)) else { continue }
      scanned += 1
      #expect(event == (try Self.plainly(line)))
    }
    #expect(scanned > 10)
  }

  @Test("of a line cut anywhere are never made up")
  func cutLines() throws {
    let line = Array(
      #"{"seq":1,"step":1,"type":"tool_result","runId":"r","t":2,"data":{"callId":"1.1.0","data":{"a":["\"}",{"b":1}]},"status":"ok"}}"#
        .utf8)
    #expect(Self.scanned(line, .init(keys: Self.keys))?.data["status"] == "ok")
    for length in 0..<line.count {
      #expect(Self.scanned(Array(line.prefix(length)), .init(keys: Self.keys)) == nil)
    }
  }

  @Test(
    "are left to the plain way where a line is not as this project writes it",
    arguments: [
      #"{"seq":1,"step":1,"type":"stop","runId":"r","t":2,"data":{"b":1,"a":2}}"#,
      #"{"seq":1,"step":1,"type":"stop","runId":"r","t":2,"data":{"a":1,"a":2}}"#,
      #"{"seq":1,"step":1,"type":"stop","runId":"r","t":2,"data":{"a":1},"more":{}}"#,
      #"{"seq":1,"step":1,"type":"stop","runId":"r","t":2,"data":{"status":{"$same":"0/a"}}}"#,
      #"{"seq":1,"step":1,"type":"stop","runId":"r","t":2,"data":{"$$same":1}}"#,
      #"{"seq":1,"step":1,"type":"stop","runId":"r","t":2,"data":{"st\u0061tus":"ok"}}"#,
      #"{"seq":01,"step":1,"type":"stop","runId":"r","t":2,"data":{}}"#,
      #"{"step":1,"seq":1,"type":"stop","runId":"r","t":2,"data":{}}"#,
      #"{"seq":1,"step":1,"type":"stop","runId":"r","t":2,"data":{"status":tru}}"#,
    ])
  func unusualLines(_ line: String) {
    #expect(Self.scanned(Array(line.utf8), .init(keys: Self.keys)) == nil)
  }

  @Test("on a call name its tool, and of a start the attempt")
  func callNotes() {
    func note(_ line: some Sequence<UInt8>) -> CallNote? {
      Array(line).withUnsafeBufferPointer { EventScan.callNote(of: $0) }
    }
    let line = Array(
      #"{"seq":1,"step":1,"type":"tool_started","runId":"r","t":2,"data":{"attempt":2,"callId":"1.1.0","idempotencyKey":"r/1.1.0","tool":"pay"}}"#
        .utf8)
    #expect(note(line)?.tool == "pay" && note(line)?.attempt == 2)
    for length in 0..<line.count { #expect(note(line.prefix(length)) == nil) }
  }

  @Test("may be the names in a list of objects")
  func lists() {
    let line = Array(
      #"{"seq":0,"step":0,"type":"run_started","runId":"r","t":0,"data":{"recorded":{"time":"none"},"tools":[{"inputSchema":{"name":1},"name":"a"},{"name":"b"},{}]}}"#
        .utf8)
    let event = Self.scanned(
      line, .init(keys: ["recorded"], list: "tools", elementKeys: ["name"]))
    #expect(
      event?.data == ["recorded": ["time": "none"], "tools": [["name": "a"], ["name": "b"], [:]]])
  }
}
