import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceImporting

/// Sources in which a call stands where no reader of their format looks, contradicts one that is read, or is only spoken
/// of. Nobody may come to believe that it did not happen.
struct CallSightingTests {
  /// A source: the tool that it calls is `delete_file`, where it names one.
  struct Source: Sendable, CustomTestStringConvertible {
    var title: String
    var name: String
    var text: String
    var testDescription: String { title }
  }

  static let sources: [Source] = {
    guard let text = try? Project.text("Fixtures/hidden-calls.json"),
      let value = try? JSONValue(parsing: Array(text.utf8))
    else { return [] }
    return (value.objectValue ?? [:]).compactMap { member in
      guard let name = member.value["name"]?.stringValue,
        let text = member.value["text"]?.stringValue
      else { return nil }
      return Source(title: member.key, name: name, text: text)
    }
  }()

  /// Whether of each run it is said that calls may be missing, or the call is there.
  private static func isSeenOrMarked(_ file: ImportedFile) -> Bool {
    file.logs.allSatisfy { events in
      let started = events.first { $0.type == .runStarted }?.data
      if started?["recorded"]?["calls"]?.stringValue == "partial" { return true }
      return events.contains { event in
        event.type == .decision
          && (event.data["calls"]?.arrayValue ?? []).contains {
            ["delete_file", "save_note"].contains($0["name"]?.stringValue ?? "")
          }
      }
    }
  }

  @Test("a call that stands where no reader looks is seen or marked", arguments: sources)
  func hidden(_ source: Source) throws {
    let file = try ImportedFile(source.text, name: source.name)
    #expect(Self.isSeenOrMarked(file) && file.reports.isEmpty == false)
  }

  @Test("there are many such sources, and each is read")
  func sourcesAreThere() throws {
    #expect(Self.sources.count > 60)
    for source in Self.sources {
      #expect(try !ImportedFile(source.text, name: source.name).logs.isEmpty, "\(source.title)")
    }
  }

  /// Forms of one call, as other tools and versions write it.
  private static let forms: [String] = [
    #"{"type":"tool_use","id":"x","name":"delete_file","input":{"p":1}}"#,
    #"{"type":"function","function":{"name":"delete_file","arguments":"{\"p\":1}"}}"#,
    #"{"functionCall":{"name":"delete_file","args":{"p":1}}}"#,
    #"{"tool_calls":[{"function":"delete_file","arguments":{"p":1}}]}"#,
    #"{"toolCalls":"[{\"name\":\"delete_file\"}]"}"#,
    #"{"part_kind":"tool-call","tool_name":"delete_file","args":"{\"p\":1}"}"#,
    #"{"name":"delete_file","args":{"p":1},"id":"x"}"#,
    #"{"toolUse":{"toolUseId":"x","name":"delete_file","input":{}}}"#,
    #"{"llm.output_messages.1.message.tool_calls.0.tool_call.function.name":"delete_file"}"#,
    #"{"gen_ai.tool.name":"delete_file"}"#,
  ]

  /// A session, a log of Inspect, a trajectory and a rollout without such a call, with a place for one.
  private static let places: [(name: String, text: String)] = [
    (
      "s.jsonl",
      #"{"type":"user","uuid":"u1","sessionId":"s","parentUuid":null,"isSidechain":false,"message":{"role":"user","content":"hi"}}"#
        + "\n"
        + #"{"type":"assistant","uuid":"u2","sessionId":"s","parentUuid":"u1","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"done"}]}}"#
        + "\n"
        + #"{"type":"attachment","uuid":"u3","sessionId":"s","parentUuid":"u2","attachment":{"a":[HERE]}}"#
        + "\n"
    ),
    (
      "a.json",
      #"{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":1,"epoch":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"done"}],"events":[{"event":"info","data":HERE}],"output":{}}]}"#
    ),
    (
      "a.json",
      #"{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"hi"},{"step_id":2,"source":"agent","message":"done","metrics":{"more":HERE}}]}"#
    ),
    (
      "r.jsonl",
      #"{"timestamp":"2026-01-01T10:00:00Z","type":"session_meta","payload":{"id":"a","timestamp":"2026-01-01T10:00:00Z","cwd":"/w","instructions":null}}"#
        + "\n"
        + #"{"timestamp":"2026-01-01T10:00:01Z","type":"turn_context","payload":{"model":"m","more":HERE}}"#
        + "\n"
        + #"{"timestamp":"2026-01-01T10:00:02Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}"#
        + "\n"
    ),
  ]

  @Test("whatever a call looks like, wherever it stands, it is seen or marked, and data is no call")
  func anyFormAnywhere() throws {
    for place in Self.places {
      for form in Self.forms {
        let file = try ImportedFile(place.text.replacing("HERE", with: form), name: place.name)
        #expect(!file.logs.isEmpty && Self.isSeenOrMarked(file), "\(form) in \(place.text)")
      }
      // Words about files say nothing of a call.
      for data in [
        #"{"path":"delete_file","size":3}"#, "null", #"{"text":"delete_file(1)","name":"x"}"#,
      ] {
        let file = try ImportedFile(place.text.replacing("HERE", with: data), name: place.name)
        let started = try #require(file.logs.first?.first { $0.type == .runStarted }?.data)
        #expect(started["recorded"]?["calls"] == nil, "\(data) in \(place.text)")
      }
    }
  }

  @Test("bytes behind a compressed file that are no member of it are damage, unless they are zeros")
  func compressedTail() throws {
    // A log of Inspect.
    let packed = try #require(
      Data(
        base64Encoded:
          "H4sIAAAAAAACA1WOsQrDMAxE/+XmLO3oXykdjC0a09gKlpzF5N97lBIoWsSd3kMTh3Qr2hDuC8yjD0OAjZTEDAvkiB"
          + "vChEd7s3BGVbMwQ8VJJNZ9EzKPiZIRbkR2Tet3q3TE16/tugmpYdIpSdpcmjNYCz1XHc0K32j+d5O1Cc4n5wP3DFl8"
          + "sQAAAA=="))
    for (tail, isRead) in [
      ([], true), (Array(repeating: UInt8(0), count: 500), true), (Array("{}\n".utf8), false),
      ([0x1f, 0x8b, 8], false), ([0, 0, 1], false),
    ] {
      let folder = try TemporaryFolder()
      let path = "\(folder.path)/a.json.gz"
      try (packed + Data(tail)).write(to: URL(fileURLWithPath: path))
      var failed = 0
      var logs = 0
      try Importer(format: nil, output: "\(folder.path)/out").run(paths: [path]) {
        if case .imported = $0.outcome { logs += 1 } else { failed += 1 }
      }
      #expect((logs == 1) == isRead, "\(tail.prefix(4))")
      #expect(isRead || failed == 1)
    }
  }
}
