import AgentTrace
import TraceDebugging

/// Shows the debugger on the whole terminal until somebody quits.
struct FullScreenLoop {
  private let session: DebugSession

  init(_ session: DebugSession) { self.session = session }

  func run() throws {
    let terminal = try RawTerminal()
    defer { terminal.restore() }
    let screen = FullScreen(session)
    let painter = Screen.painter
    var shown: Frame?
    session.isCalledOff = Self.interruption(terminal)
    while !Output.hasEnded {
      let size = terminal.size
      let frame = screen.frame(columns: size.columns, rows: size.rows)
      if frame != shown { terminal.write(frame.painted(since: shown, by: painter)) }
      shown = frame
      switch terminal.next(milliseconds: 200) {
      case .nothing: _ = screen.tick()
      case .redraw: shown = nil
      case .suspend:
        terminal.suspend()
        shown = nil
      case .end(let number): return terminal.end(by: number)
      case .hangUp: return
      case .keys(let keys):
        for key in keys {
          switch screen.handle(key) {
          case .nothing: continue
          case .quit: return
          case .suspend:
            terminal.suspend()
            shown = nil
          case .copy(let bytes): terminal.write(Self.copying(bytes))
          }
        }
      }
    }
  }

  /// Asks a terminal to put bytes where its user pastes from (xterm's OSC 52).
  private static func copying(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.append(bytes, to: &text)
    return "\u{1b}]52;c;\(String(decoding: text, as: UTF8.self))\u{07}"
  }

  /// Looks at the keys now and then while something is at work, and says that it is.
  private static func interruption(_ terminal: RawTerminal) -> () -> Bool {
    let clock = ContinuousClock()
    var (start, last) = (clock.now, clock.now)
    var isTold = false
    return {
      let now = clock.now
      // A long pause: something else is at work now.
      if now - last > .milliseconds(300) { (start, isTold) = (now, false) }
      guard now - last > .milliseconds(40) else { return false }
      last = now
      if !isTold, now - start > .milliseconds(300) {
        isTold = true
        terminal.write("\u{1b}[\(terminal.size.rows);1H\u{1b}[0m\u{1b}[2Kworking; ^C ends it")
      }
      return terminal.isInterrupted()
    }
  }
}
