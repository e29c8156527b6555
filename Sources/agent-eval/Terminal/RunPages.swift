import AgentTrace
import ArgumentParser
import TraceReporting
import TraceStorage

/// The page of a run, and beside it one for each run of an agent that it called: each leads to those below it and back.
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
    let path = try LogReader(path: log).path
    let ending = try write(path, to: page, [])
    if hasOthers { try writeChildren(of: path) }
    Output.line(Visible.line(page))
    guard let damage else { return note(ending) }
    Output.error("agent-eval: \(Visible.line("\(damage)"))")
    throw ExitCode(2)
  }

  private struct Below {
    var log: String
    var page: String
    var link: ViewerPage.Link
  }

  /// Whether pages stand beside the first: not beside what is no page by its name, a pipe or a device.
  private var hasOthers: Bool { page.hasSuffix(".html") }

  private func below(_ log: String) -> [Below] {
    guard hasOthers else { return [] }
    let children = (try? LogFiles.children(ofLog: log)) ?? []
    var known: Set<String> = []
    return children.compactMap { child in
      // Its name is that of a file: it was looked at when its log's was made.
      guard known.insert(child.runId).inserted, let reader = try? LogReader(path: child.path) else {
        return nil
      }
      let page = "\(stem)-\(child.runId).html"
      return Below(
        log: reader.path, page: page,
        link: .init("\(child.tool), event \(child.seq)", file: Self.name(of: page)))
    }
  }

  private mutating func writeChildren(of root: String) throws {
    var next = [(log: root, page: page)]
    var known: Set<String> = [root]
    var written = 1
    while let parent = next.popLast() {
      let below = below(parent.log).filter { !known.contains($0.log) }
      guard !below.isEmpty else { continue }
      for one in below.prefix(max(0, Self.limit - written)) {
        known.insert(one.log)
        written += 1
        let back = ViewerPage.Link("↑ the run that called it", file: Self.name(of: parent.page))
        _ = try write(one.log, to: one.page, [back])
        next.append((one.log, one.page))
      }
      if written >= Self.limit {
        return Output.error(
          "note: \(Self.limit) pages are written; further runs of the tree have none.")
      }
    }
  }

  private mutating func write(
    _ log: String, to page: String, _ back: [ViewerPage.Link]
  ) throws -> LogReader.Ending? {
    var reader = try LogReader(path: log)
    let bytes: [UInt8]
    do {
      bytes = try InputFiles.all(of: reader.path, limitBytes: ViewerPage.limitBytes)
    } catch let failure as InputFiles.Failure where failure.reason.hasPrefix("it is larger") {
      throw TooLarge(path: log, reason: "the log is larger than \(ViewerPage.limitBytes >> 20) MiB")
    }
    var events = 0
    do {
      while let head = try reader.advance() { if case .event = head { events += 1 } }
    } catch {
      damage = damage ?? error
    }
    guard events <= ViewerPage.limitEvents else {
      throw TooLarge(
        path: log, reason: "the run has more than \(ViewerPage.limitEvents) events")
    }
    let viewer = ViewerPage(
      name: Self.name(of: reader.path), version: AgentEval.configuration.version,
      isOpen: reader.path.hasSuffix(LogFormat.openSuffix), links: back + below(log).map(\.link))
    try ReportFiles.write(viewer.bytes(ofLog: bytes), to: page)
    return reader.ending
  }

  /// The page's path without its ending.
  private var stem: String { String(page.dropLast(".html".count)) }

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
