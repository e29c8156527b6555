import AgentTrace
import Testing

@testable import TraceStorage

@Suite("What was said before is not said again")
struct SaidOnceTests {
  static let long = String(repeating: "long ", count: 60)

  /// The data of each event as they stand in their lines.
  static func lines(_ events: [(EventType, JSONObject)]) -> [String] {
    var saidOnce = SaidOnce()
    return events.enumerated().map { seq, event in
      let line = saidOnce.encode(
        Event(seq: seq, step: 0, type: event.0, runId: "r", data: event.1))
      saidOnce.commit(line)
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
        #"{"observations":{"$list":["a","b",[0,1]]},"toolsDisclosed":{"$list":[[1,1],"c"]}}"#,
        #"{"memoryRefs":{"$list":[]},"observations":{"$list":[[0,3],[2,1],"d"]}}"#,
        #"{"prompt":{"messages":{"$list":[[3,1],{"x":"\#(Self.long)"}]},"other":["a"]}}"#,
        #"{"prompt":{"messages":{"$list":[[0,1],[4,1]]}}}"#,
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

  @Test("a run of twice the steps makes a log of about twice the size")
  func growth() {
    func bytes(steps: Int) -> Int {
      var saidOnce = SaidOnce()
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
          let line = saidOnce.encode(
            Event(seq: 2 * step + seq, step: step, type: event.0, runId: "r", data: event.1))
          saidOnce.commit(line)
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
