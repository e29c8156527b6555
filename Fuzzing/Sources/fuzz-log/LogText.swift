import AgentTrace
import FuzzSupport

/// A log as an input writes it: lines of JSON, and words that stand for what nobody guesses.
///
/// `---` begins the next block. `seal`, `summary`, `checkpoint N` (of N items) and `gap N` (N events are
/// missing) become the right marks for what stands before them, a text `"@x"` one of 300 bytes. With renumbering, the number of
/// each event is the one that follows.
struct LogText {
  private var log = LogBytes()
  private var block: [[UInt8]] = []
  private var blockFirst = 0
  private var nextSeq = 0
  private var state = AgentState()
  private var summary = RunSummary()

  struct Options {
    var renumbers: Bool
    var isClosed: Bool
    var isFlushed: Bool
    /// The last block is one that a writer has not finished.
    var leavesOpen: Bool
  }

  static func bytes(of text: [UInt8], _ options: Options) -> [UInt8] {
    var built = LogText()
    for line in text.split(separator: 0x0a) { built.add(Array(line), options) }
    if !built.block.isEmpty || options.leavesOpen { built.endBlock(options, isLast: true) }
    if options.isClosed { built.log.addTrailer(nextSeq: built.nextSeq) }
    return built.log.bytes
  }

  private mutating func add(_ line: [UInt8], _ options: Options) {
    switch String(decoding: line.prefix(11), as: UTF8.self) {
    case "---": endBlock(options)
    case "summary":
      let data = summary.encoded(totals: state.totals)
      block.append(Mark(name: "summary", data: data).encodedLine())
    case let word where word.hasPrefix("gap ") && block.isEmpty:
      addGap(Int(word.dropFirst(4).prefix { $0.isNumber }) ?? 1)
    case let word where word.hasPrefix("checkpoint "):
      let items = Int(String(decoding: line.dropFirst(11), as: UTF8.self)) ?? 0
      block.append(
        Mark(
          name: "checkpoint",
          data: [
            "stateFormat": JSONValue(AgentState.format), "state": state.encoded,
            "digest": .string(state.digest.hex), "items": JSONValue(items),
          ]
        ).encodedLine())
    default: addLine(line.expandingTexts, renumbers: options.renumbers)
    }
  }

  /// Events are missing before this block.
  private mutating func addGap(_ count: Int) {
    let first = nextSeq
    nextSeq += max(1, count)
    blockFirst = nextSeq
    block.append(
      Mark(
        name: "gap",
        data: ["first": JSONValue(first), "last": JSONValue(nextSeq - 1), "reason": "damage"]
      ).encodedLine())
  }

  private mutating func addLine(_ line: [UInt8], renumbers: Bool) {
    let start = Array("{\"seq\":".utf8)
    guard line.starts(with: start) else { return block.append(line) }
    let digits = line.dropFirst(start.count).prefix { (0x30...0x39).contains($0) }
    var line = line
    if renumbers {
      line = start + Array("\(nextSeq)".utf8) + line.dropFirst(start.count + digits.count)
    }
    fold(line)
    nextSeq += 1
    block.append(line)
  }

  /// Right only where nothing is said by a reference, which is enough to get past the marks.
  private mutating func fold(_ line: [UInt8]) {
    guard let value = try? JSONValue(parsing: line), let type = value["type"]?.stringValue,
      let data = value["data"]?.objectValue
    else { return }
    let event = Event(
      seq: nextSeq, step: value["step"]?.intValue ?? 0, type: EventType(rawValue: type),
      runId: value["runId"]?.stringValue ?? "", t: value["t"]?.intValue ?? 0, data: data)
    state.apply(event)
    summary.apply(event)
  }

  private mutating func endBlock(_ options: Options, isLast: Bool = false) {
    log.addBlock(
      block, firstSeq: blockFirst, nextSeq: nextSeq, isFlushed: options.isFlushed,
      isFinished: !(isLast && options.leavesOpen))
    (block, blockFirst) = ([], nextSeq)
  }
}

extension [UInt8] {
  /// With 300 bytes in place of each `"@x"`.
  fileprivate var expandingTexts: [UInt8] {
    guard contains(UInt8(ascii: "@")) else { return self }
    var expanded: [UInt8] = []
    var index = 0
    while index < count {
      if index + 3 < count, self[index] == 0x22, self[index + 1] == UInt8(ascii: "@"),
        (0x61...0x7a).contains(self[index + 2]), self[index + 3] == 0x22
      {
        expanded += [0x22] + [UInt8](repeating: self[index + 2], count: 300) + [0x22]
        index += 4
      } else {
        expanded.append(self[index])
        index += 1
      }
    }
    return expanded
  }
}
