@_spi(Scanning) import AgentTrace
import TestSupport
import Testing

@testable import TraceStorage

@Suite("Folding a log from its text")
struct FoldingTests {
  /// The state after each event, the plain way.
  private static func states(_ path: String, _ options: LogReader.Options) throws -> [AgentState] {
    var reader = try LogReader(path: path, options: options)
    var state = AgentState()
    var states: [AgentState] = []
    while let event = try reader.next() {
      state.apply(event)
      states.append(state)
    }
    return states
  }

  @Test(
    "It gives the state that applying each event gives, however little is kept in memory",
    arguments: 0..<(isLongRun ? 400 : 60) as Range<UInt64>)
  func sameStates(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("run.jsonl.gz")
    let events = RandomRun.events(seed: seed, count: 60)
    let writer = try LogWriter(
      creating: path,
      options: .init(blockBytes: [2_000, 30_000][Int(seed % 2)], durability: .none))
    for event in events { try writer.append(event, isEffectAhead: false) }
    _ = try writer.close()
    let options = LogReader.Options(cacheBytes: [0, 4_000, 8_000_000][Int(seed % 3)])
    let plain = try Self.states(path, options)
    #expect(plain.count == events.count)
    var reader = try LogReader(path: path, options: options)
    var state = AgentState()
    for (seq, expected) in plain.enumerated() {
      #expect(try reader.foldNext(into: &state) == seq)
      try #require(state == expected, "after event \(seq)")
    }
    #expect(try reader.foldNext(into: &state) == nil)
    #expect(reader.ending == .closed)
  }

  @Test(
    "The text of a state is that of its value, and nests as deep",
    arguments: 0..<12 as Range<UInt64>)
  func stateText(seed: UInt64) throws {
    var state = AgentState()
    for event in RandomRun.events(seed: seed, count: 200) {
      var text: [UInt8] = []
      let depth = state.append(to: &text)
      #expect(text == CanonicalJSON.encode(state.encoded), "before event \(event.seq)")
      #expect(depth == state.encoded.depth)
      let again = try AgentState(decoding: #require(state.encoded.objectValue))
      #expect(again.digest == state.digest)
      state.apply(event)
    }
  }

  @Test(
    "Events of every kind that it reads in part are folded from their text, and what is canonical then is so",
    arguments: Project.files(below: "Fixtures/runs", ending: ".jsonl.gz"))
  func fromText(run: String) throws {
    let cursor = try LogReader(path: Project.path(run)).cursor
    var state = AgentState()
    while let head = try cursor.advance() {
      guard case .event(let seq, _, let type) = head else { continue }
      try cursor.fold(into: &state)
      if AgentState.keysRead(of: type) != nil {
        #expect(cursor.isFoldedCanonical, "event \(seq), \(type.rawValue)")
      }
      guard cursor.isFoldedCanonical, let raw = try cursor.rawEvent() else { continue }
      #expect(raw.isCanonical(in: cursor.bytes), "event \(seq)")
    }
  }

  @Test(
    "An event that was read already is folded in like its text",
    arguments: Project.files(below: "Fixtures/runs", ending: ".jsonl.gz"))
  func known(run: String) throws {
    let cursor = try LogReader(path: Project.path(run)).cursor
    let other = try LogReader(path: Project.path(run)).cursor
    var (state, known) = (AgentState(), AgentState())
    while let head = try cursor.advance(), try other.advance() != nil {
      guard case .event(let seq, _, let type) = head else { continue }
      try cursor.fold(into: &state)
      let raw = try #require(try other.rawEvent())
      let event = type == .contextBuilt ? nil : try other.resolved(raw)
      try other.fold(into: &known, known: event)
      try #require(known == state, "after event \(seq)")
    }
  }

  @Test("A line that is written in another way is never taken for one of ours")
  func foreignForms() throws {
    let folder = try TemporaryFolder()
    let start = #"{"seq":0,"step":0,"type":"run_started","runId":"r","t":0,"data":{"goal":"g"}}"#
    let head = #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":"#
    let (ours, others) = (
      [
        #"{"a":[1,-2,0,null,true,"x\n\u001f\"é"],"b":{"c":{}}}"#, #"{}"#,
        #"{"goal":"g","observations":{"$list":[{"id":"1"}]},"z":123456789012345}"#,
        // Numbers stay as they are written.
        #"{"a":1.0}"#, #"{"a":1e3}"#, #"{"a":-0}"#, #"{"a":1E5}"#, #"{"a":100000000000000000000}"#,
      ],
      [
        #"{"a":"\u0041"}"#, #"{"a":"\/"}"#,
        #"{"a":"\u000A"}"#, #"{"a": 1}"#, #"{"b":1,"a":2}"#, #"{"observations":[{"id":"1"}]}"#,
        #"{"prompt":{"messages":[1]}}"#,
      ]
    )
    for (data, isOurs) in ours.map({ ($0, true) }) + others.map({ ($0, false) }) {
      var forged = try ForgedLog()
      forged.addBlock([start, head + data + "}"].map { Array($0.utf8) }, events: 2)
      forged.addTrailer()
      try forged.write(to: folder.file("run.jsonl.gz"))
      let cursor = try LogReader(path: folder.file("run.jsonl.gz")).cursor
      var state = AgentState()
      while let head = try cursor.advance() {
        guard case .event(1, _, _) = head else { continue }
        try cursor.fold(into: &state)
        #expect(cursor.isFoldedCanonical == isOurs, "\(data)")
        let raw = try #require(try cursor.rawEvent())
        #expect(raw.isCanonical(in: cursor.bytes) == isOurs, "\(data)")
      }
      let found = LogVerifier.verify(path: folder.file("run.jsonl.gz")).findings.map(\.message)
      let isTold = found.contains { $0.contains("canonical form") }
      #expect(isTold != isOurs, "\(data): \(found)")
    }
  }

  @Test(
    "It goes on from a checkpoint as from the beginning",
    arguments: 0..<(isLongRun ? 60 : 12) as Range<UInt64>)
  func fromCheckpoints(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("run.jsonl.gz")
    let writer = try LogWriter(
      creating: path,
      options: .init(blockBytes: 4_000, checkpointBytes: 20_000, durability: .none))
    for event in RandomRun.events(seed: seed, count: 120) {
      try writer.append(event, isEffectAhead: false)
    }
    _ = try writer.close()
    let plain = try Self.states(path, .init())
    for start in [20, 60, 119] {
      var reader = try LogReader(path: path, startingAtCheckpointBefore: start)
      var state = reader.startState
      #expect(reader.nextSeq == 0 || state == plain[reader.nextSeq - 1])
      while let seq = try reader.foldNext(into: &state) {
        try #require(state == plain[seq], "from \(start), after event \(seq)")
      }
    }
  }

  @Test(
    "Bytes that are no UTF-8 are an error as they are the plain way, wherever they stand",
    arguments: [0, 1, 15, 16, 63, 64, 100, 300])
  func noUTF8(before: Int) throws {
    let folder = try TemporaryFolder()
    let start = #"{"seq":0,"step":0,"type":"run_started","runId":"r","t":0,"data":{"goal":"g"}}"#
    for type in ["context_built", "tool_result", "model_result", "of_tomorrow"] {
      for key in ["callId", "data", "other"] {
        for isKey in [false, true] {
          let filler = String(repeating: "x", count: before)
          var line = Array(
            #"{"seq":1,"step":1,"type":"\#(type)","runId":"r","t":0,"data":{"\#(key)":"\#(filler)"#
              .utf8)
          if isKey { line += Array(#"","z\#(filler)"#.utf8) }
          line += [0xc3, 0x28] + Array((isKey ? #"":1}}"# : #"and more of it"}}"#).utf8)
          var forged = try ForgedLog()
          forged.addBlock([Array(start.utf8), line], events: 2)
          forged.addTrailer()
          let path = folder.file("\(type)-\(key)-\(isKey).jsonl.gz")
          try forged.write(to: path)
          let plain = #expect(throws: LogError.self) { try Self.states(path, .init()) }
          var reader = try LogReader(path: path)
          var state = AgentState()
          #expect(try reader.foldNext(into: &state) == 0)
          let error = #expect(throws: LogError.self) { try reader.foldNext(into: &state) }
          #expect(error == plain)
        }
      }
    }
  }

  @Test("Text that is not canonical is read the plain way, and what is wrong with it is found")
  func foreignText() throws {
    let folder = try TemporaryFolder()
    let lines = [
      #"{"seq":0,"step":0,"type":"run_started","runId":"r","t":0,"data":{"goal":"\u0041\/b","z":1,"a":2}}"#,
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{ "goal" : 1.0e5 }}"#,
      #"{"seq":2,"step":1,"type":"human_replied","runId":"r","t":0,"data":{"text":"\u000a","by":"x"}}"#,
      #"{"seq":3,"step":1,"type":"of_tomorrow","runId":"r","t":0,"data":{"":1,"$$same":{"$bytes":"AAE="}},"more":1}"#,
      #"{"seq":4,"step":1,"type":"tool_result","runId":"r","t":0,"data":{"callId":"c\"1","data":"é\n","status":5,"tool":{"$$same":"x"}}}"#,
      #"{"seq":5,"step":1,"type":"model_result","runId":"r","t":0,"data":{"callId":7,"cost":{"amount":"1.5"},"error":null,"usage":{"inputTokens":3}}}"#,
      #"{"seq":6,"step":1,"type":"policy_decision","runId":"r","t":0,"data":{"callId":"ünï","reason":["a",{"b":1e400}],"status":"deny","tool":"t"}}"#,
      #"{"seq":7,"step":1,"type":"tool_result","runId":"r","t":0,"data":{"callId":"c","data":{"é":"é"},"elapsedMicroseconds":9,"status":"ok","tool":"ü"}}"#,
    ]
    func log(_ name: String, _ lines: [String]) throws -> String {
      var forged = try ForgedLog()
      forged.addBlock(lines.map { Array($0.utf8) }, events: lines.count)
      forged.addTrailer()
      try forged.write(to: folder.file(name))
      return folder.file(name)
    }
    let path = try log("run.jsonl.gz", lines)
    let plain = try Self.states(path, .init())
    var reader = try LogReader(path: path)
    var state = AgentState()
    while let seq = try reader.foldNext(into: &state) { try #require(state == plain[seq]) }
    for line in [
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{"a":1,"a":2}}"#,
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{"":1,"":2}}"#,
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{"a":01}}"#,
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{"a":{"$list":[]}}}"#,
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{"observations":{"$list":[[0,1]]}}}"#,
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{"a":{"$same":"7/a"}}}"#,
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{"a":"\#u{1}"}}"#,
      #"{"seq":1,"step":1,"type":"context_built","runId":"r","t":0,"data":{"a":[1,]}}"#,
    ] {
      let path = try log("bad.jsonl.gz", [lines[0], line])
      let plain = #expect(throws: LogError.self) { try Self.states(path, .init()) }
      var reader = try LogReader(path: path)
      var state = AgentState()
      #expect(try reader.foldNext(into: &state) == 0)
      let error = #expect(throws: LogError.self, "\(line)") { try reader.foldNext(into: &state) }
      #expect(error == plain, "\(line)")
    }
  }
}

extension LogReader {
  /// Folds the next event in; its number, or `nil` behind the last.
  fileprivate mutating func foldNext(into state: inout AgentState) throws -> Int? {
    while let head = try advance() {
      guard case .event(let seq, _, _) = head else { continue }
      try fold(into: &state)
      return seq
    }
    return nil
  }
}

@Suite("The digest of an event while it is written")
struct WrittenDigestTests {
  @Test(
    "A writer's state is the one that applying each event gives",
    arguments: 0..<(isLongRun ? 300 : 40) as Range<UInt64>)
  func sameState(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let writer = try LogWriter(
      creating: folder.file("run.jsonl.gz"), options: .init(blockBytes: 9_000, durability: .none))
    var generator = Seeded(seed: seed)
    var state = AgentState()
    for var event in RandomRun.events(seed: seed, count: 50) {
      // Data that no digest holds, in every place that they may have among the others.
      for key in ["elapsedMicroseconds", "modelResult", "replyTo", "a", "f", "zz"]
      where Bool.random(using: &generator) {
        event.data[key] = JSONValue(Int.random(in: 0...9, using: &generator))
      }
      if Int.random(in: 0...9, using: &generator) == 0, event.type == .humanReplied {
        event.data = ["elapsedMicroseconds": 1, "modelResult": 2, "replyTo": 3]
      }
      try writer.append(event, isEffectAhead: false)
      state.apply(event)
      try #require(writer.state == state, "after event \(event.seq)")
    }
    _ = try writer.close()
  }
}
