public import AgentTrace
import FilePaths
import Glibc
import TraceReplaying
import TraceReporting

/// A debugger of one recorded run, told by commands. Docs/replaying.md has them all.
///
/// Prints nothing: each command answers with lines. Not for several threads at once.
public final class DebugSession {
  /// Where in the run it stands.
  public private(set) var cursor: RunCursor
  /// The runs that were left for one below them, the outermost first.
  var left: [LeftRun] = []
  var breakpoints = Breakpoints()
  var search: TextSearch?
  private let parser: BreakpointParser
  private var lastText: String?
  private var shownStep: Int?
  /// Whether `quit` was said.
  public private(set) var hasQuit = false
  /// Asked now and then while something takes long; then it ends where it is.
  public var isCalledOff: () -> Bool = { false }

  /// Begins at the event that a cursor has selected.
  ///
  /// - Parameter readValue: reads the value that `break when` takes: written out, or, where it begins
  ///   with `@`, from a file.
  public init(
    _ cursor: RunCursor, readValue: @escaping (String) throws -> JSONValue = DebugSession.readJSON
  ) {
    self.cursor = cursor
    parser = BreakpointParser(readValue: readValue)
  }

  /// Reads JSON as it is written on a command line; knows no files.
  public static func readJSON(_ text: String) throws -> JSONValue {
    do { return try JSONValue(parsing: text) } catch {
      throw CommandError("that is no JSON: \(error)")
    }
  }

  /// What to say of the log before the first command.
  public func greeting() -> [TextLine] {
    var page = Page()
    if let note = cursor.note { page.line("note: \(note)", .warning) }
    page.lines += here()
    return page.lines
  }

  /// Splits a line at each `;` that stands in no quotes, brackets or braces.
  public static func commands(in line: String) -> [String] {
    var commands: [String] = []
    var current = String.UnicodeScalarView()
    var (depth, quote, isEscaped) = (0, nil as Unicode.Scalar?, false)
    for scalar in line.unicodeScalars {
      if scalar == ";", depth == 0, quote == nil {
        commands.append(String(current))
        current = String.UnicodeScalarView()
        continue
      }
      current.append(scalar)
      if let open = quote {
        if scalar == open, !isEscaped { quote = nil }
        isEscaped = scalar == "\\" && !isEscaped
        continue
      }
      switch scalar {
      case "\"": quote = scalar
      case "{", "[": depth += 1
      case "}", "]": depth = max(0, depth - 1)
      default: break
      }
    }
    return (commands + [String(current)]).map(BreakpointParser.trimmed)
  }

  /// Follows one command. An empty one says the last one again.
  ///
  /// - Throws: ``CommandError`` where it cannot be followed, `ReplayError` where the log does not hold
  ///   what it asks for, `LogError` where the log cannot be read.
  public func execute(_ text: String) throws -> [TextLine] {
    var text = BreakpointParser.trimmed(text)
    if text.isEmpty {
      guard let lastText else { return [] }
      text = lastText
    }
    _ = cursor.refresh()
    // What less and its kin take without a space.
    let isSearch = text.hasPrefix("/")
    let (name, rest) =
      isSearch ? ("/", String(text.dropFirst())) : BreakpointParser.word(text)
    let lines = try follow(Command(named: name), rest)
    lastText = text
    return lines
  }

  private func follow(_ command: Command, _ rest: String) throws -> [TextLine] {
    switch command {
    case .next: return try move(rest, "this is the last event") { try cursor.next() }
    case .back: return try move(rest, "this is the first event") { try cursor.back() }
    case .step: return try step(rest)
    case .goto: return try goto(rest)
    case .events: return try events(rest)
    case .show: return try page(rest) { try addEvent(to: &$0) }
    case .context: return try context(rest)
    case .diff: return try diff(rest)
    case .state:
      return try page(rest) { page in
        if let pipeline = try cursor.pipeline() {
          page.heading("state after event \(cursor.seq)", "pipeline \(pipeline.name)")
          return page.add(pipeline)
        }
        page.heading("state after event \(cursor.seq)", "step \(cursor.step)")
        page.add(cursor.state, limits: cursor.limits)
        page.labelled("digest", cursor.state.digest.hex, .faint)
      }
    case .why: return try why(rest)
    case .print:
      if rest.hasPrefix(Self.rawOption), case .string(let text) = try value(at: rest) {
        return Visible.lines(text).map { TextLine($0) }
      }
      var pretty = PrettyJSON(textLimit: 1 << 23)
      pretty.append(try value(at: rest))
      return pretty.lines.map { TextLine($0) }
    case .search: return try search(rest)
    case .break: return try addBreakpoint(rest)
    case .breaks: return try page(rest) { addBreakpoints(to: &$0) }
    case .delete: return try delete(rest)
    case .continue: return try run(rest, forward: true)
    case .reverse: return try run(rest, forward: false)
    case .export: return try export(rest)
    case .into: return try enter(rest)
    case .out:
      guard rest.isEmpty else { throw CommandError("out takes nothing") }
      return try leave()
    case .help: return help()
    case .quit:
      hasQuit = true
      return []
    }
  }

  /// Goes on in another run.
  func turn(to run: LeftRun) {
    (cursor, breakpoints, search) = (run.cursor, run.breakpoints, run.search)
    shownStep = nil
  }

  /// A page of a command that takes no words.
  private func page(_ rest: String, _ fill: (inout Page) throws -> Void) throws -> [TextLine] {
    guard rest.isEmpty else { throw CommandError("that takes no more words") }
    var page = Page()
    try fill(&page)
    return page.lines
  }

  // MARK: Going

  /// The selected event as a timeline has it, under its step where that is another than before.
  func here(_ reasons: [String] = []) -> [TextLine] {
    var page = Page()
    for reason in reasons { page.line(reason, .warning) }
    if cursor.step != shownStep, cursor.step > 0 { page.line("step \(cursor.step)", .heading) }
    shownStep = cursor.step
    page.lines += EventRow(cursor.event).lines()
    return page.lines
  }

  private static func count(_ text: String) throws -> Int {
    guard !text.isEmpty else { return 1 }
    guard let count = Int(text), (1...1_000_000).contains(count) else {
      throw CommandError("“\(text.prefix(utf8Bytes: 80))” is no number of times")
    }
    return count
  }

  private func move(
    _ rest: String, _ end: String, _ move: () throws -> Bool
  ) throws -> [TextLine] {
    for _ in 0..<(try Self.count(rest)) {
      guard try move() else { return here([Self.ended(end, cursor)]) }
    }
    return here()
  }

  private static func ended(_ text: String, _ cursor: RunCursor) -> String {
    guard cursor.seq > 0, let note = cursor.note else { return text }
    return "\(text): \(note)"
  }

  private func step(_ rest: String) throws -> [TextLine] {
    let (word, count) = BreakpointParser.word(rest)
    if !word.isEmpty, "back".hasPrefix(word) {
      return try move(count, "this is the first event") { try cursor.previousStep() }
    }
    return try move(rest, "this is the last step") { try cursor.nextStep() }
  }

  private func goto(_ rest: String) throws -> [TextLine] {
    let (word, number) = BreakpointParser.word(rest)
    switch word {
    case "end" where number.isEmpty: try cursor.goToEnd()
    case "start" where number.isEmpty: try cursor.go(to: 0)
    case "step", "s": try cursor.go(toStep: try Self.number(number))
    default: try cursor.go(to: try Self.number(rest))
    }
    return here()
  }

  private static func number(_ text: String) throws -> Int {
    guard let number = Int(text), number >= 0 else {
      throw CommandError("goto takes the number of an event, “step N”, “start” or “end”")
    }
    return number
  }

  // MARK: Looking

  private func events(_ rest: String) throws -> [TextLine] {
    var rows: [EventRow]
    if rest.isEmpty {
      // Of a very long step, what stands around the selected event.
      rows = []
      try cursor.visit(step: cursor.step) { event in
        rows.append(EventRow(event))
        if rows.count > 200, rows[rows.count - 101].seq < cursor.seq { rows.removeFirst() }
        return rows.count <= 200 ? .goOn : .enough
      }
    } else {
      let count = min(try Self.count(rest), 10_000)
      rows = []
      try cursor.scanForward(
        from: max(0, cursor.seq - count), through: cursor.seq + count
      ) { event in
        rows.append(EventRow(event))
        return .goOn
      }
    }
    var page = Page()
    var step: Int?
    for row in rows {
      if row.step != step, row.step > 0 { page.line("step \(row.step)", .heading) }
      step = row.step
      for (index, line) in row.lines().enumerated() {
        let isHere = row.seq == cursor.seq && index == 0
        page.lines.append(
          TextLine([.init(isHere ? ">" : " ", .heading)] + line.spans, hanging: 0))
      }
    }
    shownStep = nil
    return page.lines
  }

  func addEvent(to page: inout Page, foldsOld: Bool = true) throws {
    let event = cursor.event
    var view = EventView(event: event, foldsOld: foldsOld)
    if event.type == .contextBuilt {
      view.previousContext = try cursor.lastEvent(before: event.seq, of: [.contextBuilt])
    }
    view.add(to: &page)
  }

  private func context(_ rest: String) throws -> [TextLine] {
    guard rest.isEmpty || rest.hasSameUTF8(as: "all") else {
      throw CommandError("context takes “all” or nothing")
    }
    var page = Page()
    guard let (event, previous) = try cursor.contexts(),
      let view = ContextView(event, previous: previous)
    else {
      page.line("the model was shown nothing yet")
      return page.lines
    }
    view.add(to: &page, foldsOld: rest.isEmpty)
    return page.lines
  }

  private func diff(_ rest: String) throws -> [TextLine] {
    var page = Page()
    if "context".hasPrefix(rest), !rest.isEmpty {
      guard let (event, previous) = try cursor.contexts(), let previous else {
        page.line("there is no context before this one")
        return page.lines
      }
      page.heading("the context of event \(event.seq)", "against event \(previous.seq)")
      page.addDifferences(
        from: .object(previous.data), to: .object(event.data), under: "/data")
      return page.lines
    }
    guard rest.isEmpty || "state".hasPrefix(rest) else {
      throw CommandError("diff takes “context” or nothing")
    }
    let first = try cursor.firstSeq(ofStep: cursor.step) ?? cursor.seq
    let before = first > 0 ? try cursor.state(after: first - 1) : AgentState()
    page.heading(
      "the state after event \(cursor.seq)",
      first > 0 ? "against that before step \(cursor.step)" : "against an empty one")
    page.addDifferences(from: before.encoded, to: cursor.state.encoded, under: "/state")
    return page.lines
  }

  private func why(_ rest: String) throws -> [TextLine] {
    var page = Page()
    let event = cursor.event
    if cursor.isPipeline, let node = try taskAsked(rest, event) {
      try TaskReasons(in: cursor).add(node, to: &page)
    } else if !rest.isEmpty {
      guard let decision = try CallReasons(in: cursor).decision(holding: rest) else {
        throw CommandError("no decision of the run holds a call “\(rest.prefix(utf8Bytes: 80))”")
      }
      try CallReasons(in: cursor).add([rest], at: decision, to: &page)
    } else if event.type == .stop {
      try StopReasons(in: cursor).add(event, to: &page)
    } else if let callIds = CallReasons.callIds(of: event) {
      try CallReasons(in: cursor).add(callIds, at: event, to: &page)
    } else {
      try addCause(of: event, to: &page)
    }
    return page.lines
  }

  /// The task of a pipeline that is asked about: the one that is named, or the one that the event is of.
  private func taskAsked(_ name: String, _ event: Event) throws -> TaskNode? {
    guard name.isEmpty else { return TaskNode(name) }
    if event.type == .stop { return try TaskReasons(in: cursor).stopping(event) }
    return TaskReasons.node(of: event)
  }

  /// For what is neither a call nor a stop: the event that it follows from.
  private func addCause(of event: Event, to page: inout Page) throws {
    page.heading(
      "why event \(event.seq)", event.type.rawValue.replacing("_", with: " "))
    var causes: [Event] = []
    switch event.type {
    case .decision:
      for type in [EventType.modelResult, .contextBuilt] {
        if let cause = try cursor.lastEvent(before: event.seq, of: [type]) { causes.append(cause) }
      }
      for ref in (event.data["evidenceRefs"]?.arrayValue ?? []).compactMap(\.stringValue) {
        let result = try cursor.lastEvent(before: event.seq, of: [.toolResult]) {
          $0.data["callId"]?.stringValue?.hasSameUTF8(as: ref) ?? false
        }
        if let result { causes.append(result) }
      }
    case .modelResult:
      if let cause = try cursor.lastEvent(before: event.seq, of: [.contextBuilt]) {
        causes.append(cause)
      }
    case .contextBuilt:
      // What has come since the packet before it.
      let last = try cursor.lastEvent(before: event.seq, of: [.contextBuilt])?.seq ?? -1
      try cursor.scanForward(from: last + 1, through: event.seq - 1) { _, _, type in
        [.runStarted, .decision, .toolResult, .humanReplied, .memoryRead].contains(type)
      } _: { cause in
        causes.append(cause)
        return causes.count < 100 ? .goOn : .enough
      }
    case .humanReplied:
      if let seq = event.data["replyTo"]?.intValue, let cause = try cursor.event(at: seq) {
        causes.append(cause)
      }
    default: break
    }
    if causes.isEmpty { page.line("  nothing in the log leads to it", .faint) }
    for cause in causes {
      for line in EventRow(cause).lines() { page.lines.append(line) }
    }
  }

  /// What a command prints, where it is `print`: the value itself, for a program that reads on. `nil` for any
  /// other command, which is not followed.
  ///
  /// - Throws: as ``execute(_:)``.
  public func printedValue(of text: String) throws -> JSONValue? {
    let text = BreakpointParser.trimmed(text)
    let (name, rest) = BreakpointParser.word(text)
    guard !text.hasPrefix("/"), (try? Command(named: name)) == .print else { return nil }
    _ = cursor.refresh()
    lastText = text
    return try value(at: rest)
  }

  /// Whether a command prints a value, or only goes somewhere.
  public static func isPrintOrMove(_ text: String) -> (isPrint: Bool, isMove: Bool) {
    let (name, _) = BreakpointParser.word(BreakpointParser.trimmed(text))
    switch try? Command(named: name) {
    case .print?: return (true, false)
    case .next?, .back?, .step?, .goto?, .continue?, .reverse?, .break?, .delete?, .quit?:
      return (false, true)
    default: return (false, false)
    }
  }

  /// The option of `print` that shows a text as it is.
  private static let rawOption = "-r "

  /// Whether a command prints a text as it is, rather than as JSON.
  public static func printsRaw(_ text: String) -> Bool {
    let (name, rest) = BreakpointParser.word(BreakpointParser.trimmed(text))
    return (try? Command(named: name)) == .print && rest.hasPrefix(rawOption)
  }

  private func value(at rest: String) throws -> JSONValue {
    let rest =
      rest.hasPrefix(Self.rawOption)
      ? BreakpointParser.trimmed(String(rest.dropFirst(Self.rawOption.count))) : rest
    guard let pointer = JSONPointer(rest), let root = pointer.tokens.first else {
      throw CommandError(
        "print takes a JSON Pointer: print /state/totals, print /data/calls/0/input")
    }
    let value: JSONValue?
    switch root {
    case "state": value = try cursor.pipeline()?.encoded ?? cursor.state.encoded
    case "data": value = .object(cursor.event.data)
    case "event": value = try JSONValue(parsing: cursor.event.encodedLine())
    case "context": value = try cursor.contexts().map { .object($0.0.data) }
    default: throw CommandError("print knows /state, /data, /event and /context")
    }
    let inner = JSONPointer(tokens: Array(pointer.tokens.dropFirst()))
    guard let found = value?[inner] else {
      throw CommandError("nothing stands at \(rest.prefix(utf8Bytes: 200))")
    }
    return found
  }

  private func search(_ rest: String) throws -> [TextLine] {
    var forward = true
    if rest.hasSameUTF8(as: "back"), search != nil {
      forward = false
    } else if !rest.isEmpty {
      search = TextSearch(rest)
    }
    guard search != nil else { throw CommandError("search takes a text") }
    guard try find(forward: forward) else {
      return Self.said(
        "“\(search?.text ?? "")” is not said \(forward ? "behind" : "before") event \(cursor.seq)")
    }
    return here()
  }

  private static func said(_ text: String) -> [TextLine] {
    var page = Page()
    page.line(text)
    return page.lines
  }

  /// Goes to the next event that says the text last searched for; false where there is none.
  func find(forward: Bool) throws -> Bool {
    guard
      let seq = try search?.find(
        from: cursor.seq, forward: forward, in: cursor, isCalledOff: isCalledOff)
    else { return false }
    try cursor.go(to: seq)
    return true
  }

  // MARK: Breakpoints

  private func addBreakpoint(_ rest: String) throws -> [TextLine] {
    guard !rest.isEmpty else { throw CommandError("break takes a condition; “help” lists them") }
    let breakpoint = breakpoints.add(try parser.condition(rest), text: rest)
    return Self.said("breakpoint \(breakpoint.number): \(rest)")
  }

  func addBreakpoints(to page: inout Page) {
    if breakpoints.all.isEmpty { page.line("there are no breakpoints") }
    for breakpoint in breakpoints.all {
      page.line("\(breakpoint.number)  \(breakpoint.text)", hanging: 3)
    }
  }

  private func delete(_ rest: String) throws -> [TextLine] {
    if rest.isEmpty {
      breakpoints.removeAll()
      return Self.said("all breakpoints are gone")
    }
    guard let number = Int(rest), breakpoints.remove(number) else {
      throw CommandError("there is no breakpoint “\(rest.prefix(utf8Bytes: 80))”")
    }
    return Self.said("breakpoint \(number) is gone")
  }

  private func run(_ rest: String, forward: Bool) throws -> [TextLine] {
    guard rest.isEmpty else { throw CommandError("that takes no more words") }
    return here(try run(forward: forward))
  }

  /// Goes to the next breakpoint in a direction, or to the end of the run; returns why it stopped.
  func run(forward: Bool) throws -> [String] {
    let hit =
      forward
      ? try breakpoints.next(after: cursor.seq, in: cursor, isCalledOff: isCalledOff)
      : try breakpoints.last(before: cursor.seq, in: cursor, isCalledOff: isCalledOff)
    if let hit {
      try cursor.go(to: hit.seq)
      return hit.reasons
    }
    guard !isCalledOff() else { return ["called off"] }
    if forward { try cursor.goToEnd() } else { try cursor.go(to: 0) }
    let end = forward ? "no breakpoint ahead; this is the last event" : "no breakpoint before this"
    return [Self.ended(end, cursor)]
  }

  // MARK: Out

  private func export(_ rest: String) throws -> [TextLine] {
    let (word, file) = BreakpointParser.word(rest)
    let isStep = word.hasSameUTF8(as: "step") && !file.isEmpty
    let path = isStep ? file : rest
    guard !path.isEmpty else { throw CommandError("export takes the name of a new file") }
    let bytes =
      isStep
      ? CanonicalJSON.encode(try StepReplay(of: cursor.step, in: cursor.path).json, form: .plain)
      : cursor.event.encodedLine()
    try Self.write(bytes + [UInt8(ascii: "\n")], toNewFile: path)
    return Self.said("\(isStep ? "step \(cursor.step)" : "event \(cursor.seq)") is in \(path)")
  }

  private static func write(_ bytes: [UInt8], toNewFile path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      throw CommandError(
        errno == EEXIST
          ? "\(path) is there already and stays as it is"
          : "\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw CommandError("\(path) cannot be written: \(String(cString: strerror(errno)))")
      }
      rest = rest.dropFirst(count)
    }
  }

  private func help() -> [TextLine] {
    var page = Page()
    let usages = Command.allCases.map(\.help.usage)
    let room = (usages.map(\.count).max() ?? 0) + 2
    for command in Command.allCases {
      let (usage, text) = command.help
      page.lines.append(
        TextLine(
          [
            .init(usage + String(repeating: " ", count: room - usage.count), .heading),
            .init(text),
          ], hanging: room))
    }
    page.line(
      "A command may be cut short (n, b, s, g, c, r, p, w …); an empty line says the last one again.",
      .faint)
    return page.lines
  }
}
