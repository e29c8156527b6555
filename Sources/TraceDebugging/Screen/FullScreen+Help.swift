import AgentTrace

extension FullScreen {
  var help: [TextLine] {
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
      ("i o", "into the run that the event began, out of it again"),
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
