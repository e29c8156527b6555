import AgentTrace

extension FullScreen {
  private var stateRows: Int { size.rows >= 24 ? 5 : size.rows >= 14 ? 3 : 0 }
  /// The rows of the panes.
  var paneRows: Int { max(1, size.rows - 2 - stateRows) }
  private var isNarrow: Bool { size.columns < 72 }
  private var isTooSmall: Bool { size.rows < 3 || size.columns < 16 }
  private var timelineRows: Int { isNarrow && paneRows >= 8 ? paneRows / 2 : paneRows }

  /// The next frame for a terminal of some size.
  public func frame(columns: Int, rows: Int) -> Frame {
    size = (max(1, columns), max(1, rows))
    let left = isNarrow ? columns : min(64, max(36, columns * 2 / 5))
    var frame = Frame(columns: columns, leftColumns: left)
    guard !isTooSmall else {
      frame.rows = Array(
        repeating: Frame.Row(left: TextLine("too small").cut(columns: columns)), count: rows)
      return frame
    }
    frame.rows.append(Frame.Row(left: title.cut(columns: columns), isReversed: true))
    if isHelp {
      addPage(help, rows: paneRows, to: &frame)
    } else if isNarrow {
      addTimeline(columns: columns, right: nil, to: &frame)
      let rest = paneRows - timelineRows
      if rest > 0 { addPage(detailLines(columns), rows: rest, to: &frame) }
    } else {
      let lines = detailLines(columns - left - 2)
      addTimeline(columns: left, right: lines, to: &frame)
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

  private func addTimeline(columns: Int, right: [TextLine]?, to frame: inout Frame) {
    let (pane, first) = timeline()
    for index in 0..<timelineRows {
      var row = Frame.Row()
      if pane.rows.indices.contains(first + index) {
        let entry = pane.rows[first + index]
        row.left = entry.line.cut(columns: columns - (right == nil ? 0 : 1))
        row.isReversed =
          entry.seq == cursor.seq && entry.isFirst
          || first + index == pane.selected
      }
      if let right { row.right = detailRow(index, of: right, rows: timelineRows) }
      frame.rows.append(row)
    }
  }

  /// Moves the timeline to where the selected event is seen, if there is one on the screen. Where it
  /// stands follows from every key, not from how many of them come between two frames.
  func moveTimeline() {
    guard !isTooSmall, !isHelp else { return }
    _ = timeline()
  }

  /// The timeline, and the row of it that stands first.
  private func timeline() -> (pane: TimelinePane, first: Int) {
    cursor.widen(to: foldsAll ? 240 : min(200, size.rows))
    let pane = TimelinePane(
      cursor, folded: isFolded,
      isBreakpoint: { event in
        !self.session.breakpoints.all.isEmpty
          && !self.session.breakpoints.reasons(at: event, in: self.cursor).isEmpty
      })
    return (pane, firstRow(of: pane, count: timelineRows))
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
    if let pipeline = try? cursor.pipeline() {
      page.add(pipeline)
      return addStateLines(page.lines, to: &frame)
    }
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
    addStateLines(lines, to: &frame)
  }

  private func addStateLines(_ lines: [TextLine], to frame: inout Frame) {
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
}
