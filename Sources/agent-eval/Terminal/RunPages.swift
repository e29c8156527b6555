import ArgumentParser
import TraceReporting
import TraceStorage

/// The page of a run, and beside it one for each run of an agent that it called, or of a pipeline for each run of its tasks:
/// each leads to those below it and back.
struct RunPages {
  /// The log of the run.
  let log: String
  /// The file of its page.
  let page: String

  /// How many pages are written at most.
  private static let limit = 1_000

  private var damage: (any Error)?

  init(log: String, page: String) {
    self.log = log
    self.page = page
  }

  /// Writes the pages, and names the first.
  ///
  /// - Parameter note: told how the log of the run ends.
  /// - Throws: where a page cannot be written, or a log is damaged: its page says so itself.
  mutating func write(note: (LogReader.Ending?) -> Void) throws {
    let leaves = try plan()
    var ending: LogReader.Ending?
    for (index, leaf) in leaves.enumerated() {
      let back = leaf.parent.map {
        ViewerPage.Link("↑ the run that called it", file: Self.name(of: leaves[$0].page))
      }
      let below = leaf.children.map {
        ViewerPage.Link(leaves[$0].words, file: Self.name(of: leaves[$0].page))
      }
      let found = try write(leaf, links: [back].compactMap { $0 } + below)
      if index == 0 { ending = found }
    }
    Output.line(Visible.line(page))
    guard let damage else { return note(ending) }
    Output.error("agent-eval: \(Visible.line("\(damage)"))")
    throw ExitCode(2)
  }

  /// One page.
  private struct Leaf {
    var log: String
    var page: String
    /// What those who lead to it say of it.
    var words: String
    var parent: Int?
    var children: [Int] = []
  }

  /// The pages, each behind that of the run that called its own. No page leads to one that is not written.
  private mutating func plan() throws -> [Leaf] {
    var leaves = [Leaf(log: try LogReader(path: log).path, page: page, words: "")]
    // Not beside what is no page by its name, a pipe or a device.
    guard page.hasSuffix(".html") else { return leaves }
    let stem = page.dropLast(".html".count)
    var known: Set<String> = [leaves[0].log]
    var next = 0
    while next < leaves.count {
      for child in below(leaves[next].log) {
        // A log that is not there has no page; the event that names it says so much.
        guard let path = try? LogReader(path: child.path).path, known.insert(path).inserted else {
          continue
        }
        guard leaves.count < Self.limit else {
          Output.error(
            "note: \(Self.limit) pages are written; further runs of the tree have none.")
          return leaves
        }
        leaves[next].children.append(leaves.count)
        // Its identifier is the name of a file: it was looked at when its log's was made.
        leaves.append(
          Leaf(
            log: path, page: "\(stem)-\(child.runId).html", words: child.words, parent: next))
      }
      next += 1
    }
    return leaves
  }

  /// The runs below one: their logs, and what is said of them there.
  private mutating func below(_ log: String) -> [(path: String, runId: String, words: String)] {
    do {
      let called = try LogFiles.children(ofLog: log).map { child in
        (child.path, child.runId, "\(child.tool), event \(child.seq)")
      }
      let tasks = try LogFiles.taskRuns(ofLog: log).map { run in
        (run.path, run.runId, "\(run.node), event \(run.seq)")
      }
      return called + tasks
    } catch {
      // What it called behind the damage nobody knows.
      damage = damage ?? error
      return []
    }
  }

  private mutating func write(
    _ leaf: Leaf, links: [ViewerPage.Link]
  ) throws -> LogReader.Ending? {
    var reader = try LogReader(path: leaf.log)
    let bytes: [UInt8]
    do {
      bytes = try InputFiles.all(of: reader.path, limitBytes: ViewerPage.limitBytes)
    } catch let failure as InputFiles.Failure where failure.isTooLarge {
      throw TooLarge(
        path: leaf.log, reason: "the log is larger than \(ViewerPage.limitBytes >> 20) MiB")
    }
    var events = 0
    do {
      while let head = try reader.advance() { if case .event = head { events += 1 } }
    } catch {
      damage = damage ?? error
    }
    guard events <= ViewerPage.limitEvents else {
      throw TooLarge(
        path: leaf.log, reason: "the run has more than \(ViewerPage.limitEvents) events")
    }
    let viewer = ViewerPage(
      name: Self.name(of: reader.path), version: AgentEval.configuration.version,
      isOpen: reader.path.hasSuffix(LogFormat.openSuffix), links: links)
    try ReportFiles.write(viewer.bytes(ofLog: bytes), to: leaf.page)
    return reader.ending
  }

  private static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// A run that no page can hold.
  private struct TooLarge: Error, CustomStringConvertible {
    var path: String
    var reason: String
    var description: String {
      "\(path): \(reason), too much for a page; look at it with agent-eval replay."
    }
  }
}
