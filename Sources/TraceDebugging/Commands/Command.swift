import AgentTrace
import TraceMatching

/// The commands of the debugger.
enum Command: String, CaseIterable {
  case next, back, step, goto, events, show, context, diff, state, why, print, search
  case `break`, breaks, delete, `continue`, reverse, into, out, export, help, quit

  /// What one letter stands for; longer beginnings stand for the one command that has them.
  private static let letters: [String: Command] = [
    "n": .next, "b": .break, "s": .step, "g": .goto, "e": .events, "i": .into, "o": .out,
    "c": .continue, "r": .reverse,
    "d": .delete, "p": .print, "w": .why, "h": .help, "?": .help, "q": .quit, "x": .export,
    "/": .search, "l": .events, "list": .events, "exit": .quit, "ctx": .context,
  ]

  /// Reads the name of a command or its beginning.
  ///
  /// - Throws: ``CommandError`` that names the nearest.
  init(named name: String) throws {
    if let command = Command(rawValue: name) ?? Self.letters[name] {
      self = command
      return
    }
    let candidates = Self.allCases.filter { $0.rawValue.hasPrefix(name) }
    if candidates.count == 1, let command = candidates.first {
      self = command
      return
    }
    let shown = name.prefix(utf8Bytes: 80)
    guard candidates.isEmpty else {
      throw CommandError(
        "“\(shown)” may be \(candidates.map(\.rawValue).joined(separator: " or "))")
    }
    let nearest = Spelling.nearest(to: name, among: Self.allCases.map(\.rawValue))
    throw CommandError(
      "there is no command “\(shown)”"
        + (nearest.map { "; did you mean “\($0)”?" } ?? "; “help” lists them"))
  }

  /// How it is written, and what it does.
  var help: (usage: String, text: String) {
    switch self {
    case .next: ("next [N]", "the next event")
    case .back: ("back [N]", "the event before")
    case .step: ("step [back] [N]", "the first event of the next step, or of the one before")
    case .goto: ("goto N | step N | start | end", "an event by its number, or a step")
    case .events: ("events [N]", "the events of this step, or N around this one")
    case .show: ("show", "this event in full")
    case .context: ("context [all]", "what the model saw, new marked +, gone -; all: old ones too")
    case .diff: ("diff [context]", "the state, or the context, against the step before")
    case .state: ("state", "the state after this event, and what is used of the limits")
    case .why: ("why [CALL]", "why this call was made and allowed, or why the run stopped")
    case .print:
      ("print [-r] POINTER", "a part of /state, /data, /event or /context; -r: a text as it is")
    case .search:
      ("search [TEXT | back]", "the next event that says TEXT; again; or the one before")
    case .break:
      (
        "break CONDITION",
        "tool GLOB | verdict WORD | event TYPE | stop | step N | when MATCHER or EXPECTATION or @FILE"
      )
    case .breaks: ("breaks", "the breakpoints")
    case .delete: ("delete [N]", "a breakpoint, or all")
    case .continue: ("continue", "to the next breakpoint, or the end")
    case .reverse: ("reverse", "to the breakpoint before, or the start")
    case .into: ("into [CALL]", "the run that this event, or a call or task, began")
    case .out: ("out", "back to the run that this one was entered from")
    case .export: ("export [step] FILE", "writes this event, or this step, as JSON to a new file")
    case .help: ("help", "this")
    case .quit: ("quit", "the end")
    }
  }
}
