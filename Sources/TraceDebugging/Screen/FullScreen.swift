import AgentTrace
import TraceReporting
import TraceStorage

/// The debugger on a whole screen: a timeline on the left, the selected event on the right, the state
/// below. Takes keys and makes frames; what a terminal is, it does not know.
///
/// Not for several threads at once.
public final class FullScreen {
  /// What is to be done beside showing the next frame.
  public enum Effect: Sendable, Equatable {
    case nothing
    case quit
    /// To go to the background, as shells offer it.
    case suspend
    /// To be copied to where the terminal's user pastes from.
    case copy([UInt8])
  }

  /// What the right pane shows.
  private enum Detail {
    case event
    /// What a command answered.
    case page([TextLine])
    case help
  }

  private enum Prompt: String {
    case search = "/"
    case command = ":"
  }

  private let session: DebugSession
  private var cursor: RunCursor { session.cursor }
  private var detail = Detail.event
  private var detailTop = 0
  private var showsAll = false
  private var folded: Set<Int> = []
  /// Whether steps are folded unless ``folded`` says otherwise.
  private var foldsAll = false
  private var prompt: (kind: Prompt, text: String)?
  private var message: (text: String, isFault: Bool)?
  /// The event and line that stood first in the timeline.
  private var top: (seq: Int?, index: Int)?
  private var size = (columns: 80, rows: 24)
  private var limits: Limits?
  private var lastSeq: Int?
  private var wasAtEnd = false

  /// Begins where a session stands.
  public init(_ session: DebugSession) {
    self.session = session
    limits = cursor.limits
    // The end of a closed log is found in two reads and a stretch; of another it is seen on the way.
    lastSeq = cursor.mayGrow ? nil : try? cursor.last().seq
    if let note = cursor.note { message = (note, cursor.isDamaged) }
  }

  // MARK: Keys

  /// Follows a key.
  public func handle(_ key: Key) -> Effect {
    if prompt != nil { return type(key) }
    message = nil
    if case .help = detail {
      switch key {
      case .down, .up, .pageDown, .pageUp, .character("j"), .character("k"): break
      default:
        show(.event)
        return key == .character("q") ? .nothing : .nothing
      }
    }
    switch key {
    case .character("q"): return .quit
    case .control("z"): return .suspend
    case .control("c"): message = ("q quits", false)
    case .character("y"): return copy()
    case .character("/"): prompt = (.search, "")
    case .character(":"): prompt = (.command, "")
    case .character("?"), .character("h"): show(.help)
    case .escape: show(.event)
    default: act(key)
    }
    return .nothing
  }

  private func act(_ key: Key) {
    switch key {
    case .pageDown, .control("d"), .control("f"): detailTop += max(1, paneRows - 2)
    case .pageUp, .control("u"), .control("b"): detailTop = max(0, detailTop - paneRows + 2)
    case .down where isHelp, .character("j") where isHelp: detailTop += 1
    case .up where isHelp, .character("k") where isHelp: detailTop = max(0, detailTop - 1)
    case .down, .character("j"): go("this is the last event") { try self.nextRow() }
    case .up, .character("k"): go("this is the first event") { try self.previousRow() }
    case .right, .character("J"), .character("}"):
      go("this is the last step") { try self.cursor.nextStep() }
    case .left, .character("K"), .character("{"):
      go("this is the first event") { try self.cursor.previousStep() }
    case .home, .character("g"): go("") { try self.cursor.go(to: 0) }
    case .end, .character("G"): go("") { try self.cursor.goToEnd() }
    case .character("c"): goOn(forward: true)
    case .character("r"): goOn(forward: false)
    case .character("n"): session.search == nil ? goOn(forward: true) : find(forward: true)
    case .character("N"): session.search == nil ? goOn(forward: false) : find(forward: false)
    case .character(" "), .enter: fold()
    case .character("z"):
      foldsAll.toggle()
      folded = []
    case .character("f"):
      showsAll.toggle()
      detailTop = 0
      message = (showsAll ? "all is shown" : "what was seen before is folded", false)
    case .character("b"): toggleBreakpoint()
    case .character("B"): prompt = (.command, "break ")
    case .character("w"): answer("why")
    case .character("t"): answer(showsAll ? "context all" : "context")
    case .character("d"): answer("diff")
    case .character("s"): answer("state")
    default: message = ("no such key; ? lists them", false)
    }
  }

  private var isHelp: Bool { if case .help = detail { true } else { false } }

  private func show(_ detail: Detail) {
    self.detail = detail
    detailTop = 0
  }

  /// Goes somewhere, and shows the event there.
  private func go(_ end: String, _ move: () throws -> Any) {
    let before = cursor.seq
    do {
      let moved = try move()
      if moved as? Bool == false { say(end: end) }
    } catch {
      message = ("\(error)", true)
    }
    if cursor.seq != before { show(.event) }
  }

  private func say(end: String) {
    guard cursor.seq > 0, let note = cursor.note else {
      message = (end, false)
      return
    }
    message = ("\(end): \(note)", cursor.isDamaged)
  }

  /// The next event that has a row of its own.
  private func nextRow() throws -> Bool {
    guard isFolded(cursor.step) else { return try cursor.next() }
    return try cursor.nextStep()
  }

  private func previousRow() throws -> Bool {
    if isFolded(cursor.step) { _ = try toStartOfStep() }
    guard try cursor.back() else { return false }
    if isFolded(cursor.step) { _ = try toStartOfStep() }
    return true
  }

  private func toStartOfStep() throws -> Bool {
    guard let first = try cursor.firstSeq(ofStep: cursor.step), first < cursor.seq else {
      return false
    }
    try cursor.go(to: first)
    return true
  }

  private func isFolded(_ step: Int) -> Bool { step > 0 && folded.contains(step) != foldsAll }

  private func fold() {
    let step = cursor.step
    guard step > 0 else {
      message = ("what precedes the first step is not folded", false)
      return
    }
    if folded.remove(step) == nil { folded.insert(step) }
    if isFolded(step) { go("") { try self.toStartOfStep() || true } }
  }

  private func goOn(forward: Bool) {
    do {
      let reasons = try session.run(forward: forward)
      message = (reasons.joined(separator: "; "), false)
    } catch {
      message = ("\(error)", true)
    }
    show(.event)
  }

  private func find(forward: Bool) {
    do {
      guard try session.find(forward: forward) else {
        let place = forward ? "behind" : "before"
        message = ("“\(session.search?.text ?? "")” is not said \(place) this event", false)
        return
      }
      show(.event)
      message = ("“\(session.search?.text ?? "")”; n next, N before", false)
    } catch {
      message = ("\(error)", true)
    }
  }

  // MARK: Commands

  /// Shows on the right what a command answers.
  private func answer(_ command: String) {
    let before = cursor.seq
    do {
      let lines = try session.execute(command)
      if cursor.seq != before {
        show(.event)
        let hit = lines.first { $0.plain.hasPrefix("breakpoint") || $0.plain.hasPrefix("no ") }
        message = hit.map { ($0.plain, false) }
      } else if lines.count == 1 {
        message = (lines[0].plain, false)
      } else {
        show(.page(lines))
      }
    } catch {
      message = ("\(error)", true)
    }
  }

  private func type(_ key: Key) -> Effect {
    guard case (let kind, var text)? = prompt else { return .nothing }
    switch key {
    case .escape, .control("c"):
      prompt = nil
      return .nothing
    case .enter:
      prompt = nil
      message = nil
      return submit(kind, text)
    case .backspace:
      guard !text.isEmpty else {
        prompt = nil
        return .nothing
      }
      text.unicodeScalars.removeLast()
    case .control("u"): text = ""
    case .character(let scalar): if text.utf8.count < 4_096 { text.unicodeScalars.append(scalar) }
    default: break
    }
    prompt = (kind, text)
    return .nothing
  }

  private func submit(_ kind: Prompt, _ text: String) -> Effect {
    guard !text.isEmpty else { return .nothing }
    switch kind {
    case .search:
      session.search = TextSearch(text)
      find(forward: true)
    case .command:
      // A number alone is a place.
      answer(Int(text) != nil ? "goto \(text)" : text)
    }
    return session.hasQuit ? .quit : .nothing
  }

  /// A breakpoint at what the selected event is; or none there any more.
  private func toggleBreakpoint() {
    let event = cursor.event
    let condition: String
    switch event.type {
    case .decision:
      let tool = event.data["calls"]?[0]?["name"]?.stringValue
      condition = tool.map { "tool \($0)" } ?? "event decision"
    case .policyDecision:
      condition = event.data["status"]?.stringValue.map { "verdict \($0)" } ?? "event \(event.type)"
    case .toolStarted, .toolResult:
      condition = event.data["tool"]?.stringValue.map { "tool \($0)" } ?? "event \(event.type)"
    case .stop: condition = "stop"
    default: condition = "event \(event.type.rawValue)"
    }
    let known = session.breakpoints.all.first { $0.text.hasSameUTF8(as: condition) }
    answer(known.map { "delete \($0.number)" } ?? "break \(condition)")
  }

  private static let copyLimitBytes = 70_000

  private func copy() -> Effect {
    let line = cursor.event.encodedLine()
    guard line.count <= Self.copyLimitBytes else {
      message = ("\(line.count) bytes are too many to copy; “:export FILE” writes them", true)
      return .nothing
    }
    message = ("event \(cursor.seq) is copied as JSON, if the terminal allows it (OSC 52)", false)
    return .copy(line)
  }

  // MARK: Time

  /// Looks whether the log has grown; true where there is something new to show. A selected last
  /// event stays the last.
  public func tick() -> Bool {
    let isLast = cursor.isAtEnd
    guard cursor.refresh() else { return false }
    limits = limits ?? cursor.limits
    if isLast { try? cursor.goToEnd() }
    lastSeq = cursor.mayGrow ? nil : try? cursor.last().seq
    return true
  }

  // MARK: Frames

  private var stateRows: Int { size.rows >= 24 ? 5 : size.rows >= 14 ? 3 : 0 }
  /// The rows of the panes.
  private var paneRows: Int { max(1, size.rows - 2 - stateRows) }
  private var isNarrow: Bool { size.columns < 72 }

  /// The next frame for a terminal of some size.
  public func frame(columns: Int, rows: Int) -> Frame {
    size = (max(1, columns), max(1, rows))
    cursor.widen(to: foldsAll ? 240 : min(200, rows))
    let left = isNarrow ? columns : min(64, max(36, columns * 2 / 5))
    var frame = Frame(columns: columns, leftColumns: left)
    guard rows >= 3, columns >= 16 else {
      frame.rows = Array(
        repeating: Frame.Row(left: TextLine("too small").cut(columns: columns)), count: rows)
      return frame
    }
    frame.rows.append(Frame.Row(left: title.cut(columns: columns), isReversed: true))
    if isHelp {
      addPage(help, rows: paneRows, to: &frame)
    } else if isNarrow {
      let upper = paneRows >= 8 ? paneRows / 2 : paneRows
      addTimeline(rows: upper, columns: columns, right: nil, to: &frame)
      if paneRows > upper { addPage(detailLines(columns), rows: paneRows - upper, to: &frame) }
    } else {
      let lines = detailLines(columns - left - 2)
      addTimeline(rows: paneRows, columns: left, right: lines, to: &frame)
    }
    if stateRows > 0 { addState(to: &frame) }
    addStatus(to: &frame)
    return frame
  }

  private var title: TextLine {
    let state = cursor.state
    let end = lastSeq.map { " of \($0)" } ?? ""
    let growing = cursor.mayGrow ? "  being written" : ""
    return TextLine(
      " event \(cursor.seq)\(end)  step \(cursor.step)\(growing)  \(cursor.path)  run \(state.runId)"
    )
  }

  private func addTimeline(
    rows count: Int, columns: Int, right: [TextLine]?, to frame: inout Frame
  ) {
    let pane = TimelinePane(
      cursor, folded: isFolded,
      isBreakpoint: { event in
        !self.session.breakpoints.all.isEmpty
          && !self.session.breakpoints.reasons(at: event, in: self.cursor).isEmpty
      })
    let first = firstRow(of: pane, count: count)
    for index in 0..<count {
      var row = Frame.Row()
      if pane.rows.indices.contains(first + index) {
        let entry = pane.rows[first + index]
        row.left = entry.line.cut(columns: columns - (right == nil ? 0 : 1))
        row.isReversed =
          entry.seq == cursor.seq && entry.isFirst
          || first + index == pane.selected
      }
      if let right { row.right = detailRow(index, of: right, rows: count) }
      frame.rows.append(row)
    }
  }

  /// Keeps the rows where they stand, as long as the selected one is among them.
  private func firstRow(of pane: TimelinePane, count: Int) -> Int {
    let border = count > 6 ? 2 : 0
    let most = max(0, pane.rows.count - count)
    var first = pane.selected - count / 3
    if let top, let index = pane.rows.firstIndex(where: { $0.seq != nil && $0.seq == top.seq }) {
      let old = index - top.index
      if pane.selected >= old - count, pane.selected < old + 2 * count {
        first = min(max(old, pane.selected - count + 1 + border), pane.selected - border)
      }
    }
    first = max(0, min(first, most))
    // Steps have heads without a number: the nearest event is what the place is remembered by.
    let near = pane.rows[first...].firstIndex { $0.seq != nil && $0.isFirst } ?? first
    top = pane.rows.indices.contains(near) ? (pane.rows[near].seq, near - first) : nil
    return first
  }

  private func detailLines(_ columns: Int) -> [TextLine] {
    let lines: [TextLine]
    switch detail {
    case .page(let page): lines = page
    case .help: lines = []
    case .event:
      var page = Page()
      page.textLimit = showsAll ? 65_536 : 2_048
      do { try session.addEvent(to: &page, foldsOld: !showsAll) } catch {
        page.line("\(error)", .bad)
      }
      for reason in session.breakpoints.reasons(at: cursor.event, in: cursor) {
        page.line(reason, .warning)
      }
      lines = page.lines
    }
    return lines.flatMap { $0.wrapped(columns: columns) }
  }

  private func detailRow(_ index: Int, of lines: [TextLine], rows: Int) -> TextLine {
    detailTop = min(detailTop, max(0, lines.count - rows))
    let place = detailTop + index
    guard lines.indices.contains(place) else { return TextLine() }
    let left = lines.count - place
    if index == rows - 1, left > 1 {
      return TextLine("⋯ \(Figures.count(left, "more line")): page down", .faint)
    }
    return lines[place]
  }

  private func addPage(_ lines: [TextLine], rows count: Int, to frame: inout Frame) {
    for index in 0..<count {
      frame.rows.append(
        Frame.Row(left: detailRow(index, of: lines, rows: count).cut(columns: frame.columns)))
    }
  }

  private func addState(to frame: inout Frame) {
    let rule = String(repeating: "─", count: max(0, frame.columns - 24))
    frame.rows.append(
      Frame.Row(
        left: TextLine([
          .init("── ", .faint), .init("state after event \(cursor.seq) ", .heading),
          .init(rule, .faint),
        ]).cut(columns: frame.columns)))
    var page = Page()
    page.textLimit = 400
    let state = cursor.state
    page.add(state, limits: limits)
    var lines = page.lines
    // What is nearly used up stands out.
    var spans: [TextLine.Span] = [.init(" used      ", .faint)]
    for (index, part) in Page.budget(state, limits).enumerated() {
      spans.append(.init(index > 0 ? ", " : ""))
      spans.append(.init(part.text, part.isShort ? .warning : nil))
    }
    if !lines.isEmpty { lines[0] = TextLine(spans) }
    // The stop says most, and where the room ends it must not be what is left out.
    if state.stop != nil, let stop = lines.popLast() { lines.insert(stop, at: 1) }
    for index in 0..<(stateRows - 1) {
      let line = lines.indices.contains(index) ? lines[index] : TextLine()
      frame.rows.append(Frame.Row(left: line.cut(columns: frame.columns)))
    }
  }

  private func addStatus(to frame: inout Frame) {
    if let prompt {
      let line = TextLine(prompt.kind.rawValue + prompt.text)
      frame.typing = (frame.rows.count, min(line.columns, frame.columns - 1))
      frame.rows.append(Frame.Row(left: line.cut(columns: frame.columns)))
      return
    }
    let text = message?.text ?? ""
    let hints = "? help  q quit"
    let line =
      text.isEmpty
      ? TextLine("j k events  J K steps  c r breakpoints  / search  w why  \(hints)", .faint)
      : TextLine(text, message?.isFault == true ? .bad : .warning)
    frame.rows.append(Frame.Row(left: line.cut(columns: frame.columns)))
  }

  // MARK: Help

  private var help: [TextLine] {
    let keys: [(String, String)] = [
      ("j k ↓ ↑", "next event, event before"),
      ("J K } { → ←", "next step, step before"),
      ("g G", "first event, last event"),
      (":12 :step 3", "go to an event, to a step"),
      ("c r", "on to the next breakpoint, back to the one before"),
      ("b B", "breakpoint at what is selected or none there any more; type one"),
      ("/ n N", "search, next, before; without a search n N are c r"),
      ("space enter", "fold or unfold this step"),
      ("z", "fold or unfold all steps"),
      ("f", "show all of the event, or fold what was seen before"),
      ("w", "why: of a call or the stop"),
      ("t d s", "what the model saw, what changed in the state, the state"),
      ("page ↓ ↑ ^D ^U", "scroll the right side"),
      ("esc", "back to the event"),
      ("y", "copy the event as JSON"),
      (":", "any command: break, print, export, …; :help lists them"),
      ("? q", "this help, quit"),
    ]
    return [TextLine("Keys", .heading), TextLine()]
      + keys.map { keys, text in
        TextLine([
          .init("  " + keys + String(repeating: " ", count: max(1, 18 - keys.count)), .heading),
          .init(text),
        ])
      } + [TextLine(), TextLine("Any other key goes back.", .faint)]
  }
}
