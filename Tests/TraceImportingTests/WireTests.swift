import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceImporting

/// Bodies of requests and archives: whole they say what their JSON says, damaged they are refused.
struct WireTests {
  /// A writer of protocol buffers, for tests alone.
  private enum Wire {
    static func varint(_ value: UInt64) -> [UInt8] {
      var (value, bytes) = (value, [UInt8]())
      repeat {
        bytes.append(UInt8(value & 0x7f) | (value > 0x7f ? 0x80 : 0))
        value >>= 7
      } while value > 0
      return bytes
    }

    static func bytes(_ field: UInt64, _ bytes: [UInt8]) -> [UInt8] {
      varint(field << 3 | 2) + varint(UInt64(bytes.count)) + bytes
    }

    static func fixed(_ field: UInt64, _ value: UInt64) -> [UInt8] {
      varint(field << 3 | 1) + (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    static func value(_ value: JSONValue) -> [UInt8] {
      switch value {
      case .string(let text): bytes(1, Array(text.utf8))
      case .number(let number):
        varint(3 << 3) + varint(UInt64(bitPattern: Int64(number.intValue ?? 0)))
      case .array(let list): bytes(5, list.flatMap { bytes(1, self.value($0)) })
      case .object(let object): bytes(6, object.flatMap { bytes(1, pair($0.key, $0.value)) })
      default: []
      }
    }

    static func pair(_ key: String, _ value: JSONValue) -> [UInt8] {
      bytes(1, Array(key.utf8)) + bytes(2, self.value(value))
    }

    static func id(_ text: String, _ count: Int) -> [UInt8] {
      var digits = Array(text.utf8)
      digits = Array(repeating: UInt8(ascii: "0"), count: count * 2 - digits.count) + digits
      return stride(from: 0, to: digits.count, by: 2).map { index in
        UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) ?? 0
      }
    }

    static func request(_ source: SpanSource) -> [UInt8] {
      bytes(
        1,
        bytes(
          2,
          bytes(1, bytes(1, Array("test".utf8)))
            + source.spans.flatMap { span -> [UInt8] in
              let time = { (ms: Int) in UInt64(1_700_000_000_000 + ms) * 1_000_000 }
              var body = bytes(1, id(span.trace, 16)) + bytes(2, id(span.id, 8))
              if let parent = span.parent { body += bytes(4, id(parent, 8)) }
              body += bytes(5, Array(span.name.utf8)) + fixed(7, time(span.start))
              body += fixed(8, time(span.end))
              for member in span.attributes { body += bytes(9, pair(member.key, member.value)) }
              if let failure = span.failure {
                body += bytes(15, bytes(2, Array(failure.utf8)) + varint(3 << 3) + varint(2))
              }
              // A field of a later version.
              body += bytes(900, [1, 2, 3])
              return bytes(2, body)
            }))
    }
  }

  private func imported(_ files: [(String, [UInt8])]) throws -> (TemporaryFolder, [ImportReport]) {
    let folder = try TemporaryFolder()
    try folder.write("in/readme.md", "x")
    for (name, bytes) in files {
      try Data(bytes).write(to: URL(fileURLWithPath: "\(folder.path)/in/\(name)"))
    }
    var reports: [ImportReport] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(paths: ["\(folder.path)/in"]) {
      reports.append($0)
    }
    return (folder, reports)
  }

  private static func told(_ events: [Event]) -> [JSONValue] {
    events.map { event in
      var data = event.data
      (data["source"], data["runId"]) = (nil, nil)
      return ["type": .string("\(event.type)"), "data": .object(data)]
    }
  }

  @Test(
    "a folder of bodies in protocol buffers says what the same in JSON says, with headers or without"
  )
  func protobuf() throws {
    let source = SpanSource.run(toolFailure: "no")
    let body = Wire.request(source)
    let headers = Array(
      #"{"path":"/v1/traces","headers":{"Content-Type":"application/x-protobuf"}}"#.utf8)
    for files in [
      [("001.v1-traces.pb", body), ("001.v1-traces.headers.json", headers)],
      [("001.v1-traces.pb", body)], [("b.pb", body)],
    ] {
      let (folder, reports) = try imported(files)
      #expect(reports.count == 1 && reports[0].format == .otlp, "\(reports.map(\.json))")
      let log = folder.files(below: "out").first ?? ""
      #expect(log == (files.count > 0 ? "requests.jsonl.gz" : ""))
      let events = try ImportedFile.events(of: "\(folder.path)/out/\(log)")
      #expect(Self.told(events) == Self.told(try source.imported().events))
    }
  }

  @Test(
    "a request that is named as nothing is known for what it is, and so are several behind their lengths",
    arguments: ["spans.bin", "spans", "export.data", "spans.json", "spans.pb"])
  func named(name: String) throws {
    let source = SpanSource.run(toolFailure: "no")
    let body = Wire.request(source)
    let framed = Self.framed([body, body])
    func reports(_ bytes: [UInt8]) throws -> (TemporaryFolder, [ImportReport]) {
      let folder = try TemporaryFolder()
      let path = "\(folder.path)/\(name)"
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      var reports: [ImportReport] = []
      try Importer(format: nil, output: "\(folder.path)/out").run(paths: [path]) {
        reports.append($0)
      }
      return (folder, reports)
    }
    // What is told twice is one.
    for bytes in [body, framed] {
      let (folder, told) = try reports(bytes)
      #expect(told.map(\.format) == [.otlp], "\(told.map(\.json))")
      let events = try ImportedFile.events(
        of: "\(folder.path)/out/\(try #require(folder.files(below: "out").first))")
      #expect(Self.told(events) == Self.told(try source.imported().events))
    }
    // Cut short, nothing of it is taken for the whole.
    for cut in [1, 3, framed.count / 3] {
      let (_, refused) = try reports(Array(framed.dropLast(cut)))
      #expect(refused.map { $0.json["error"] != nil } == [true], "\(refused.map(\.json))")
    }
  }

  private static func framed(_ requests: [[UInt8]]) -> [UInt8] {
    requests.flatMap { body in
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: body.count >> $0) } + body
    }
  }

  @Test(
    "a body cut at any byte, or with any byte changed, is refused or read, and never more than it holds"
  )
  func damage() throws {
    let body = Wire.request(SpanSource.run())
    var random = Seeded(seed: 1)
    for index in stride(from: 0, to: body.count, by: TestRun.count(37, long: 3)) {
      var changed = body
      changed[index] = UInt8.random(in: 0...255, using: &random)
      // One call, which stands in it twice: as the model asked for it and as it ran. Under two ids or names it is two.
      for (bytes, calls) in [(Array(body[..<index]), 1), (changed, 2)] {
        let (_, reports) = try imported([("001.v1-traces.pb", bytes)])
        for report in reports {
          if case .imported(_, let counts) = report.outcome { #expect(counts.toolCalls <= calls) }
        }
      }
    }
  }

  @Test("values nested beyond reason are refused")
  func deep() throws {
    var value = Wire.value("x")
    for _ in 0..<2_000 { value = Wire.bytes(5, Wire.bytes(1, value)) }
    let span =
      Wire.bytes(1, Wire.id("1", 16)) + Wire.bytes(2, Wire.id("1", 8)) + Wire.bytes(5, [0x61])
      + Wire.bytes(9, Wire.bytes(1, [0x6b]) + Wire.bytes(2, value))
    let (_, reports) = try imported([
      ("001.v1-traces.pb", Wire.bytes(1, Wire.bytes(2, Wire.bytes(2, span))))
    ])
    #expect(reports.map { $0.json["error"] != nil } == [true])
  }

  // MARK: Archives

  private func number(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  /// A zip of stored members, or of members under another method's number.
  private func zip(_ members: [(String, String)], method: Int = 0) -> [UInt8] {
    var (bytes, directory) = ([UInt8](), [UInt8]())
    for (name, text) in members {
      let sizes = number(text.utf8.count, 4) + number(text.utf8.count, 4)
      let common = number(20, 2) + number(0, 2) + number(method, 2) + number(0, 8) + sizes
      directory += number(0x0201_4b50, 4) + number(20, 2) + common + number(name.utf8.count, 2)
      directory += number(0, 12) + number(bytes.count, 4) + Array(name.utf8)
      bytes += number(0x0403_4b50, 4) + common + number(name.utf8.count, 2) + number(0, 2)
      bytes += Array(name.utf8) + Array(text.utf8)
    }
    let end =
      number(0x0605_4b50, 4) + number(0, 4) + number(members.count, 2) + number(members.count, 2)
      + number(directory.count, 4) + number(bytes.count, 4) + number(0, 2)
    return bytes + directory + end
  }

  private static let members = [
    ("header.json", #"{"version":2,"eval":{"task":"t","model":"m"}}"#),
    (
      "samples/1_epoch_1.json",
      #"{"id":1,"epoch":1,"scores":{"x":{"value":NaN}},"messages":[{"role":"user","content":"NaN is a word"},{"role":"assistant","content":"a"}],"output":{"choices":[{"stop_reason":"stop"}]}}"#
    ),
  ]

  @Test("an archive of Inspect is read without its numbers that are none")
  func archive() throws {
    let (folder, reports) = try imported([("log.eval", zip(Self.members))])
    #expect(reports.map { $0.json["error"] } == [nil], "\(reports.map(\.json))")
    let events = try ImportedFile.events(of: "\(folder.path)/out/log/0.jsonl.gz")
    #expect(events.first?.data["input"] == "NaN is a word")
    #expect(events.last?.data["reason"] == "success")
  }

  @Test(
    "an archive that is damaged, lies of its sizes or is packed otherwise is refused, and says why")
  func damagedArchives() throws {
    let whole = zip(Self.members)
    for index in stride(from: 0, to: whole.count, by: TestRun.count(11, long: 1)) {
      _ = try imported([("log.eval", Array(whole[..<index]))])
      for byte in [UInt8(0), 0xff] {
        var changed = whole
        changed[index] = byte
        _ = try imported([("log.eval", changed)])
      }
    }
    for method in [93, 8, 99] {
      let (_, reports) = try imported([("log.eval", zip(Self.members, method: method))])
      #expect(reports.allSatisfy { $0.json["error"] != nil }, "\(method)")
    }
  }

  @Test("the parts of a client's body are put together by their names")
  func multipart() throws {
    func part(_ name: String, _ text: String) -> String {
      "--xyz\r\nContent-Disposition: form-data; name=\"\(name)\"\r\nContent-Type: application/json\r\n\r\n\(text)\r\n"
    }
    let body =
      part(
        "post.1",
        #"{"id":"1","trace_id":"1","run_type":"llm","name":"m","start_time":"2026-01-01T00:00:00Z"}"#
      )
      + part("post.1.outputs", #"{"generations":[[{"text":"done"}]]}"#) + "--xyz--\r\n"
    let headers =
      #"{"path":"/runs/multipart","headers":{"content-type":"multipart/form-data; boundary=xyz"}}"#
    let (folder, reports) = try imported([
      ("001.bin", Array(body.utf8)), ("001.headers.json", Array(headers.utf8)),
    ])
    #expect(reports.map(\.format) == [.langSmith], "\(reports.map(\.json))")
    let events = try ImportedFile.events(of: "\(folder.path)/out/requests.jsonl.gz")
    #expect(events.contains { $0.data["text"] == "done" })
  }
}
