import AgentTrace
import TraceJudging

/// Results as SARIF 2.1.0: a result for each finding, at the line of its case.
///
/// The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
struct SARIFReport {
  let context: ReportContext

  func json(of results: EvalResults) -> JSONValue {
    let found = results.worstFirst.flatMap { result in
      Finding.all(in: result).map { (result, $0) }
    }
    let rules = Self.rules(of: found.map(\.1))
    return [
      "$schema":
        "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
      "version": "2.1.0",
      "runs": [
        [
          "tool": [
            "driver": [
              "name": "agent-eval", "semanticVersion": .string(context.version),
              "rules": .array(rules.map(Self.description)),
            ]
          ],
          "columnKind": "unicodeCodePoints",
          "results": .array(
            found.map { result, finding in json(of: finding, in: result, rules: rules) }),
        ]
      ],
    ]
  }

  /// The rules that findings name, each once, by their bytes.
  private static func rules(of findings: [Finding]) -> [String] {
    var rules: [String] = []
    for rule in findings.map(\.rule).sorted(by: { $0.precedesByUTF8($1) })
    where !(rules.last?.hasSameUTF8(as: rule) ?? false) {
      rules.append(rule)
    }
    return rules
  }

  private static func description(of rule: String) -> JSONValue {
    let text =
      switch rule {
      case Finding.unjudged: "The case could not be judged."
      case Finding.unexercised: "Nothing that the case expects was exercised."
      case Finding.regression: "Something is worse than it was accepted."
      case Finding.change: "Something is not as it was accepted, and nothing may change."
      case Finding.uncompared: "The case could not be compared with what was accepted."
      case Finding.advice: "The case looks as if it held a mistake."
      default: "The run is not as “\(rule)” of its case expects."
      }
    return ["id": .string(rule), "shortDescription": ["text": .string(text)]]
  }

  private func json(of finding: Finding, in result: CaseResult, rules: [String]) -> JSONValue {
    let place = SourcePlace(result.position, in: context)
    let name = Visible.line(result.caseId, width: 200)
    let text = "\(name): \(finding.text(ofTrials: result.trials.count))"
    var properties: JSONObject = [
      "caseId": .string(Visible.line(result.caseId, width: 1_000)),
      "outcome": .string(finding.outcome),
      "events": .array(finding.events.prefix(100).map { JSONValue($0) }),
    ]
    for (key, value) in [
      ("expectation", finding.expectation.isEmpty ? nil : finding.expectation),
      ("expected", finding.expected), ("actual", finding.actual), ("log", finding.log),
    ] {
      properties[key] = value.map { text in
        .string(Visible.lines(CaseText.cut(text, 2_000)).joined(separator: "\n"))
      }
    }
    return [
      "ruleId": .string(finding.rule),
      "ruleIndex": JSONValue(rules.firstIndex { $0.hasSameUTF8(as: finding.rule) } ?? -1),
      "level": .string(finding.level == .error ? "error" : "warning"),
      "message": ["text": .string(Self.message(text))],
      "locations": [
        [
          "physicalLocation": [
            "artifactLocation": location(of: place.path),
            "region": ["startLine": JSONValue(place.line)],
          ]
        ]
      ],
      "partialFingerprints": [
        "agentEvalCheck/v1": .string(finding.fingerprint(of: result.caseId))
      ],
      "properties": .object(properties),
    ]
  }

  private func location(of path: String) -> JSONValue {
    if path.hasPrefix("/") { return ["uri": .string("file://" + Markup.uri(path))] }
    return ["uri": .string(Markup.uri(path)), "uriBaseId": "%SRCROOT%"]
  }

  /// A plain text message, in which braces are placeholders unless doubled (3.11.5) and
  /// `[text](target)` is a link unless its brackets are escaped (3.11.6).
  static func message(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "{": escaped += "{{"
      case "}": escaped += "}}"
      case "\\", "[", "]": escaped += "\\" + String(scalar)
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
