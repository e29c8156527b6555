public import AgentTrace
public import TraceJudging

extension ReadinessRecord {
  private var counts: String {
    Weight.allCases.reversed().map { Figures.count(count($0), $0.rawValue) }
      .joined(separator: ", ")
  }

  /// As lines for a terminal, made visible.
  public var lines: [String] {
    var lines = ["\(agent) (\(path)): \(level.rawValue): \(counts)"]
    for entry in entries {
      lines.append("")
      lines.append("\(entry.primitive.rawValue), looked after by \(entry.owner)")
      lines += entry.inPlace.map { "  in place  \($0)" }
      for finding in entry.missing {
        let word = finding.weight.rawValue
        lines.append(
          "  \(word)\(String(repeating: " ", count: 10 - word.utf8.count))\(finding.message)")
        lines.append("            → \(finding.advice)")
      }
    }
    return lines.map { Visible.line($0) }
  }

  /// As one JSON object.
  public var json: JSONValue {
    [
      "agent": .string(agent), "path": .string(path), "level": .string(level.rawValue),
      "primitives": .array(
        entries.map { entry in
          [
            "primitive": .string(entry.primitive.rawValue), "owner": .string(entry.owner),
            "inPlace": JSONValue(entry.inPlace),
            "missing": .array(
              entry.missing.map { finding in
                [
                  "weight": .string(finding.weight.rawValue), "message": .string(finding.message),
                  "advice": .string(finding.advice),
                ]
              }),
          ]
        }),
    ]
  }

  /// As a document in Markdown.
  public var markdown: [String] {
    func cell(_ texts: [String]) -> String {
      let told = texts.map { text in
        var escaped = ""
        for character in Visible.line(text) {
          if "\\`*_[]<>|#".contains(character) { escaped += "\\" }
          escaped.append(character)
        }
        return escaped
      }
      return told.isEmpty ? "" : told.joined(separator: "<br>")
    }
    var lines = [
      "# Readiness of \(cell([agent]))", "",
      "\(cell([path])): **\(level.rawValue)**: \(counts).", "",
      "| primitive | owned by | in place | missing |", "|---|---|---|---|",
    ]
    for entry in entries {
      let missing = entry.missing.map { "\($0.weight.rawValue): \($0.message): \($0.advice)" }
      lines.append(
        "| \(entry.primitive.rawValue) | \(cell([entry.owner])) | \(cell(entry.inPlace)) | \(cell(missing)) |"
      )
    }
    return lines
  }
}
