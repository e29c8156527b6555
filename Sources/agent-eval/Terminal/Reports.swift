import AgentTrace
import TraceImporting
import TraceStorage

extension ImportReport {
  /// Whether there is a log now.
  var isImported: Bool { if case .imported = outcome { true } else { false } }

  /// The report in one line for a person.
  var line: String {
    let place = index.map { "\(source)[\($0)]" } ?? source
    switch outcome {
    case .imported(let log, let counts):
      return
        "\(log): \(Figures.count(counts.messages, "message")), "
        + "\(Figures.count(counts.toolCalls + counts.userToolCalls, "call")), "
        + "stop \(counts.stopReason ?? "not recorded")"
        + (counts.unread.first.map { "; calls may have gone unread, first at \($0)" } ?? "")
        + (counts.missing.first.map { ": \($0)" } ?? "")
    case .failed(let error): return "\(place): \(error)"
    }
  }
}

extension VerifyReport {
  /// 0 whole, also with a torn tail; 1 damaged or altered; 2 unreadable.
  var exitCode: Int32 {
    switch status {
    case .whole, .torn: 0
    case .damaged: 1
    case .unreadable: 2
    }
  }

  /// The report for a person: the outcome in one line, then what was found.
  var lines: [String] {
    let size = "\(Figures.count(events, "event")) in \(Figures.count(blocks, "block"))"
    let seal = sealDigest.map { ", last seal \($0)" } ?? ""
    return ["\(path): \(status.rawValue), \(size)\(seal)"]
      + findings.map { "  \($0)" } + notes.map { "  note: \($0)" }
  }

  /// The report as one JSON object.
  var json: JSONValue {
    [
      "log": .string(path), "status": .string(status.rawValue), "events": JSONValue(events),
      "blocks": JSONValue(blocks), "sealDigest": sealDigest.map { .string($0.hex) } ?? .null,
      "findings": .array(
        findings.map { finding in
          [
            "block": finding.block.map { JSONValue($0) } ?? .null,
            "offset": finding.offset.map { JSONValue($0) } ?? .null,
            "seq": finding.seq.map { JSONValue($0) } ?? .null,
            "message": .string(finding.message),
          ]
        }), "notes": JSONValue(notes),
    ]
  }
}
