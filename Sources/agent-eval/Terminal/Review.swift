import AgentTrace
import EvalRunning
import Glibc
import TraceJudging
import TraceReporting

/// Goes through what would be accepted, case by case: asks on a terminal, writes, and says what it did.
struct Review {
  /// Whether each change is asked for.
  let asks: Bool
  /// Whether anything is written.
  let writes: Bool
  private let painter = Screen.painter
  private let width = Screen.columns
  private var takesAll = false
  private var hasQuit = false
  private var counts: [Word: Int] = [:]

  /// What became of a case.
  private enum Word: String, CaseIterable {
    case accepted, rejected, skipped, unchanged
    case open = "would change"
    case failed = "not accepted"
  }

  init(asks: Bool, writes: Bool) {
    self.asks = asks
    self.writes = writes
  }

  /// Shows each change, and writes those that are accepted.
  mutating func go(through acceptance: Acceptance) {
    let changes = acceptance.items.count { item in
      switch item.change {
      case .new, .changed: true
      case .none, .impossible: false
      }
    }
    var number = 0
    for item in acceptance.items {
      switch item.change {
      case .none: count(.unchanged)
      case .impossible(let reason):
        count(.failed)
        Output.error(
          Visible.lines("agent-eval: \(item.caseId) was not accepted: \(reason)")
            .joined(separator: "\n"))
      case .new(let bytes):
        number += 1
        take(item, from: nil, bytes, "\(number) of \(changes)")
      case .changed(let old, let bytes):
        number += 1
        take(item, from: old, bytes, "\(number) of \(changes)")
      }
    }
  }

  private mutating func take(
    _ item: Acceptance.Item, from old: [UInt8]?, _ bytes: [UInt8], _ place: String
  ) {
    guard !hasQuit else { return count(.skipped) }
    guard asks || old != nil else { return takeUnasked(item, bytes) }
    show(item, from: old, to: bytes, place)
    guard writes else { return count(.open) }
    if asks, !takesAll {
      switch ask() {
      case .accept: break
      case .all: takesAll = true
      case .reject:
        Output.line("  " + painter.paint("rejected", .bad) + "; its baseline stays as it is")
        return count(.rejected)
      case .skip: return count(.skipped)
      case .quit:
        hasQuit = true
        return count(.skipped)
      }
    }
    if write(item, bytes) {
      Output.line("  " + painter.paint("accepted", .good) + "  " + Visible.line(item.path))
    }
  }

  /// Takes a new case of which nobody is asked: a line, since nobody reads more.
  private mutating func takeUnasked(_ item: Acceptance.Item, _ bytes: [UInt8]) {
    guard writes else {
      count(.open)
      return Output.line("new       " + Visible.line(item.path))
    }
    guard write(item, bytes) else { return }
    let outcome = item.outcome == .pass ? "" : "  " + painter.paint(item.words, .warning)
    Output.line(painter.paint("accepted", .good) + "  " + Visible.line(item.path) + outcome)
  }

  private mutating func write(_ item: Acceptance.Item, _ bytes: [UInt8]) -> Bool {
    do {
      try BaselineFiles.write(bytes, to: item.path)
      count(.accepted)
      return true
    } catch {
      Output.error(Visible.line("agent-eval: \(error)"))
      count(.failed)
      return false
    }
  }

  private mutating func count(_ word: Word) { counts[word, default: 0] += 1 }

  // MARK: What a person sees

  private func show(_ item: Acceptance.Item, from old: [UInt8]?, to new: [UInt8], _ place: String) {
    let report = ResultsReport(painter: painter, width: width)
    Output.line("")
    Output.lines(
      report.lines(
        forChange: item.caseId, place, outcome: item.outcome, item.comparison,
        isNew: old == nil))
    let diff = LineDiff(from: old.map(Self.lines) ?? [], to: Self.lines(new))
    Output.lines(diff.painted(painter, width: width))
  }

  private static func lines(_ bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      .dropLast().map(String.init)
  }

  // MARK: Asking

  private enum Answer { case accept, reject, skip, all, quit }

  /// Asks until it is told; the end of the input is like quitting.
  private func ask() -> Answer {
    while true {
      Output.prompt(
        painter.paint("  [a]ccept  [r]eject  [s]kip  accept a[l]l  [q]uit", .heading) + " > ")
      guard let line = readLine() else {
        Output.line("")
        return .quit
      }
      switch line.lowercased().filter({ $0 != " " }) {
      case "a", "accept", "y": return .accept
      case "r", "reject", "n": return .reject
      case "s", "skip": return .skip
      case "l", "all": return .all
      case "q", "quit": return .quit
      default: continue
      }
    }
  }

  // MARK: The end

  /// Names the baselines of cases that are gone, and removes them where that was asked for.
  mutating func tell(ofOrphans suite: SuiteComparison, deletes: Bool) {
    for gone in suite.gone {
      let name = "\(gone.path), the baseline of “\(gone.caseId)”, which is gone"
      guard deletes, writes else {
        Output.line(
          Visible.line("orphan: \(name)" + (deletes ? "" : "; --delete-orphans removes it")))
        continue
      }
      do {
        try BaselineFiles.remove(gone.path)
        Output.line(Visible.line("removed: \(name)"))
      } catch {
        Output.error(Visible.line("agent-eval: \(error)"))
        count(.failed)
      }
    }
    for error in suite.unusable {
      Output.error(Visible.line("agent-eval: \(error)"))
      count(.failed)
    }
  }

  /// The last line.
  func summarise() {
    let parts = Word.allCases.compactMap { word in
      counts[word].map { "\($0) \(word.rawValue)" }
    }
    Output.line("")
    Output.line(parts.isEmpty ? "nothing to accept" : parts.joined(separator: ", "))
  }

  /// Whether something would change that was not written.
  var leavesChanges: Bool { counts[.open] != nil }

  /// 2 where something could not be accepted, 1 where something would change and nothing is written.
  var exitCode: Int32? {
    if counts[.failed] != nil { return 2 }
    return counts[.open] != nil ? 1 : nil
  }
}

extension Output {
  /// Writes a question to standard output, without an end of line.
  static func prompt(_ text: String) { bytes(Array(text.utf8)) }
}

extension Screen {
  /// Whether there is somebody to ask: standard input and standard output are terminals.
  static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }
}

extension Acceptance.Item {
  /// What the judge says of it.
  fileprivate var words: String {
    switch outcome {
    case .fail: "it fails"
    case .inconclusive: "it is inconclusive"
    case nil: "it is left out"
    default: ""
    }
  }
}
