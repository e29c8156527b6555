import AgentTrace
import Testing

@testable import TraceStorage

@Suite("What was said before is not said again")
struct DeduplicatorTests {
  static let long = String(repeating: "long ", count: 60)

  /// The data of each event as they stand in their lines.
  static func lines(_ events: [(EventType, JSONObject)]) -> [String] {
    var deduplicator = Deduplicator()
    return events.enumerated().map { seq, event in
      let line = deduplicator.encode(
        Event(seq: seq, step: 0, type: event.0, runId: "r", data: event.1))
      deduplicator.commit(line)
      let text = String(decoding: line.bytes, as: UTF8.self)
      return text.components(after: "\"data\":").dropLast().description
    }
  }

  @Test("a long string refers to the event that said it first, by escaped pointer")
  func same() {
    let lines = Self.lines([
      (.humanReplied, ["a/b~c": ["$same": [.string(Self.long)]], "text": "short"]),
      (.humanReplied, ["text": .string(Self.long)]),
      (.humanReplied, ["text": [.string(Self.long), "short"]]),
    ])
    #expect(lines[1] == #"{"text":{"$same":"0/a~1b~0c/$same/0"}}"#)
    #expect(lines[2] == #"{"text":[{"$same":"0/a~1b~0c/$same/0"},"short"]}"#)
  }

  @Test("255 bytes are said again, 256 are not, counted in UTF-8")
  func threshold() {
    for (text, isSame) in [
      (String(repeating: "x", count: 255), false), (String(repeating: "x", count: 256), true),
      (String(repeating: "é", count: 127) + "x", false), (String(repeating: "é", count: 128), true),
    ] {
      let lines = Self.lines([
        (.humanReplied, ["text": .string(text)]), (.humanReplied, ["text": .string(text)]),
      ])
      #expect((lines[1] == #"{"text":{"$same":"0/text"}}"#) == isSame)
    }
  }

  @Test("a repetition within one event stands literally; its first place is the target")
  func withinOneEvent() {
    let lines = Self.lines([
      (.humanReplied, ["b": .string(Self.long), "a": .string(Self.long)]),
      (.humanReplied, ["text": .string(Self.long)]),
    ])
    #expect(lines[0] == #"{"a":"\#(Self.long)","b":"\#(Self.long)"}"#)
    #expect(lines[1] == #"{"text":{"$same":"0/a"}}"#)
  }

  @Test("a text is said again where a reference to it would be longer, behind keys of any length")
  func longKeys() {
    let key = String(repeating: "k", count: 20_000)
    let quotes = String(repeating: "\"", count: 200)
    let texts = JSONValue.array((0..<50).map { .string("\($0) " + Self.long) })
    let cases: [(JSONObject, Bool)] = [
      (["a": texts], true), ([key: texts], false), ([quotes: .string(Self.long)], false),
    ]
    for (data, isSame) in cases {
      let lines = Self.lines([(.humanReplied, data), (.humanReplied, data)])
      #expect(lines[1].contains("$same") == isSame)
      #expect(lines[1].utf8.count <= lines[0].utf8.count)
    }
  }

  @Test("a stop says everything, and is no target")
  func stop() {
    let lines = Self.lines([
      (.stop, ["answer": .string(Self.long)]), (.humanReplied, ["text": .string(Self.long)]),
      (.stop, ["answer": .string(Self.long)]),
    ])
    for line in lines { #expect(line.contains(Self.long)) }
  }

  @Test("the arrays of a packet are lists of new items and runs of old ones")
  func lists() {
    let lines = Self.lines([
      (.contextBuilt, ["observations": ["a", "b", "a"], "toolsDisclosed": ["b", "c"]]),
      (.contextBuilt, ["observations": ["a", "b", "c", "c", "d"], "memoryRefs": []]),
      (.contextBuilt, ["prompt": ["messages": ["d", ["x": .string(Self.long)]], "other": ["a"]]]),
      (.contextBuilt, ["prompt": ["messages": ["a", ["x": .string(Self.long)]]]]),
      (.contextBuilt, ["observations": ["a", ["b"]], "evidenceRefs": "none"]),
      (.humanReplied, ["text": .string(Self.long), "observations": ["a"]]),
    ])
    #expect(
      lines == [
        #"{"observations":{"$list":["a","b","a"]},"toolsDisclosed":{"$list":["b","c"]}}"#,
        #"{"memoryRefs":{"$list":[]},"observations":{"$list":["a","b","c","c","d"]}}"#,
        #"{"prompt":{"messages":{"$list":["d",{"x":"\#(Self.long)"}]},"other":["a"]}}"#,
        #"{"prompt":{"messages":{"$list":["a",[1,1]]}}}"#,
        #"{"evidenceRefs":"none","observations":["a",["b"]]}"#,
        #"{"observations":["a"],"text":{"$same":"2/prompt/messages/1/x"}}"#,
      ])
  }

  @Test("a user's own keys gain a `$`, and are sorted as they are written")
  func reservedKeys() {
    let lines = Self.lines([
      (.humanReplied, ["$same": 1, "$": 2, "$$cut": 3, "$other": 4, "$bytes": 5])
    ])
    #expect(lines == [#"{"$":2,"$$$cut":3,"$$bytes":5,"$$same":1,"$other":4}"#])
  }

  @Test("a packet takes over what follows in one before, after items that went or came between")
  func runs() {
    let items = (0..<12).map { JSONValue.string("item \($0)") }
    func packet(_ items: [JSONValue]) -> (EventType, JSONObject) {
      (.contextBuilt, ["observations": .array(items)])
    }
    let lines = Self.lines([
      packet(items),
      // Cut at the beginning, as by a budget.
      packet([items[0]] + items[5...]),
      // A summary in the place of what was cut, and something new.
      packet(["summary"] + items[7...] + ["new"]),
      // One in the middle is another.
      packet(["summary"] + items[7...9] + ["other"] + [items[11], "new"]),
      // Back to the beginning.
      packet(Array(items[0...5])),
      // Too few in a row to be worth a run of their own in all packets to come.
      packet(Array(items[0...5]) + Array(items[8...9])),
      packet(Array(items[0...5]) + Array(items[8...9]) + ["end"]),
    ])
    #expect(
      lines.dropFirst() == [
        #"{"observations":{"$list":[[0,1],[5,7]]}}"#,
        #"{"observations":{"$list":["summary",[7,5],"new"]}}"#,
        #"{"observations":{"$list":[[12,1],[7,3],"other",[11,1],[13,1]]}}"#,
        #"{"observations":{"$list":[[0,6]]}}"#,
        #"{"observations":{"$list":[[0,6],"item 8","item 9"]}}"#,
        #"{"observations":{"$list":[[0,6],[15,2],"end"]}}"#,
      ])
  }

  @Test("what is referred to lies within the windows of the format")
  func windows() {
    // Past a window of lines, a text is said again.
    let filler = String(repeating: "x", count: 200)
    func wide(_ bytes: Int) -> JSONObject {
      ["a": .array(Array(repeating: .string(filler), count: bytes / 203))]
    }
    let texts = Self.lines([
      (.humanReplied, ["text": .string(Self.long)]), (.humanReplied, wide(3 << 20)),
      (.humanReplied, ["text": .string(Self.long)]), (.humanReplied, wide(2 << 20)),
      (.humanReplied, ["text": .string(Self.long)]), (.humanReplied, ["text": .string(Self.long)]),
    ])
    #expect(texts[2] == #"{"text":{"$same":"0/text"}}"#)
    #expect(texts[4] == #"{"text":"\#(Self.long)"}"#)
    #expect(texts[5] == #"{"text":{"$same":"4/text"}}"#)
    // Past 64 packets, an item is.
    let items: [JSONValue] = (0..<6).map { .string("item \($0)") }
    for between in [10, 63, 64, 100] {
      var events: [(EventType, JSONObject)] = [(.contextBuilt, ["observations": .array(items)])]
      for number in 0..<between {
        events.append((.contextBuilt, ["observations": [.string("other \(number)")]]))
      }
      events.append((.contextBuilt, ["observations": .array(items)]))
      #expect(Self.lines(events).last?.contains("[0,6]") == (between < 64), "\(between)")
    }
  }

  @Test(
    "a list that repeats itself, or changes what it said last or a step before, stays a few runs",
    arguments: [0, 1, 2, 3])
  func fragments(kind: Int) {
    var events: [(EventType, JSONObject)] = []
    for step in 0..<600 {
      let messages = (0...step).map { number -> JSONValue in
        switch kind {
        case 0: number % 3 == 0 ? "again" : number % 3 == 1 ? "ok" : .string("step \(number)")
        // As where only the last message carries a mark.
        case 1: ["text": .string("step \(number)"), "isLast": .bool(number == step)]
        // As where what lies further back is left out.
        case 2: .string(number < step - 20 ? "left out \(number)" : "step \(number)")
        default: .string(number % 7 == 3 && number < step / 2 ? "late" : "step \(number)")
        }
      }
      events.append((.contextBuilt, ["prompt": ["messages": .array(messages)]]))
    }
    let lines = Self.lines(events).map { $0.utf8.count }
    #expect((lines.suffix(100).max() ?? 0) < 4000)
    // About what is new, and that again as often as its size has digits.
    #expect(lines.reduce(0, +) < 600 * 60 * 12, "\(lines.reduce(0, +))")
  }

  @Test("a run of twice the steps makes a log of about twice the size")
  func growth() {
    func bytes(steps: Int) -> Int {
      var deduplicator = Deduplicator()
      var messages: [JSONValue] = []
      var total = 0
      for step in 0..<steps {
        let text = String(repeating: "result \(step) ", count: 40)
        for (seq, event) in [
          (
            EventType.toolResult,
            ["callId": .string("\(step)"), "data": .string(text)] as JSONObject
          ),
          (.contextBuilt, ["prompt": ["messages": .array(messages)]]),
        ].enumerated() {
          let line = deduplicator.encode(
            Event(seq: 2 * step + seq, step: step, type: event.0, runId: "r", data: event.1))
          deduplicator.commit(line)
          total += line.bytes.count
        }
        messages.append(["role": "tool", "content": .string(text)])
      }
      return total
    }
    #expect(Double(bytes(steps: 200)) / Double(bytes(steps: 100)) < 2.2)
  }
}

extension String {
  /// What stands behind the first occurrence of a marker.
  fileprivate func components(after marker: String) -> Substring {
    guard let range = firstRange(of: marker) else { return self[...] }
    return self[range.upperBound...]
  }
}
