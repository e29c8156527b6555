import AgentTrace
import Foundation
import FoundationXML
import TestSupport
import Testing
import TraceJudging
import TraceReporting

/// Results to make reports of.
enum Sample {
  /// Texts that act on XML, HTML, Markdown, workflow commands or a terminal, alone and in one.
  static let hostile =
    TimelineTests.hostile + [
      "</failure></testcase><testcase name=\"x\"/>", "]]>", "<!--", "&amp;&#1;", "\"><script>", "'",
      "\u{fffe}\u{ffff}", "[[ATTACHMENT|/etc/passwd]]", "``` \n# heading\n```", "`",
      "``a``",
      " ` ", "| cell | cell |", "[link](https://example.com)", "![i](x)", "<img src=x onerror=x>",
      "@everyone #1", "\n::error::x\r\n::set-output name=x::y", "##[error]x", "%0A::error::x",
      "a,file=x::y", "</script><script>", "</textarea>", "{0} {{x}} ]( [",
      "\u{feff}\u{0}\u{1}\u{8}\u{b}\u{c}\u{e}\u{1f}\u{7f}\u{85}",
    ]

  static let context = ReportContext(root: "/repo", folder: "/repo/sub", version: "9.9.9")

  static func outcome(
    _ outcome: Outcome, _ text: String, expectation: String = "toolsCalled[0]"
  ) -> ExpectationOutcome {
    ExpectationOutcome(
      expectation: expectation, outcome: outcome, events: [1, 2], message: text, expected: text,
      actual: text)
  }

  static func result(
    _ caseId: String, _ trials: [[ExpectationOutcome]] = [], warnings: [String] = [],
    log: String = "runs/one.jsonl.gz", error: String? = nil, position: String = "cases/a.yaml:7"
  ) -> CaseResult {
    var result = CaseResult(caseId: caseId, position: position)
    result.trials = trials.map { outcomes in
      TrialResult(
        runId: "r", log: log, judgedFrom: "body",
        judgement: Judgement(outcomes: outcomes, warnings: warnings))
    }
    result.error = error
    return result
  }

  /// One case of every outcome, a text in every place for one.
  static func results(holding text: String) -> EvalResults {
    EvalResults(
      cases: [
        result("pass " + text, [[outcome(.pass, text)]], warnings: [text], log: text),
        result(
          "fail " + text,
          [
            [outcome(.fail, text, expectation: text), outcome(.notExercised, text)],
            [outcome(.pass, text), outcome(.unverifiable, text)],
          ], warnings: [text], log: text, position: text + ":3"),
        result("open " + text, [[outcome(.unverifiable, text)]], log: text, position: text),
        result("error " + text, error: text),
      ], skipped: [SkippedCase(caseId: text, reason: text)])
  }

  /// Results without anything hostile: three passed, two failed, one each is open and an error.
  static let plain = EvalResults(
    cases: [
      result("first", [[outcome(.pass, "It was.")]]),
      result("second", [[outcome(.fail, "It was not."), outcome(.pass, "It was.")]]),
      result("third", [[outcome(.unverifiable, "The log is torn.")]], position: "cases/b.yaml:2"),
      result("fourth", error: "no such file"),
      result("fifth", [[outcome(.pass, "It was.")]], position: "../cases/./c.yaml:4"),
      result(
        "sixth",
        [[outcome(.pass, "It was.")], [outcome(.fail, "It was not.")], [outcome(.fail, "No.")]]),
      result("seventh", [[outcome(.pass, "It was.")]]),
    ], skipped: [SkippedCase(caseId: "eighth", reason: "later")])
}

extension ReportFormat {
  func text(of results: EvalResults, in context: ReportContext = Sample.context) -> String {
    String(decoding: bytes(of: results, in: context), as: UTF8.self)
  }
}

/// The elements of an XML document by Foundation's parser, which knows nothing of ours.
final class XMLElements: NSObject, XMLParserDelegate {
  struct Element {
    var name: String
    var attributes: [String: String]
    var text = ""
  }
  private(set) var elements: [Element] = []
  private var open: [Int] = []

  init?(_ text: String) {
    super.init()
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = self
    guard parser.parse() else { return nil }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String] = [:]
  ) {
    open.append(elements.count)
    elements.append(Element(name: name, attributes: attributes))
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    if let last = open.last { elements[last].text += text }
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) { _ = open.popLast() }

  subscript(name: String) -> [Element] { elements.filter { $0.name == name } }
}

@Suite("Reports in any format")
struct AnyFormatTests {
  @Test("no control character of a trace is in any report", arguments: ReportFormat.allCases)
  func controls(format: ReportFormat) {
    for text in Sample.hostile {
      let report = format.text(of: Sample.results(holding: text))
      let found = report.unicodeScalars.filter { scalar in
        let value = scalar.value
        return (value < 0x20 && value != 0x0a) || (0x7f..<0xa0).contains(value)
          || (0x2028...0x202e).contains(value)
      }
      // The own JSON keeps texts as they are; C0 controls are escaped in any JSON.
      #expect(format == .json ? found.allSatisfy { $0.value >= 0x7f } : found.isEmpty, "\(text)")
      #expect(report.utf8.last == 0x0a)
    }
  }

  @Test("the same results make the same bytes, however often", arguments: ReportFormat.allCases)
  func stable(format: ReportFormat) {
    let first = format.bytes(of: Sample.plain, in: Sample.context)
    for _ in 0..<5 { #expect(format.bytes(of: Sample.plain, in: Sample.context) == first) }
  }

  @Test(
    "a value of megabytes does not make a report of megabytes", arguments: ReportFormat.allCases)
  func size(format: ReportFormat) {
    let long = String(repeating: "0123456789", count: 200_000)
    let bytes = format.bytes(of: Sample.results(holding: long), in: Sample.context)
    // The results' own JSON is whole: all the others are made from it.
    if format == .json {
      #expect(bytes.count > long.utf8.count)
    } else {
      #expect(bytes.count < 500_000, "\(bytes.count)")
    }
  }

  @Test(
    "results without a case, or of one that has no trial, can be told",
    arguments: ReportFormat.allCases)
  func nothing(format: ReportFormat) {
    let empty = format.text(of: EvalResults(cases: [], skipped: []))
    #expect(empty.isEmpty == (format == .github))
    #expect(
      !format.text(of: EvalResults(cases: [Sample.result("x", [])], skipped: [])).isEmpty)
    #expect(
      !format.text(of: EvalResults(cases: [Sample.result("x", [[]])], skipped: [])).isEmpty)
  }

  @Test("the own JSON is what `run --json` prints")
  func json() throws {
    let bytes = ReportFormat.json.bytes(of: Sample.plain, in: Sample.context)
    #expect(bytes == CanonicalJSON.encode(Sample.plain.json, form: .plain) + [0x0a])
  }
}

@Suite("Requests for reports")
struct ReportRequestTests {
  @Test(
    "what names no format, or no file behind the colon, is refused",
    arguments: [
      "", ":", "junitt", "JUNIT", "junit:", " junit", "file.xml", ":file", "\u{1b}[2J", "junit:~/x",
    ])
  func mistakes(text: String) {
    let mistake = #expect(throws: ReportRequest.Mistake.self) { try ReportRequest(text) }
    let words = mistake?.description ?? ""
    #expect(words.contains("junit") && !words.contains("\u{1b}"))
  }

  @Test("a file is all behind the first colon")
  func file() throws {
    for file in ["a.xml", "a:b", "/tmp/x y", ":", "../x", "./-", "./~/x", "~x"] {
      let request = try ReportRequest("junit:" + file)
      #expect(request.format == .junit && request.file == file)
    }
    for format in ReportFormat.allCases {
      #expect(try ReportRequest(format.rawValue).format == format)
      #expect(try ReportRequest(format.rawValue + ":-") == ReportRequest(format.rawValue))
    }
  }

  @Test("two reports never go to one place")
  func twice() throws {
    for (texts, takesOutput) in [
      (["junit", "markdown"], false), (["junit:a", "markdown:a"], false), (["junit"], true),
    ] {
      #expect(throws: ReportRequest.Mistake.self) {
        try ReportRequest.all(texts, takesOutput: takesOutput)
      }
    }
    #expect(try ReportRequest.all(["junit:a", "junit:b", "json"]).count == 3)
    #expect(try ReportRequest.all(["github", "json"]).count == 2)
    #expect(try ReportRequest.all(["junit:a"], takesOutput: true).count == 1)
  }
}

@Suite("JUnit XML")
struct JUnitReportTests {
  @Test(
    "whatever a trace says, there are as many test cases as cases, each with its name",
    arguments: Sample.hostile)
  func hostileTexts(text: String) throws {
    let report = ReportFormat.junit.text(of: Sample.results(holding: text))
    let xml = try #require(XMLElements(report), "\(report.prefix(2_000))")
    #expect(xml["testcase"].count == 5)
    #expect(xml["failure"].count == 1 && xml["error"].count == 2 && xml["skipped"].count == 1)
    #expect(!report.contains("[[ATTACHMENT"))
    for word in ["pass", "fail", "open", "error"] {
      #expect(xml["testcase"].count { $0.attributes["name"]?.hasPrefix(word + " ") == true } == 1)
    }
  }

  @Test("each case has its file, its line and what was said of it; counts are right")
  func elements() throws {
    let report = ReportFormat.junit.text(of: Sample.plain)
    let xml = try #require(XMLElements(report))
    #expect(
      xml["testsuites"].first?.attributes == [
        "name": "agent-eval", "tests": "8", "failures": "2", "errors": "2", "skipped": "1",
      ])
    #expect(
      xml["testsuite"].map { $0.attributes["name"] }
        == ["sub/cases/a.yaml", "sub/cases/b.yaml", "cases/c.yaml", "skipped"])
    #expect(xml["testsuite"].map { $0.attributes["tests"] } == ["5", "1", "1", "1"])
    let second = try #require(xml["testcase"].first { $0.attributes["name"] == "second" })
    #expect(second.attributes["file"] == "sub/cases/a.yaml" && second.attributes["line"] == "7")
    #expect(
      xml["failure"].map { $0.attributes["message"] ?? "" }.first
        == "toolsCalled[0]: It was not.")
    // Services that leave the message out show the text.
    #expect(xml["failure"].first?.text.contains("It was not.") == true)
    #expect(xml["failure"].last?.text.contains("run 3 of 3") == true)
    #expect(xml["error"].map { $0.attributes["type"] } == ["error", "inconclusive"])
    #expect(xml["skipped"].first?.attributes == ["message": "later"])
    #expect(!report.contains("time"))
  }
}

@Suite("Markdown")
struct MarkdownReportTests {
  @Test(
    "whatever a trace says stands in code, and no heading or fence comes of it",
    arguments: Sample.hostile)
  func hostileTexts(text: String) {
    let report = ReportFormat.markdown.text(of: Sample.results(holding: text))
    var fence: Substring?
    var headings = 0
    for line in report.split(separator: "\n", omittingEmptySubsequences: false) {
      if let open = fence {
        if line == open { fence = nil }
        continue
      }
      let ticks = line.prefix { $0 == "`" }
      if ticks.count >= 3, line.dropFirst(ticks.count) == "text" {
        fence = ticks
        continue
      }
      if line.hasPrefix("#") { headings += 1 }
      let bare = Self.withoutCode(line)
      for mark in ["<script", "<img", "](", "@everyone", "::error"] {
        #expect(!bare.contains(mark), "\(line.prefix(200))")
      }
      if line.hasPrefix("| ") {
        // Two cells, whatever is in them.
        #expect(line.replacing("\\|", with: "").count { $0 == "|" } == 3, "\(line.prefix(200))")
      }
    }
    #expect(fence == nil)
    #expect(headings == 4)
  }

  /// A line without its spans of code, by CommonMark's rule: a run of backticks ends at the next of
  /// the same length.
  private static func withoutCode(_ line: Substring) -> String {
    var rest = line
    var bare = ""
    while let start = rest.firstIndex(of: "`") {
      bare += rest[..<start]
      let ticks = rest[start...].prefix { $0 == "`" }
      rest = rest[ticks.endIndex...]
      var search = rest
      while let next = search.firstIndex(of: "`") {
        let run = search[next...].prefix { $0 == "`" }
        search = search[run.endIndex...]
        if run.count == ticks.count { break }
      }
      rest = search
    }
    return bare + rest
  }

  @Test("what failed comes first, with its evidence; what passed is folded away")
  func order() throws {
    let report = ReportFormat.markdown.text(of: Sample.plain)
    let places = try ["second", "sixth", "fourth", "third", "first", "eighth"].map {
      try #require(report.firstRange(of: "`\($0)`")).lowerBound
    }
    #expect(places == places.sorted())
    #expect(
      report.contains(
        "**7 cases: 3 passed, 2 failed, 1 could not be judged, 1 inconclusive, 1 skipped**"))
    #expect(report.contains("3 cases passed") && report.contains("sub/cases/a.yaml:7"))
  }
}

@Suite("GitHub annotations")
struct GitHubReportTests {
  /// What the runner of GitHub Actions reads of a line: https://github.com/actions/runner,
  /// ActionCommand.cs.
  private static func command(_ line: Substring) -> (name: String, data: String)? {
    let trimmed = line.drop { $0 == " " || $0 == "\t" }
    guard trimmed.hasPrefix("::"), let end = trimmed.dropFirst(2).firstRange(of: "::") else {
      return nil
    }
    let head = trimmed.dropFirst(2)[..<end.lowerBound]
    return (String(head.prefix { $0 != " " }), String(trimmed[end.upperBound...]))
  }

  @Test("hostile text stays in its one annotation", arguments: Sample.hostile)
  func hostileTexts(text: String) {
    let report = ReportFormat.github.text(of: Sample.results(holding: text))
    let lines = report.split(separator: "\n")
    #expect(lines.count == 4)
    for line in lines {
      let command = Self.command(line)
      #expect(command?.name == "error" || command?.name == "warning", "\(line.prefix(200))")
      // Three properties and what is between them: no comma or colon of a trace.
      let head = line.dropFirst(2).prefix(
        upTo: line.dropFirst(2).firstRange(of: "::")?.lowerBound ?? line.endIndex)
      #expect(head.count { $0 == "," } == 2 && !head.contains(":"), "\(head)")
    }
  }

  @Test("of many cases nine are told and the rest is counted", arguments: [1, 9, 10, 500])
  func many(count: Int) {
    let cases = (0..<count).map { Sample.result("c\($0)", [[Sample.outcome(.fail, "No.")]]) }
    let report = ReportFormat.github.text(of: EvalResults(cases: cases, skipped: []))
    let lines = report.split(separator: "\n")
    #expect(lines.count == min(count, 10))
    #expect(
      count <= 9
        || lines.last == "::error title=agent-eval::and \(Figures.count(count - 9, "case")) more")
  }

  @Test(
    "a summary stays in its room, and says what it leaves out", arguments: [0, 100, 2_000, 20_000])
  func summary(room: Int) {
    let cases = (0..<500).map { Sample.result("c\($0)", [[Sample.outcome(.fail, "No.")]]) }
    let text = Workflow.summary(
      of: EvalResults(cases: cases, skipped: []), in: Sample.context, limitBytes: room)
    #expect(text.utf8.count <= room)
    #expect(room < 1_000 || text.contains("more did not pass"))
    #expect(room < 20_000 || text.contains("`c9`"))
  }

  /// What the runner of GitHub takes for a command in a line, as its `ActionCommand` reads one.
  private static func hasCommand(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains { line in
      line.drop(while: \.isWhitespace).hasPrefix("::") || line.contains("##[")
    }
  }

  @Test("printed JSON keeps its value, wherever it is cut, and nothing in it acts on who reads it")
  func printedJSON() throws {
    let all =
      (0x80..<0xa0).map { $0 } + [0x61c, 0x200e, 0x200f, 0x2066, 0x2067, 0x2068, 0x2069]
      + Array(0x2028...0x202e)
    let hidden = String(String.UnicodeScalarView(all.compactMap { Unicode.Scalar(UInt32($0)) }))
    for text in Sample.hostile + [hidden, "¡é€😀\u{200d}\u{2070}\u{600}", "\u{202e}\u{2028}a\u{85}"]
    {
      let plain = CanonicalJSON.encode(.object([text: .string(text)]), form: .plain)
      var whole = PrintedJSON()
      let printed = whole.escaped(plain)
      #expect(try JSONValue(parsing: printed)[text]?.stringValue == text)
      let scalars = String(decoding: printed, as: UTF8.self).unicodeScalars
      #expect(!scalars.contains { all.contains(Int($0.value)) })
      #expect(scalars.contains("é") == text.unicodeScalars.contains("é"))
      var byByte = PrintedJSON()
      #expect(plain.flatMap { byByte.escaped([$0]) } == printed)
    }
  }

  @Test("what is printed holds no command, wherever it is cut, and JSON keeps its value")
  func filtering() throws {
    let texts =
      Sample.hostile + [
        "::error::x", "  ::error::x", "a\n::stop-commands::x\n", "a\r::add-mask::b", "##[error]x",
        "a ##[group]b", ":::::error:::", "####[[x", "\u{1b}[31m::error::", "\u{85}::error::",
        "a::b",
      ]
    for text in texts {
      for form in [CommandFilter.Form.text, .json, .markup] {
        let plain =
          form == .json
          ? CanonicalJSON.encode(.object(["k::": .string(text)]), form: .plain) : Array(text.utf8)
        var whole = CommandFilter()
        let filtered = whole.filtered(plain, as: form)
        let printed = String(decoding: filtered, as: UTF8.self)
        #expect(!printed.contains("::") && !printed.contains("##["), "\(printed)")
        #expect(!Self.hasCommand(printed))
        if form == .json {
          #expect(try JSONValue(parsing: filtered)["k::"]?.stringValue == text)
        }
        // A tag is seen whole.
        if form == .markup { continue }
        var byByte = CommandFilter()
        #expect(plain.flatMap { byByte.filtered([$0], as: form) } == filtered)
      }
    }
    var page = CommandFilter()
    let style = "<p>a::b</p><style>a::before{}</style><script>\"x::y\"</script>"
    #expect(
      String(decoding: page.filtered(Array(style.utf8), as: .markup), as: UTF8.self)
        == "<p>a:&#58;b</p><style>a::before{}</style><script>\"x:\\u003ay\"</script>")
  }
}

@Suite("GitLab code quality")
struct GitLabReportTests {
  @Test(
    "every finding has all that GitLab asks, and a fingerprint of its own",
    arguments: Sample.hostile)
  func hostileTexts(text: String) throws {
    let bytes = ReportFormat.gitlab.bytes(of: Sample.results(holding: text), in: Sample.context)
    let findings = try #require(try JSONValue(parsing: bytes).arrayValue)
    #expect(findings.count >= 5)
    var fingerprints: Set<String> = []
    for finding in findings {
      #expect(finding["description"]?.stringValue?.isEmpty == false)
      #expect(finding["check_name"]?.stringValue?.contains(#/^[A-Za-z-]+$/#) == true)
      #expect(["info", "minor", "major", "critical"].contains(finding["severity"]?.stringValue))
      #expect(finding["location"]?["lines"]?["begin"]?.intValue ?? 0 >= 1)
      #expect(finding["location"]?["path"]?.stringValue?.hasPrefix("./") == false)
      let fingerprint = finding["fingerprint"]?.stringValue ?? ""
      #expect(fingerprint.count == 64 && fingerprints.insert(fingerprint).inserted)
    }
  }

  @Test("a fingerprint is of the case and the check, not of what was said or where it stands")
  func fingerprints() throws {
    func print(_ caseId: String, _ check: String, _ message: String, _ place: String) throws
      -> String?
    {
      let outcome = Sample.outcome(.fail, message, expectation: check)
      let result = Sample.result(caseId, [[outcome]], position: place)
      let bytes = ReportFormat.gitlab.bytes(
        of: EvalResults(cases: [result], skipped: []), in: Sample.context)
      return try JSONValue(parsing: bytes)[0]?["fingerprint"]?.stringValue
    }
    let first = try print("a", "toolsCalled[0]", "x", "a.yaml:1")
    #expect(try first == print("a", "toolsCalled[0]", "y", "b.yaml:9"))
    #expect(try first != print("a", "toolsCalled[1]", "x", "a.yaml:1"))
    #expect(try first != print("b", "toolsCalled[0]", "x", "a.yaml:1"))
  }

  @Test(
    "a rule is the word of the case format that an expectation is of",
    arguments: [
      ("toolsCalled[1]", "toolsCalled"), ("[1].budget.modelCalls", "budget"),
      ("state /totals/toolCalls", "state"), ("", "expectation"), ("[0]", "expectation"),
      ("\u{1b}[2J", "J"), (String(repeating: "a", count: 41), "expectation"),
    ])
  func rules(expectation: String, rule: String) throws {
    let outcome = Sample.outcome(.fail, "No.", expectation: expectation)
    let bytes = ReportFormat.gitlab.bytes(
      of: EvalResults(cases: [Sample.result("c", [[outcome]])], skipped: []), in: Sample.context)
    #expect(try JSONValue(parsing: bytes)[0]?["check_name"]?.stringValue == rule)
  }

  @Test("one check that failed in several runs is one finding, which counts them")
  func trials() throws {
    let bytes = ReportFormat.gitlab.bytes(of: Sample.plain, in: Sample.context)
    let sixth = try #require(try JSONValue(parsing: bytes).arrayValue).filter {
      $0["description"]?.stringValue?.hasPrefix("sixth") == true
    }
    #expect(sixth.map { $0["description"] } == ["sixth: toolsCalled[0]: It was not. (2 of 3 runs)"])
    #expect(sixth.map { $0["severity"] } == ["major"])
  }
}

@Suite("SARIF")
struct SARIFReportTests {
  @Test(
    "every result names a rule that is there, and its text holds no placeholder and no link",
    arguments: Sample.hostile)
  func hostileTexts(text: String) throws {
    let bytes = ReportFormat.sarif.bytes(of: Sample.results(holding: text), in: Sample.context)
    let log = try JSONValue(parsing: bytes)
    #expect(log["version"] == "2.1.0" && log["runs"]?.arrayValue?.count == 1)
    let rules = log["runs"]?[0]?["tool"]?["driver"]?["rules"]?.arrayValue ?? []
    let results = log["runs"]?[0]?["results"]?.arrayValue ?? []
    #expect(results.count >= 5)
    for result in results {
      let index = try #require(result["ruleIndex"]?.intValue)
      #expect(rules.indices.contains(index) && rules[index]["id"] == result["ruleId"])
      #expect(["error", "warning"].contains(result["level"]?.stringValue))
      let message = result["message"]?["text"]?.stringValue ?? ""
      let braces = message.replacing("{{", with: "").replacing("}}", with: "")
      #expect(!braces.contains("{") && !braces.contains("}"))
      #expect(!message.replacing("\\]", with: "").contains("]"))
      let place = result["locations"]?[0]?["physicalLocation"]
      let uri = place?["artifactLocation"]?["uri"]?.stringValue ?? ""
      #expect(uri.contains(#/^[A-Za-z0-9._~%\/-]+$/#), "\(uri.prefix(200))")
      #expect(place?["region"]?["startLine"]?.intValue ?? 0 >= 1)
    }
  }
}

@Suite("Where a case stands")
struct PlaceTests {
  @Test(
    "paths are told from the root of the project, and from the root of the disk outside of it",
    arguments: [
      ("a.yaml:3", "sub/a.yaml", 3), ("./x/../a.yaml:1", "sub/a.yaml", 1),
      ("../a.yaml:12", "a.yaml", 12), ("/repo/b.yaml:2", "b.yaml", 2),
      ("/other/b.yaml:2", "/other/b.yaml", 2), ("../../up.yaml:1", "/up.yaml", 1),
      ("../../../../../etc/passwd:1", "/etc/passwd", 1), ("a:b.yaml:7", "sub/a:b.yaml", 7),
      ("plain", "sub/plain", 1), ("a.yaml:0", "sub/a.yaml:0", 1),
      ("a.yaml:99999999999999999999", "sub/a.yaml:99999999999999999999", 1),
      ("/repository/a.yaml:1", "/repository/a.yaml", 1),
    ])
  func places(position: String, path: String, line: Int) throws {
    let result = Sample.result("c", [[Sample.outcome(.fail, "No.")]], position: position)
    let bytes = ReportFormat.gitlab.bytes(
      of: EvalResults(cases: [result], skipped: []), in: Sample.context)
    let place = try JSONValue(parsing: bytes)[0]?["location"]
    #expect(place?["path"]?.stringValue == path && place?["lines"]?["begin"]?.intValue == line)
  }
}

@Suite("HTML")
struct HTMLReportTests {
  /// A log in which everything is one text.
  private static func context(holding text: String) -> ReportContext {
    var context = Sample.context
    context.readEvents = { _, tell in
      for event in TimelineTests.events(holding: text) { tell(event) }
    }
    return context
  }

  /// The tags of a page with their attributes, by the rules of HTML for text without quirks.
  private static func tags(of page: String) -> [String] {
    page.matches(of: #/<[!\/a-zA-Z?][^>]*>/#).map { String($0.0) }
  }

  @Test("whatever a trace says, the page has the same tags", arguments: Sample.hostile)
  func hostileTexts(text: String) {
    let page = ReportFormat.html.text(
      of: Sample.results(holding: text), in: Self.context(holding: text))
    let allowed: Set = [
      "html", "head", "meta", "title", "style", "body", "input", "header", "h1", "div", "label",
      "b",
      "main", "details", "summary", "span", "h3", "p", "code", "a", "pre", "table", "tr", "td",
      "small", "footer", "script", "!doctype",
    ]
    for tag in Self.tags(of: page) {
      let name = tag.dropFirst().drop { $0 == "/" }.prefix {
        $0.isLetter || $0.isNumber || $0 == "!"
      }
      #expect(allowed.contains(name.lowercased()), "\(tag.prefix(200))")
      // Attributes hold what this project wrote, but for nothing: no text of a trace is in one.
      #expect(!tag.contains(#/\son\w+=/#), "\(tag.prefix(200))")
      for match in tag.matches(of: #/href="([^"]*)"/#) { #expect(match.1.hasPrefix("#c")) }
    }
    #expect(Self.tags(of: page).count { $0 == "<script>" } == 1)
    #expect(Self.tags(of: page).count { $0.hasPrefix("<details class=\"case ") } == 5)
  }

  @Test(
    "style and script are those whose digests the page's policy names, and nothing else is allowed")
  func policy() throws {
    let page = ReportFormat.html.text(of: Sample.plain)
    let policy = try #require(page.firstMatch(of: #/Content-Security-Policy" content="([^"]*)"/#)).1
    #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
    #expect(!policy.contains("unsafe") && !policy.contains("*") && !policy.contains("self"))
    for (name, pattern) in [
      ("style", #/<style>([^<]*)<\/style>/#), ("script", #/<script>((?:[^<]|<(?!\/))*)<\/script>/#),
    ] {
      let text = try #require(page.firstMatch(of: pattern)).1
      let digest = Data(Digest(of: Array(text.utf8)).bytes).base64EncodedString()
      #expect(policy.contains("\(name)-src 'sha256-\(digest)'"))
    }
    #expect(!page.contains("style=\"") && !page.contains("onclick"))
  }

  @Test(
    "a timeline of any length is told in few rows: its start, its end and what is evidence",
    arguments: [0, 1, 59, 200, 5_000])
  func timelines(length: Int) {
    var context = Sample.context
    context.readEvents = { _, tell in
      for seq in 0..<length {
        let data: JSONObject = ["text": .string("said \(seq)"), "by": "person"]
        tell(Event(seq: seq, step: seq / 10, type: .humanReplied, runId: "r", data: data))
      }
    }
    var outcome = Sample.outcome(.fail, "No.")
    outcome.events = [1, 150, 4_000]
    let page = ReportFormat.html.text(
      of: EvalResults(cases: [Sample.result("c", [[outcome]])], skipped: []), in: context)
    let rows = page.matches(of: #/said (\d+)/#).compactMap { Int($0.1) }
    #expect(rows == rows.sorted() && Set(rows).count == rows.count)
    #expect(rows.count <= 130 && rows.count >= min(length, 59))
    for seq in [0, 1, 150, 4_000, length - 1] where (0..<length).contains(seq) {
      #expect(rows.contains(seq), "\(seq)")
    }
    #expect(page.contains("events left out") == (length >= 200))
  }

  @Test("a log that cannot be read is told on the page")
  func unreadable() {
    struct Broken: Error, CustomStringConvertible { var description: String { "<b>broken</b>" } }
    var context = Sample.context
    context.readEvents = { _, _ in throw Broken() }
    let page = ReportFormat.html.text(of: Sample.plain, in: context)
    #expect(page.contains("&lt;b&gt;broken&lt;/b&gt;") && !page.contains("<b>broken"))
  }
}
