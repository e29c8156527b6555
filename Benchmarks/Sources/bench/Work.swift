import AgentTrace
import CFloor
import Glibc
import TraceStorage

/// What is measured in a process of its own: `bench work NAME …`.
enum Work {
  static func run(_ arguments: [String]) async throws {
    guard arguments.count >= 2 else { return }
    let path = arguments[1]
    /// An argument of the work, which stands behind its name and path.
    func argument(_ index: Int) throws -> String {
      guard index + 2 < arguments.count else { throw WrongArguments(arguments) }
      return arguments[index + 2]
    }
    func number(_ index: Int) throws -> Int {
      guard let number = Int(try argument(index)) else { throw WrongArguments(arguments) }
      return number
    }
    switch arguments[0] {
    case "corpus": try Corpus(folder: path).make(longMiB: number(0))
    case "inflate": try inflate(path)
    case "replay": try replay(path)
    case "piece": try piece(path, of: argument(0))
    case "record": try record(path, level: number(0), repeats: argument(1) == "repeating")
    case "deflate":
      try deflate(path, level: Int32(clamping: number(0)), repeats: argument(1) == "repeating")
    case "append": try append(path, durability: argument(0))
    case "growth": try growth(path)
    case "proxy-server": Proxying.serve()
    case "proxy-client": Proxying.ask(Int(path) ?? 0, rounds: 1_000)
    case "proxy-crowd": Proxying.crowd(Int(path) ?? 0, rounds: 10)
    case "graph":
      let made = try Importing.graph(path)
      print(figure(made.seconds, digits: 6), made.lines, made.runs)
    case "deflate-logs": print(figure(try Importing.deflate(path), digits: 6))
    case "rule": try RuleChecking.rule()
    case "pipeline":
      guard let shape = Pipelining.Shape(rawValue: try argument(0)) else {
        throw WrongArguments(arguments)
      }
      try await Pipelining.run(shape, tasks: number(1), in: path)
    case "pipeline-die": try await PipelineTimes.die(tasks: number(0), in: path)
    case "pipeline-go-on": try await PipelineTimes.goOn(tasks: number(0), in: path)
    case "pipeline-flow": try await PipelineTimes.flow(elements: number(0), in: path)
    case "pipeline-follow": try await PipelineTimes.follow(tasks: number(0), in: path)
    case "actions": RuleChecking.digestActions()
    default: return
    }
  }

  private struct WrongArguments: Error, CustomStringConvertible {
    let description: String

    init(_ arguments: [String]) {
      description = "bench work cannot read its arguments: \(arguments.joined(separator: " "))"
    }
  }

  private static func lines(_ path: String) throws -> [String] {
    try Files.read(path).split(separator: 0x0a).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func inflate(_ list: String) throws {
    var (bytes, lines): (UInt64, UInt64) = (0, 0)
    for path in try Self.lines(list) where floor_inflate(path, &bytes, &lines) != 0 {
      throw Files.Failure(path: path)
    }
    print(bytes, lines)
  }

  /// Blocks of a log that hold 4 MiB of lines, as a file of its own, whose path is printed.
  private static func piece(_ folder: String, of log: String) throws {
    var reader = try LogReader(path: log)
    var (bytes, events) = (0, 0)
    var lines: [Event] = []
    while bytes < 4 << 20, let event = try reader.next() {
      bytes += event.encodedLine().count
      events += 1
      lines.append(event)
    }
    let path = fresh("\(folder)/piece.jsonl.gz")
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    for event in lines { try writer.append(event, isEffectAhead: false) }
    _ = try writer.close()
    print(path)
  }

  private static func replay(_ list: String) throws {
    var last = Digest.zero
    for path in try lines(list) {
      var reader = try LogReader(path: path)
      var state = AgentState()
      while try reader.advance() != nil { try reader.fold(into: &state) }
      last = state.digest
    }
    print(last)
  }

  // MARK: Recording

  /// The events that are recorded: about 20 MB of lines.
  private static func events(repeats: Bool, steps: Int = 1_200) throws -> [Event] {
    let sink = InMemoryEventSink()
    var run = RunWriter(runId: "bench-recording", seed: 5) { sink.append($0, isEffectAhead: false) }
    if repeats { run.shape.repeatedPercent = 125 }
    try run.start()
    for step in 1...steps { try run.step(step) }
    try run.finish(step: steps + 1)
    return sink.events
  }

  private static func fresh(_ path: String) -> String {
    _ = unlink(path)
    _ = unlink(path + ".open")
    return path
  }

  private static func measured(_ body: () throws -> Void) rethrows {
    let (cpu, wall) = (Processes.ownCPU(), Processes.now())
    try body()
    print(figure(Processes.ownCPU() - cpu, digits: 6), figure(Processes.now() - wall, digits: 6))
  }

  private static func record(_ folder: String, level: Int, repeats: Bool) throws {
    let events = try events(repeats: repeats)
    let path = fresh("\(folder)/recording.jsonl.gz")
    try measured {
      let log = try LogWriter(creating: path, options: .init(level: level, durability: .process))
      for event in events { try log.append(event, isEffectAhead: false) }
      _ = try log.close()
    }
  }

  /// The same bytes as the recording has, marks included, with the same flushes; with repeats: the
  /// plain lines.
  private static func deflate(_ folder: String, level: Int32, repeats: Bool) throws {
    let blocks =
      try repeats ? plainBlocks() : recordedBlocks("\(folder)/recording.jsonl.gz")
    measured {
      guard let deflater = floor_deflater(level) else { return }
      defer { floor_free(deflater) }
      var total = 0
      for pieces in blocks {
        floor_reset(deflater)
        for (index, piece) in pieces.enumerated() {
          total += floor_deflate(deflater, piece, piece.count, index == pieces.count - 1 ? 1 : 0)
        }
      }
    }
  }

  /// For each block of a recording what its writer deflated at once: events are flushed one by one, a
  /// mark waits for what follows it, a seal ends its block.
  private static func recordedBlocks(_ path: String) throws -> [[[UInt8]]] {
    var count = 0
    guard let text = floor_text(path, &count) else { throw Files.Failure(path: path) }
    defer { free(text) }
    let (event, seal) = (Array("{\"seq\":".utf8), Array("{\"mark\":\"seal\"".utf8))
    var blocks: [[[UInt8]]] = []
    var pieces: [[UInt8]] = []
    var piece: [UInt8] = []
    for line in UnsafeBufferPointer(start: text, count: count).split(separator: 0x0a) {
      piece += line
      piece.append(0x0a)
      let isSeal = line.starts(with: seal)
      guard isSeal || line.starts(with: event) else { continue }
      pieces.append(piece)
      piece = []
      guard isSeal else { continue }
      blocks.append(pieces)
      pieces = []
    }
    return blocks
  }

  private static func plainBlocks() throws -> [[[UInt8]]] {
    var blocks: [[[UInt8]]] = [[]]
    var bytes = 0
    for event in try events(repeats: true) {
      let line = event.encodedLine() + [0x0a]
      blocks[blocks.count - 1].append(line)
      bytes += line.count
      if bytes >= 256 * 1024 {
        blocks.append([])
        bytes = 0
      }
    }
    if blocks.last?.isEmpty == true { blocks.removeLast() }
    return blocks
  }

  private static func append(_ folder: String, durability: String) throws {
    let events = try events(repeats: false, steps: 300)
    let path = fresh("\(folder)/appended.jsonl.gz")
    var micros: [Double] = []
    func timed(_ body: () throws -> Void) rethrows {
      let start = Processes.now()
      try body()
      micros.append((Processes.now() - start) * 1e6)
    }
    // Of level process, events that an effect follows (`effect`) and all others are two figures.
    let level = durability == "effect" ? .process : LogWriter.Durability(rawValue: durability)
    if let level {
      let log = try LogWriter(creating: path, options: .init(durability: level))
      for event in events {
        let isEffectAhead = event.type == .toolStarted
        let isMeasured = level != .process || isEffectAhead == (durability == "effect")
        if isMeasured {
          try timed { try log.append(event, isEffectAhead: isEffectAhead) }
        } else {
          try log.append(event, isEffectAhead: isEffectAhead)
        }
      }
      _ = try log.close()
    } else if let deflater = floor_deflater(6) {
      let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
      for event in events {
        let line = event.encodedLine() + [0x0a]
        timed {
          let count = floor_deflate(deflater, line, line.count, 0)
          _ = write(file, floor_output(deflater), count)
        }
      }
      close(file)
      floor_free(deflater)
    }
    print(figure(micros.median, digits: 3), figure(micros.quantile(0.99), digits: 3))
  }

  // MARK: Growth

  /// The sizes of a run of 200 steps and of one of 400, whose contexts say again all that was said.
  private static func growth(_ folder: String) throws {
    var sizes: [Int] = []
    for steps in [200, 400] {
      let path = fresh("\(folder)/growth.jsonl.gz")
      let log = try LogWriter(creating: path, options: .init(durability: .none))
      var text = TextSource(seed: 3)
      var messages: [JSONValue] = []
      var seq = 0
      func put(_ type: EventType, _ step: Int, _ data: JSONObject) throws {
        try log.append(
          Event(seq: seq, step: step, type: type, runId: "growth", t: seq, data: data),
          isEffectAhead: false)
        seq += 1
      }
      try put(.runStarted, 0, ["formatVersion": 2, "agent": ["name": "growth"], "goal": "grow"])
      for step in 1...steps {
        messages.append([
          "role": "user", "content": [["type": "text", "text": .string(text.text(600))]],
        ])
        try put(
          .contextBuilt, step,
          ["runId": "growth", "goal": "grow", "prompt": ["messages": .array(messages)]])
        try put(
          .decision, step,
          [
            "kind": "tool",
            "calls": [["callId": .string("\(step).1.0"), "name": "look", "input": [:]]],
          ])
        let result = text.text(900)
        try put(
          .toolResult, step,
          [
            "callId": .string("\(step).1.0"), "tool": "look", "status": "ok",
            "data": .string(result),
          ])
        messages.append([
          "role": "tool",
          "content": [
            ["type": "tool_result", "callId": .string("\(step).1.0"), "data": .string(result)]
          ],
        ])
      }
      _ = try log.close()
      sizes.append(Files.size(path))
    }
    print(sizes[0], sizes[1])
  }
}
