import AgentTrace

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
  enum Detail {
    case event
    /// What a command answered.
    case page([TextLine])
    case help
  }

  enum Prompt: String {
    case search = "/"
    case command = ":"
  }

  let session: DebugSession
  var cursor: RunCursor { session.cursor }
  var detail = Detail.event
  var detailTop = 0
  var showsAll = false
  var folded: Set<Int> = []
  /// Whether steps are folded unless ``folded`` says otherwise.
  var foldsAll = false
  var prompt: (kind: Prompt, text: String)?
  var message: (text: String, isFault: Bool)?
  /// The event and line that stood first in the timeline.
  var top: (seq: Int?, index: Int)?
  var size = (columns: 80, rows: 24)
  var limits: Limits?
  var lastSeq: Int?

  /// Begins where a session stands.
  public init(_ session: DebugSession) {
    self.session = session
    takeCursor()
    if let note = cursor.note { message = (note, cursor.isDamaged) }
  }

  /// Takes in which run it is.
  func takeCursor() {
    limits = cursor.limits
    // The end of a closed log is found in two reads and a stretch; of another it is seen on the way.
    lastSeq = cursor.mayGrow ? nil : try? cursor.last().seq
    folded = []
    top = nil
  }

  // MARK: Keys

  /// Follows a key.
  public func handle(_ key: Key) -> Effect {
    defer { moveTimeline() }
    if prompt != nil { return type(key) }
    message = nil
    if case .help = detail {
      switch key {
      case .down, .up, .pageDown, .pageUp, .character("j"), .character("k"): break
      default:
        show(.event)
        return .nothing
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
    case .character("i"): answer("into")
    case .character("o"): answer("out")
    default: message = ("no such key; ? lists them", false)
    }
  }

  var isHelp: Bool { if case .help = detail { true } else { false } }

  func show(_ detail: Detail) {
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

  func isFolded(_ step: Int) -> Bool { step > 0 && folded.contains(step) != foldsAll }

  private func fold() {
    let step = cursor.step
    guard step > 0 else {
      message = ("what precedes the first step is not folded", false)
      return
    }
    if folded.remove(step) == nil { folded.insert(step) }
    if isFolded(step) { go("") { try self.toStartOfStep() || true } }
  }

  func goOn(forward: Bool) {
    do {
      let reasons = try session.run(forward: forward)
      message = (reasons.joined(separator: "; "), false)
    } catch {
      message = ("\(error)", true)
    }
    show(.event)
  }

  func find(forward: Bool) {
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
}
