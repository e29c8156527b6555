import AgentTrace
import Foundation
import TestSupport
import Testing

/// Texts of traces that are workflow commands of GitHub Actions, printed by every verb in a step there.
@Suite("Workflow commands in traces")
struct WorkflowCommandTests {
  private static let hostile =
    "::error::owned1\n  ::warning::owned2\r::add-mask::owned3\r\n\t::set-output name=a::owned4 "
    + "##[error]owned5\n##[group]owned6 \u{1b}[0m::debug::owned7 \u{85}::notice::owned8 "
    + "\u{2028}::stop-commands::owned9\n:::error:::owned ::[[##[[##[command]owned"

  private static let environment = ["GITHUB_ACTIONS": "true", "CI": "true"]

  /// What the runner might take for a command, but for annotations of our own.
  private static func commands(in outcome: Command.Outcome) -> [String] {
    (outcome.output + "\n" + outcome.errors).split(whereSeparator: \.isNewline).map(String.init)
      .filter { line in
        if line.hasPrefix("::error ") || line.hasPrefix("::warning ") {
          // A command ends at its second pair of colons; behind it nothing may begin another.
          let rest = line.dropFirst(2).split(separator: "::", maxSplits: 1)
          return rest.count != 2 || rest[1].contains("::") || line.contains("##[")
        }
        return line.contains("::") || line.contains("##[")
      }
  }

  private static func log(_ text: JSONValue, at path: String) throws {
    let data: [(EventType, JSONObject)] = [
      (
        .runStarted,
        [
          "formatVersion": 1, "agent": ["name": text, "version": text], "goal": text, "limits": [:],
          "policyContext": [:], "tools": [], "case": ["caseId": "c", "trial": 1], "tags": [text],
        ]
      ),
      (
        .decision,
        ["kind": "tool", "calls": [["callId": "1.1.0", "name": text, "input": ["a": text]]]]
      ),
      (.policyDecision, ["callId": "1.1.0", "tool": text, "status": "allow", "reason": text]),
      (
        .toolResult,
        ["callId": "1.1.0", "tool": text, "status": "error", "reason": text, "attempts": 1]
      ),
      (
        .stop,
        [
          "reason": "success", "detail": text, "answer": text, "final": true,
          "evidenceRefs": [text],
        ]
      ),
    ]
    let events = data.enumerated().map { index, entry in
      Event(seq: index, step: index == 0 ? 0 : 1, type: entry.0, runId: "run", data: entry.1)
    }
    try writeLog(events, to: path)
  }

  @Test("no verb lets one through, and annotations of our own stand")
  func verbs() async throws {
    let folder = try TemporaryFolder()
    let text = JSONValue.string(Self.hostile)
    try Self.log(text, at: folder.path("runs/a.jsonl.gz"))
    try Self.log(.string(Self.hostile + "!"), at: folder.path("runs/b.jsonl.gz"))
    let bytes = try folder.read("runs/a.jsonl.gz")
    var changed = bytes
    changed[bytes.count / 2] ^= 4
    try folder.write("damaged.jsonl.gz", changed)
    let failing: JSONValue = [
      "caseId": .string("c ##[error]x ::error::x"), "recording": "../runs/a.jsonl.gz",
      "expected": [
        "stopReason": "blocked", "toolsCalled": ["owned"], "answer": ["$regex": "^x$"],
        "toolsNotCalled": ["*"],
      ],
    ]
    try folder.write("cases/case.json", CanonicalJSON.encode(failing, form: .plain))
    try folder.write(
      "broken/case.json", CanonicalJSON.encode(["caseId": text, "expectd": text], form: .plain))
    try folder.write(
      "trace/run.json",
      CanonicalJSON.encode(
        [["role": "user", "content": text], ["role": text, "content": text]] as JSONValue,
        form: .plain))
    let said = CanonicalJSON.string(text, form: .plain)
    try folder.write(
      "agent.yaml",
      """
      name: speaker
      tools:
        - name: drop
          sideEffect: write
          scripted: [{error: \(said)}]
      policy:
        rules: [{id: ask, tool: drop, verdict: approval_required, reason: \(said)}]
      model:
        script:
          - call: {tool: drop, input: {what: \(said)}}
            say: \(said)
          - answer: \(said)
      """)
    var commands: [[String]] = [
      ["show", "runs/a.jsonl.gz"], ["show", "runs/a.jsonl.gz", "--json"],
      ["show", "damaged.jsonl.gz", "--skip-damaged"], ["verify", "runs", "damaged.jsonl.gz"],
      ["verify", "runs", "--json"], ["replay", "runs/a.jsonl.gz", "--step", "1"],
      ["replay", "runs/a.jsonl.gz", "-c", "goto 3; context; why; state; find owned"],
      ["diff", "runs/a.jsonl.gz", "runs/b.jsonl.gz"],
      ["diff", "runs/a.jsonl.gz", "runs/b.jsonl.gz", "--json"],
      ["repair", "damaged.jsonl.gz", "--out", "repaired.jsonl.gz"],
      ["scrub", "runs/a.jsonl.gz", "--out", "scrubbed.jsonl.gz"], ["check", "cases", "broken"],
      ["run", "broken"], ["run", "cases"], ["run", "cases", "--json"],
      ["run", "cases", "--report", "github"], ["accept", "cases"],
      ["accept", "cases", "--dry-run"], ["mutate", "cases"],
      ["promote", "runs/a.jsonl.gz", "--into", "promoted"], ["index", "runs"], ["list", "runs"],
      ["list", "runs", "--json"], ["query", "runs", "select * from runs"],
      ["query", "runs", "select * from calls"],
      ["query", "runs", "select '::error::x', '##[error]'"],
      ["import", "openai-messages", "trace", "--out", "imported"],
      ["import", "openai-messages", "trace", "--out", "imported2", "--json"],
      ["record", "agent.yaml", "goal \(Self.hostile)", "--out", "paused.jsonl.gz"],
      ["show", "paused.jsonl.gz"], ["approve", "paused.jsonl.gz", "--by", "::error::x"],
      ["resume", "paused.jsonl.gz", "--agent", "agent.yaml"],
      ["policy", "backtest", "runs", "--policy", "agent.yaml"], ["::error::x"],
      ["show", "::error::x ##[error]"], ["schema", "case"], ["history", "runs"],
    ]
    for format in ["json", "junit", "markdown", "gitlab", "sarif", "html"] {
      commands.append(["run", "cases", "--report", format])
    }
    var printed = 0
    for command in commands {
      let outcome = try await Binary.run(
        command, in: folder.path, environment: Self.environment, status: nil)
      if command.contains("html") {
        // Style sheets are ours.
        let page = outcome.output.replacing(#/<style>[\s\S]*?<\/style>/#, with: "")
        #expect(!page.contains("::") && !page.contains("##["))
        #expect(page.contains("owned"))
        continue
      }
      #expect(Self.commands(in: outcome) == [], "\(command)")
      #expect(outcome.status >= 0 && !outcome.isTimedOut, "\(outcome)")
      if outcome.output.contains("owned") || outcome.errors.contains("owned") { printed += 1 }
    }
    // The texts were there to be seen.
    #expect(printed >= 12, "\(printed)")
    let annotated = try await Binary.run(
      ["run", "cases", "--report", "github"], in: folder.path, environment: Self.environment,
      status: 1)
    #expect(annotated.lines.contains { $0.hasPrefix("::error file=") })
    // Elsewhere, and as a value, a text stays what it is.
    let json = try await Binary.run(
      ["show", "runs/a.jsonl.gz", "--json"], in: folder.path, environment: Self.environment)
    #expect(try json.jsonLines().first?["data"]?["goal"] == text)
    let plain = try await Binary.run(["show", "runs/a.jsonl.gz"], in: folder.path)
    #expect(plain.output.contains("::error::owned1"))
  }
}
