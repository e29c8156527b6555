import AgentTrace
import Foundation
import TestSupport
import Testing

/// What programs may do wrong, as tools of each kind, through the built program: each ends in the right
/// status, leaves no process behind, holds nothing up, and its run verifies and is made again.
@Suite("Faults of tools")
struct FaultTableTests {
  enum Kind: String, CaseIterable, Sendable {
    case reading, writing, code
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    var name: String
    /// `MARK` stands for a number by which what it leaves running is found.
    var script: String
    /// Of a command: the reason of an error; `nil` where it ends well.
    var reason: String?
    /// Of code: the reason of an error; `nil` where it ends well.
    var codeReason: String?
    var seconds = 30.0
    var memoryBytes: Int?

    var testDescription: String { name }
  }

  private static let timedOut = "timed out after 1 seconds"

  static let faults: [Fault] = [
    Fault(
      name: "a crash", script: "kill -SEGV $$", reason: "killed by SIGSEGV",
      codeReason: "killed by SIGSEGV"),
    Fault(
      name: "a hang", script: "sleep MARK", reason: timedOut, codeReason: timedOut,
      seconds: 1),
    Fault(
      name: "a hang with children that ignores being told to end",
      script: "trap '' TERM; sleep MARK & while :; do sleep 0.1; done", reason: timedOut,
      codeReason: timedOut, seconds: 1),
    Fault(
      name: "half an answer", script: "printf '{\"a\":'",
      reason:
        "standard output is not JSON: the text ends in the middle of a value at byte 5"),
    Fault(
      name: "a gibibyte of output",
      script: "head -c \(TestRun.count(16 << 20, long: 1 << 30)) /dev/zero | tr '\\0' x",
      seconds: TestRun.isLong ? 300 : 30),
    Fault(name: "closed pipes", script: "exec <&- >&- 2>&-; sleep 0.1"),
    Fault(
      name: "an exit code", script: "echo why >&2; exit 3", reason: "exited with 3: why"),
    Fault(
      name: "no UTF-8", script: "printf '\"\\377\"'",
      reason: "standard output is not UTF-8 at byte 1"),
    Fault(
      name: "children that outlive it",
      script: "sleep MARK & (trap '' HUP TERM; sleep MARK) & set -m; sleep MARK & echo 1"),
    Fault(
      name: "more memory than there is for it",
      script: "head -c 900000000 /dev/zero | tail -c 900000000 >/dev/null 2>&1 && echo 1",
      reason: "exited with 1", memoryBytes: 128 << 20),
    Fault(name: "an input that is not read", script: "exec <&-; sleep 0.1; echo 1"),
    Fault(
      name: "an answer as deep as it likes",
      script: "awk 'BEGIN { for (i = 0; i < 100000; i++) printf \"[\" }'",
      reason: "standard output is not JSON: nesting deeper than 128 at byte 128"),
  ]

  private static func agent(_ fault: Fault, _ kind: Kind, mark: String) -> String {
    let script = fault.script.replacingOccurrences(of: "MARK", with: mark)
    let limits = fault.memoryBytes.map { "limits: {memoryBytes: \($0)}" } ?? ""
    let tool =
      kind == .code
      ? "code: {language: sh, isolation: best\(limits.isEmpty ? "" : ", ")\(limits)}"
      : "command: {arguments: [/bin/sh, tool.sh]\(limits.isEmpty ? "" : ", ")\(limits)}"
    let input: JSONValue =
      kind == .code
      ? ["code": .string(script)] : ["text": .string(String(repeating: "x", count: 100_000))]
    return """
      name: faulty
      policy: {rules: [{id: free, verdict: allow}]}
      tools:
        - name: run
          sideEffect: \(kind == .writing ? "write" : "read")
          timeoutSeconds: \(fault.seconds)
          \(tool)
      model:
        script:
          - call: {tool: run, input: \(CanonicalJSON.string(input, form: .plain))}
          - answer: done
      """
  }

  /// The processes that run with a word in their command line.
  private static func processes(with word: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).filter { name in
      guard Int(name) != nil,
        let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
      else { return false }
      return String(decoding: line, as: UTF8.self).contains(word)
    }
  }

  @Test(
    "each ends in the right status, and its run can be relied on", arguments: faults, Kind.allCases)
  func fault(_ fault: Fault, kind: Kind) async throws {
    let folder = try TemporaryFolder()
    let mark = "36\(UInt32.random(in: 10_000_000...99_999_999))"
    try folder.write("agent.yaml", Self.agent(fault, kind, mark: mark))
    try folder.write(
      "tool.sh", fault.script.replacingOccurrences(of: "MARK", with: mark))
    try await Binary.run(
      ["record", "agent.yaml", "go", "--out", "run.jsonl.gz"], in: folder.path,
      environment: ["TMPDIR": folder.path], timeoutSeconds: 120)
    let events = try await Binary.run(["show", "run.jsonl.gz", "--json"], in: folder.path)
      .jsonLines()
    let result = try #require(events.first { $0["type"] == "tool_result" }?["data"])
    if let reason = kind == .code ? fault.codeReason : fault.reason {
      #expect(result["status"] == "error" && result["reason"] == .string(reason), "\(result)")
      // What a tool that writes had done by then nobody knows.
      #expect((result["effect"] == "unknown") == (kind == .writing))
    } else {
      #expect(result["status"] == "ok", "\(result["reason"] ?? .null)")
    }
    #expect(await eventually { Self.processes(with: mark).isEmpty })
    try await Binary.run(["verify", "run.jsonl.gz"], in: folder.path)
    try await Binary.run(
      ["replay", "run.jsonl.gz", "--reexecute", "--agent", "agent.yaml"], in: folder.path)
    #expect(folder.listing.allSatisfy { !$0.hasPrefix("agent-eval-code") })
  }
}
