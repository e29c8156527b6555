import AgentTrace
import TraceJudging

/// Results as a page of Markdown, as GitHub and GitLab render it.
///
/// Whatever came from a trace or a case stands in code, where no mark, link, mention or HTML of it
/// has a meaning.
struct MarkdownReport {
  let context: ReportContext
  /// Bytes of the page at most; cases beyond that are counted, not told.
  var limitBytes = Int.max
  /// The results as they were judged, for what is said of all of them: no more cases than there are, and how the run
  /// ended. `nil` where those that are told are the same.
  var whole: EvalResults?

  /// Bytes that the last lines may take.
  private static let reserve = 512

  func text(of results: EvalResults) -> String {
    let all = whole ?? results
    var text = "# agent-eval\n\n\(symbol(all.exitCode)) **\(all.sentence)**\n"
    let open = results.worstFirst.filter { $0.standing != .pass || $0.differs }
    var told = 0
    for result in open {
      let section = section(CaseText(of: result, in: context))
      guard text.utf8.count + section.utf8.count + Self.reserve <= limitBytes else { break }
      text += section
      told += 1
    }
    if told < open.count {
      text +=
        "\n\(Figures.count(open.count - told, "case")) more did not pass; "
        + "there is no room for them here.\n"
      return text
    }
    return text + rest(of: results, room: limitBytes - text.utf8.count - Self.reserve)
  }

  private func section(_ caseText: CaseText) -> String {
    let checks =
      caseText.checks == 0 ? "" : ", \(caseText.passed) of \(caseText.checks) checks passed"
    return """

      ## \(symbol(caseText.result)) \(Markdown.code(caseText.name))

      \(Markdown.code("\(caseText.place.path):\(caseText.place.line)")): \
      \(caseText.result.words)\(checks)

      \(Markdown.block(caseText.lines()))

      """
  }

  /// The cases that passed and those that were skipped, folded away; nothing where there is no room.
  private func rest(of results: EvalResults, room: Int) -> String {
    var text = ""
    let passed = results.cases.filter { $0.standing == .pass && !$0.differs }
    if !passed.isEmpty {
      let rows = passed.map { result in
        let caseText = CaseText(of: result, in: context)
        let warned = caseText.passed < caseText.checks ? " of \(caseText.checks)" : ""
        return "| \(Markdown.cell(caseText.name)) | \(caseText.passed)\(warned) |\n"
      }
      text += fold(
        Figures.count(passed.count, "case") + " passed",
        "| case | checks |\n|---|---:|\n" + rows.joined())
    }
    if !results.skipped.isEmpty {
      let rows = results.skipped.map {
        "| \(Markdown.cell($0.caseId)) | \(Markdown.cell($0.reason)) |\n"
      }
      text += fold(
        Figures.count(results.skipped.count, "case") + " skipped",
        "| case | why |\n|---|---|\n" + rows.joined())
    }
    return text.utf8.count <= room ? text : ""
  }

  private func fold(_ summary: String, _ body: String) -> String {
    "\n<details><summary>\(summary)</summary>\n\n\(body)\n</details>\n"
  }

  private func symbol(_ result: CaseResult) -> String {
    let isChanged = result.standing == .pass && result.comparison?.kind == .changed
    return isChanged ? "🔶" : symbol(result.standing)
  }

  private func symbol(_ outcome: CaseOutcome) -> String {
    switch outcome {
    case .pass: "✅"
    case .fail: "❌"
    case .inconclusive: "❔"
    case .error: "⚠️"
    }
  }

  private func symbol(_ exitCode: Int32) -> String {
    switch exitCode {
    case 0: symbol(CaseOutcome.pass)
    case 1: symbol(CaseOutcome.fail)
    case 3: symbol(CaseOutcome.inconclusive)
    default: symbol(CaseOutcome.error)
    }
  }
}

/// Text as Markdown shows it without reading it (https://spec.commonmark.org, code spans and fences).
enum Markdown {
  /// A span of code on one line.
  static func code(_ text: String) -> String {
    let line = Visible.line(text, width: 1_000)
    guard !line.allSatisfy({ $0 == " " }) else { return "(empty)" }
    let fence = String(repeating: "`", count: longestRun(in: line) + 1)
    // A space on both sides is taken off again; without it a backtick at an end would be the fence's.
    let needsSpace =
      line.hasPrefix("`") || line.hasSuffix("`") || line.hasPrefix(" ") || line.hasSuffix(" ")
    return needsSpace ? "\(fence) \(line) \(fence)" : fence + line + fence
  }

  /// A span of code in a table, where a bar would end the cell even in code.
  static func cell(_ text: String) -> String { code(text).replacing("|", with: "\\|") }

  /// A block of code.
  static func block(_ lines: [String]) -> String {
    let longest = lines.reduce(2) { max($0, longestRun(in: $1)) }
    let fence = String(repeating: "`", count: longest + 1)
    return ([fence + "text"] + lines + [fence]).joined(separator: "\n")
  }

  private static func longestRun(in text: String) -> Int {
    var (longest, run) = (0, 0)
    for byte in text.utf8 {
      run = byte == UInt8(ascii: "`") ? run + 1 : 0
      longest = max(longest, run)
    }
    return longest
  }
}
