import AgentTrace
import TestSupport
import Testing
import TraceReporting
import TraceStorage

@testable import TraceDebugging

@Suite("The screen")
struct FullScreenTests {
  private static let keys: [Key] =
    "jjjkkJJK{}gGcrnNbzf wtdsh?:/qy".unicodeScalars.map { Key.character($0) }
    + [
      .up, .down, .left, .right, .pageUp, .pageDown, .home, .end, .enter, .escape, .backspace, .tab,
    ]
    + [.control("c"), .control("d"), .control("u"), .control("z"), .control("x")]
    + "step 2 verdict 19 tool".unicodeScalars.map { Key.character($0) }

  @Test(
    "whatever keys are pressed at whatever size, a frame fills the terminal and no more",
    arguments: (RecordedLog.whole + RecordedLog.torn).filter { !$0.file.contains("hundred") })
  func anyKeys(log: RecordedLog) throws {
    var generator = Seeded(seed: UInt64(log.file.utf8.count))
    let screen = FullScreen(DebugSession(try RunCursor(path: log.path)))
    var columns = 100
    var rows = 30
    var shown: Frame?
    for _ in 0..<TestRun.count(60, long: 2_000) {
      if Int.random(in: 0..<10, using: &generator) == 0 {
        columns = Int.random(in: 1...160, using: &generator)
        rows = Int.random(in: 1...50, using: &generator)
      }
      _ = screen.handle(Self.keys.randomElement(using: &generator) ?? .up)
      let frame = screen.frame(columns: columns, rows: rows)
      #expect(frame.rows.count == rows)
      for row in frame.rows {
        let room = row.right == nil ? columns : frame.leftColumns
        #expect(row.left.columns <= room, "\(columns) columns: \(row.left)")
        if let right = row.right { #expect(right.columns <= columns - frame.leftColumns - 2) }
      }
      // What has not changed is not sent again.
      #expect(frame.painted(since: frame, by: Painter(isColoured: true)).utf8.count < 20)
      _ = frame.painted(since: shown, by: Painter(isColoured: true))
      shown = frame
    }
  }

  @Test(
    "a screen that goes down and up again stands where it stood, and the selected row is in view")
  func scrolling() throws {
    let log = Project.path("Fixtures/runs/hundred-steps.jsonl.gz")
    let cursor = try RunCursor(path: log)
    let screen = FullScreen(DebugSession(cursor))
    func frame() -> Frame { screen.frame(columns: 100, rows: 24) }
    var top = frame().rows[1].left
    for index in 1...400 {
      _ = screen.handle(.down)
      let frame = frame()
      #expect(cursor.seq == index)
      #expect(frame.rows.dropFirst().contains { $0.isReversed }, "event \(index)")
      // The rows stand still until the selected one comes near the border.
      if index < 10 { #expect(frame.rows[1].left == top) }
      top = frame.rows[1].left
    }
    for index in (0..<400).reversed() {
      _ = screen.handle(.up)
      #expect(frame().rows.dropFirst().contains { $0.isReversed }, "event \(index)")
    }
    #expect(cursor.seq == 0)
  }

  @Test("folded steps are one row each, and one goes over them as one")
  func folding() throws {
    let cursor = try RunCursor(path: Project.path("Fixtures/runs/hidden-deletion.jsonl.gz"))
    let screen = FullScreen(DebugSession(cursor))
    _ = screen.handle(.character("z"))
    let folded = screen.frame(columns: 110, rows: 30).plain
    #expect(folded.count { $0.hasPrefix("▸ step") } == 3)
    var seen: [Int] = []
    for _ in 0..<4 {
      _ = screen.handle(.character("j"))
      seen.append(cursor.seq)
    }
    #expect(seen == [1, 7, 19, 19])
    _ = screen.handle(.character(" "))
    _ = screen.handle(.character("j"))
    #expect(cursor.seq == 20)
    _ = screen.handle(.character("k"))
    _ = screen.handle(.character("k"))
    #expect(cursor.seq == 7)
  }
}
