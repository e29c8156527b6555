import AgentTrace
import EvalLoading
import EvalRunning
import Glibc
import TraceDebugging
import TraceJudging
import TraceReporting

/// Steps through a run: on a terminal with the whole screen, else by commands.
struct Debugging {
  let log: String
  /// The event to begin at; `nil` for the first, the largest number for the last.
  var firstEvent: Int?

  init(log: String, firstEvent: Int? = nil) {
    self.log = log
    self.firstEvent = firstEvent
  }

  /// Steps through the run as the options say, or with whoever sits at the terminal.
  func start(_ options: DebugOptions) throws {
    let session = try open()
    if !options.text.isEmpty {
      let commands = options.text.flatMap(DebugSession.commands(in:)).filter { !$0.isEmpty }
      try follow(commands, session, onlyValues: Self.areForPrograms(commands))
    } else if let file = options.commands {
      greet(session)
      try follow(linesOf: file, session, repeatsEmpty: false)
    } else if Screen.canAsk, Screen.canBeDrawnOn {
      try FullScreenLoop(session).run()
    } else {
      greet(session)
      try follow(linesOf: "-", session, repeatsEmpty: true)
    }
  }

  /// Opens the log at the event to begin at.
  func open() throws -> DebugSession {
    let cursor = try RunCursor(path: log)
    if let firstEvent {
      if firstEvent == .max { try cursor.goToEnd() } else { try cursor.go(to: firstEvent) }
    }
    return DebugSession(cursor, readValue: Self.readValue)
  }

  /// A value as it stands in a command: YAML on one line, or a file behind `@`. Of a case file it is
  /// what the case expects.
  private static func readValue(_ text: String) throws -> JSONValue {
    struct Mistake: Error, CustomStringConvertible { var description: String }
    let isFile = text.hasPrefix("@")
    let loaded =
      isFile
      ? WrittenValue.load(String(text.dropFirst())) : WrittenValue.read(text, named: "break when")
    guard let value = loaded.value else {
      throw Mistake(description: loaded.diagnostics.map(\.description).joined(separator: "\n"))
    }
    return isFile ? value["expected"] ?? value : value
  }

  // MARK: A failure

  /// The run of the first case that failed, from the first event that shows why; its end, where
  /// something is missing that no event shows. `nil` where no case failed.
  init?(firstFailureOf results: EvalResults) {
    for result in results.cases where result.outcome == .fail {
      for trial in result.trials where trial.outcome == .fail {
        let failed = trial.judgement.outcomes.first {
          $0.outcome == .fail && $0.severity == .error
        }
        self.init(log: trial.log, firstEvent: failed?.events.first ?? .max)
        return
      }
    }
    return nil
  }

  /// Opens the screen at the event to begin at; where there is none, tells why the event came about.
  func explain() throws {
    if Screen.canAsk, Screen.canBeDrawnOn { return try FullScreenLoop(try open()).run() }
    let session = try open()
    let place = session.cursor.seq
    try session.cursor.go(to: 0)
    Output.line("")
    try follow(["goto \(place)", "why"], session)
  }

  // MARK: Commands

  private func greet(_ session: DebugSession) { tell(session.greeting()) }

  private func tell(_ lines: [TextLine]) {
    let (painter, width) = (Screen.painter, Screen.width)
    Output.lines(lines.flatMap { $0.wrapped(columns: width) }.map { $0.painted(by: painter) })
  }

  /// Whether commands do nothing but go somewhere and print values there, to something else than a terminal.
  private static func areForPrograms(_ commands: [String]) -> Bool {
    let kinds = commands.map(DebugSession.isPrintOrMove)
    return !Screen.isTerminal && kinds.contains { $0.isPrint }
      && kinds.allSatisfy { $0.isPrint || $0.isMove }
  }

  /// Follows commands that were given; a wrong one is the end, with 2.
  ///
  /// - Parameter onlyValues: whether nothing is said but the values that are printed.
  func follow(
    _ commands: [String], _ session: DebugSession, onlyValues: Bool = false
  ) throws {
    for command in commands where !session.hasQuit && !Output.hasEnded {
      if !onlyValues { Output.line("> " + Visible.line(command)) }
      if !Screen.isTerminal, let value = try session.printedValue(of: command) {
        if DebugSession.printsRaw(command), case .string(let text) = value {
          Output.bytes(Array(text.utf8) + [UInt8(ascii: "\n")])
          continue
        }
        // A person may read it after all: what acts on a terminal is escaped, as JSON can.
        let text = CanonicalJSON.encode(value, form: .plain)
        Output.line(Visible.json(String(decoding: text, as: UTF8.self)))
        continue
      }
      let lines = try session.execute(command)
      if !onlyValues { tell(lines) }
    }
  }

  /// Follows the lines of a file or of standard input.
  ///
  /// - Parameter repeatsEmpty: whether an empty line says the command before it again.
  private func follow(
    linesOf path: String, _ session: DebugSession, repeatsEmpty: Bool
  ) throws {
    var input = try LineInput(path: path)
    let asks = path == "-" && Screen.canAsk
    while !session.hasQuit {
      if asks { Output.prompt("> ") }
      let lines = try input.next { Output.hasEnded }
      if lines.isEmpty { return }
      for line in lines where !session.hasQuit {
        let text = String(decoding: line.bytes, as: UTF8.self)
        if text.hasPrefix("#") { continue }
        var commands = DebugSession.commands(in: text)
        if commands.count > 1 || !repeatsEmpty { commands.removeAll(where: \.isEmpty) }
        guard asks else {
          try follow(commands, session)
          continue
        }
        do {
          for command in commands { tell(try session.execute(command)) }
        } catch {
          // Whoever sits there reads it and says something else.
          Output.error(Visible.lines("\(error)").joined(separator: "\n"))
        }
      }
    }
  }
}

extension Screen {
  /// Whether the terminal knows more than lines.
  fileprivate static var canBeDrawnOn: Bool {
    guard let name = getenv("TERM") else { return false }
    return !["", "dumb"].contains(String(cString: name))
  }
}
