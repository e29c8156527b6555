import LiveBoundary
import TestSupport
import Testing

@Suite("Event streams")
struct EventStreamTests {
  struct Sample: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: [UInt8]
    var events: [ServerSentEvent]

    init(_ name: String, _ text: String, _ events: [(name: String, data: String)]) {
      self.init(
        name, Array(text.utf8), events.map { .init(name: $0.name, data: Array($0.data.utf8)) })
    }

    init(_ name: String, _ bytes: [UInt8], _ events: [ServerSentEvent]) {
      self.name = name
      self.bytes = bytes
      self.events = events
    }

    var testDescription: String { name }
  }

  static let samples: [Sample] = [
    Sample("nothing", "", []),
    Sample("blank lines", "\n\n\r\r\r\n\r\n", []),
    Sample("an event that no blank line ends", "data: a\n\ndata: b\n", [("", "a")]),
    Sample("a last line without an end", "data: a\n\ndata: b", [("", "a")]),
    Sample("lines that end with LF", "event: e\ndata: a\n\n", [("e", "a")]),
    Sample("lines that end with CR", "event: e\rdata: a\r\rdata: b\r\r", [("e", "a"), ("", "b")]),
    Sample("lines that end with CRLF", "event: e\r\ndata: a\r\n\r\n", [("e", "a")]),
    Sample("all three", "data: a\rdata: b\r\ndata: c\n\r\n", [("", "a\nb\nc")]),
    Sample("a CR and then a blank line", "data: a\r\n\rdata: b\n\n", [("", "a"), ("", "b")]),
    Sample("one space is dropped", "data:a\ndata: b\ndata:  c\n\n", [("", "a\nb\n c")]),
    Sample("a field without a colon", "data\ndata\n\n", [("", "\n")]),
    Sample("empty data is data", "data:\n\n", [("", "")]),
    Sample(
      "an event without data is none", "event: e\nid: 1\n\ndata: a\n\n", [("", "a")].map { $0 }),
    Sample("comments say nothing", ": hello\n\n:\ndata: a\n: data: b\n\n", [("", "a")]),
    Sample("unknown fields say nothing", "daten: x\nDATA: y\n data: z\ndata: a\n\n", [("", "a")]),
    Sample("colons in data", "data: a:b: c\n\n", [("", "a:b: c")]),
    Sample("a byte order mark at the start", "\u{feff}data: a\n\n\u{feff}data: b\n\n", [("", "a")]),
    Sample("characters of two to four bytes", "data: é€😀\n\n", [("", "é€😀")]),
    Sample(
      "separators of Unicode end no line", "data: a\u{2028}b\u{85}c\n\n",
      [("", "a\u{2028}b\u{85}c")]),
    Sample(
      "bytes that are no UTF-8", Array("data: ".utf8) + [0xff, 0xc3, 0x0a, 0x0a],
      [.init(data: [0xff, 0xc3])]),
    Sample(
      "ids last until the next one", Array("id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n".utf8),
      [
        .init(data: Array("a".utf8), id: "7"), .init(data: Array("b".utf8), id: "7"),
        .init(data: Array("c".utf8)),
      ]),
    Sample(
      "an id with a zero byte is none", Array("id: 1\u{0}2\ndata: a\n\n".utf8),
      [.init(data: Array("a".utf8))]),
  ]

  @Test(
    "events are the same wherever the stream is cut in two, and byte by byte", arguments: samples)
  func events(_ sample: Sample) throws {
    // An id is set also by an event that is none.
    let known = sample.events.map { event in
      var event = event
      if sample.name == "an event without data is none" { event.id = "1" }
      return event
    }
    for cut in 0...sample.bytes.count {
      var reader = EventStreamReader()
      let events = try reader.take(sample.bytes[..<cut]) + reader.take(sample.bytes[cut...])
      #expect(events == known, "cut at \(cut)")
    }
    var reader = EventStreamReader()
    #expect(try sample.bytes.flatMap { try reader.take([$0]) } == known)
  }

  @Test(
    "at the end what has no end of its own counts as if it had one",
    arguments: [
      ("", nil), ("data: a\n\n", nil), ("data: a\n", "a"), ("data: a\r\n", "a"), ("data: a", "a"),
      ("data: a\ndata: b", "a\nb"), ("data", ""), (": a", nil), ("event: e", nil),
    ] as [(String, String?)])
  func ends(_ text: String, _ expected: String?) throws {
    var reader = EventStreamReader()
    _ = try reader.take(Array(text.utf8))
    let last = try reader.end()
    #expect(last?.text == expected)
    let behind = try reader.end()
    #expect(behind == nil)
  }

  @Test(
    "how long to wait before opening again is a number of digits",
    arguments: [
      ("10", 10), ("0", 0), ("", nil), ("1.5", nil), ("-1", nil), ("9999999999999999999", nil),
    ])
  func retry(_ text: String, _ expected: Int?) throws {
    var reader = EventStreamReader()
    _ = try reader.take(Array("retry: \(text)\n\n".utf8))
    #expect(reader.retryMilliseconds == expected)
  }

  @Test(
    "what is larger than a limit is refused, and what is as large is taken",
    arguments: ["a line", "an event", "the stream"])
  func limits(_ what: String) throws {
    let text: (Int) -> [UInt8] = { size in
      switch what {
      case "a line": Array("data:\(String(repeating: "x", count: size - 5))".utf8)
      case "an event": Array(String(repeating: "data\n", count: size + 1).utf8)
      default: Array(String(repeating: "\n", count: size).utf8)
      }
    }
    let limits = EventStreamReader.Limits(
      lineBytes: what == "a line" ? 100 : .max, eventBytes: what == "an event" ? 100 : .max,
      totalBytes: what == "the stream" ? 100 : .max)
    for size in [99, 100] {
      var reader = EventStreamReader(limits: limits)
      _ = try reader.take(text(size))
    }
    for pieces in [[text(101)], text(101).map { [$0] }] {
      var reader = EventStreamReader(limits: limits)
      do {
        for piece in pieces { _ = try reader.take(piece) }
        Issue.record("101 bytes were taken")
      } catch {
        #expect(error.what == what)
        #expect(error.limitBytes == 100)
      }
    }
  }
}
