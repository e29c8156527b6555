import TraceJudging

/// Results as JUnit XML: the part of its dialects that GitLab, CircleCI, Jenkins and Buildkite share.
///
/// A suite is a case file, a test case a case with all its trials. A case that failed has a `failure`;
/// one that could not be judged and one that is inconclusive have an `error`, because neither may
/// look like a pass. Times are those of the runs, as their logs have them, not of judging: a case's is the sum of its
/// trials'. One whose log cannot be read has none.
/// The format: https://github.com/testmoio/junitxml
struct JUnitReport {
  let context: ReportContext

  func text(of results: EvalResults) -> String {
    let suites = suites(of: results)
    let skipped = Suite(name: "skipped", cases: [], skipped: results.skipped)
    let all = suites + (results.skipped.isEmpty ? [] : [skipped])
    var lines = [#"<?xml version="1.0" encoding="UTF-8"?>"#]
    let counts =
      Self.counts(results.cases, skipped: results.skipped.count) + time(of: results.cases)
    lines.append("<testsuites name=\"agent-eval\"\(counts)>")
    for suite in all { lines += self.lines(for: suite) }
    lines.append("</testsuites>")
    return lines.joined(separator: "\n") + "\n"
  }

  private struct Suite {
    var name: String
    var cases: [CaseText]
    var skipped: [SkippedCase] = []
  }

  /// One suite for each case file, in the order in which the files come.
  private func suites(of results: EvalResults) -> [Suite] {
    var suites: [Suite] = []
    var places: [[UInt8]: Int] = [:]
    for result in results.cases {
      let caseText = CaseText(of: result, in: context)
      let key = Array(caseText.place.path.utf8)
      if let place = places[key] {
        suites[place].cases.append(caseText)
      } else {
        places[key] = suites.count
        suites.append(Suite(name: caseText.place.path, cases: [caseText]))
      }
    }
    return suites
  }

  private func lines(for suite: Suite) -> [String] {
    let counts =
      Self.counts(suite.cases.map(\.result), skipped: suite.skipped.count)
      + time(of: suite.cases.map(\.result))
    var lines = [" <testsuite name=\"\(XML.attribute(suite.name))\"\(counts)>"]
    for caseText in suite.cases { lines += self.lines(for: caseText, in: suite) }
    for skipped in suite.skipped {
      lines.append("  <testcase classname=\"skipped\" name=\"\(XML.attribute(skipped.caseId))\">")
      lines.append("   <skipped message=\"\(XML.attribute(skipped.reason))\"/>")
      lines.append("  </testcase>")
    }
    lines.append(" </testsuite>")
    return lines
  }

  private func lines(for caseText: CaseText, in suite: Suite) -> [String] {
    let head =
      "  <testcase classname=\"\(XML.attribute(suite.name))\""
      + " name=\"\(XML.attribute(caseText.result.caseId))\""
      + " file=\"\(XML.attribute(caseText.place.path))\" line=\"\(caseText.place.line)\""
      + time(of: [caseText.result])
    var body: [String] = []
    switch caseText.result.standing {
    case .pass: break
    case .fail:
      let kind = caseText.result.comparison?.kind
      let type = kind == nil ? "fail" : kind == .changed ? "change" : "regression"
      body.append(element("failure", type: type, caseText))
    case .error: body.append(element("error", type: "error", caseText))
    case .inconclusive: body.append(element("error", type: "inconclusive", caseText))
    }
    if caseText.result.standing == .pass, caseText.result.comparison?.kind == .changed {
      let told = caseText.lines().joined(separator: "\n")
      body.append("   <system-err>\(XML.text("changed\n" + told))</system-err>")
    }
    let logs = caseText.result.trials.prefix(CaseText.mostTrials).map {
      "log: " + CaseText.cut($0.log, 4_096)
    }
    if !logs.isEmpty {
      body.append("   <system-out>\(XML.text(logs.joined(separator: "\n")))</system-out>")
    }
    return body.isEmpty ? [head + "/>"] : [head + ">"] + body + ["  </testcase>"]
  }

  private func element(_ name: String, type: String, _ caseText: CaseText) -> String {
    let text = XML.text(caseText.lines().joined(separator: "\n"))
    return "   <\(name) type=\"\(type)\" message=\"\(XML.attribute(caseText.headline))\">"
      + "\(text)</\(name)>"
  }

  /// The attribute with the time of the runs of cases, in seconds; nothing where none of them is known.
  private func time(of results: [CaseResult]) -> String {
    guard let elapsed = context.elapsed else { return "" }
    let times = results.lazy.flatMap(\.trials).compactMap { elapsed($0.log) }
    guard !times.isEmpty else { return "" }
    let microseconds = times.reduce(0) { sum, time in
      let (sum, overflow) = sum.addingReportingOverflow(max(0, time))
      return overflow ? .max : sum
    }
    let fraction = String(microseconds % 1_000_000)
    let zeros = String(repeating: "0", count: 6 - fraction.count)
    return " time=\"\(microseconds / 1_000_000).\(zeros)\(fraction)\""
  }

  private static func counts(_ results: [CaseResult], skipped: Int) -> String {
    let failures = results.count { $0.standing == .fail }
    let errors = results.count { $0.standing == .error || $0.standing == .inconclusive }
    return " tests=\"\(results.count + skipped)\" failures=\"\(failures)\" errors=\"\(errors)\""
      + " skipped=\"\(skipped)\""
  }
}

/// Text as XML 1.0 can hold it.
enum XML {
  /// An attribute's value, on one line.
  static func attribute(_ text: String) -> String { escape(Visible.line(text, width: 4_000)) }

  /// The text of an element, on the lines it has.
  static func text(_ text: String) -> String {
    escape(Visible.lines(text).joined(separator: "\n"))
  }

  /// Marks as references. What XML cannot hold at all stands as `\u{fffe}`; controls are visible
  /// before. GitLab takes `[[ATTACHMENT|path]]` for a file to show; that is kept from being one.
  private static func escape(_ text: String) -> String {
    var escaped = Markup.escape(text, quotes: ["\""])
    func isForeign(_ scalar: Unicode.Scalar) -> Bool { scalar.value | 1 == 0xffff }
    if escaped.unicodeScalars.contains(where: isForeign) {
      escaped = escaped.unicodeScalars.reduce(into: "") { text, scalar in
        if isForeign(scalar) {
          text += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
          text.unicodeScalars.append(scalar)
        }
      }
    }
    return escaped.replacing("[[ATTACHMENT", with: "[ [ATTACHMENT")
  }
}
