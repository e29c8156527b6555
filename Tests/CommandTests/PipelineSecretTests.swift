import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@Suite("Secrets in pipelines")
struct PipelineSecretTests {
  /// Values that are planted; each in another way into the pipeline.
  private static let secrets = [
    "given": "Zk3vQ9xw7LpT2mRb", "inline": "hB7nW4yq1DsK8jVc", "printed": "pX5tG2zu9FoM6kEa",
    "environment": "rC8dJ3wi5HnY7bQs", "said": "vL6gS1xe4TfP9mZo",
  ]

  private static func makeFolder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml",
      """
      pipeline: vault
      tasks:
        - id: login
          command: [./login.sh, --password, "\(secrets["inline"] ?? "")"]
          input: {password: "${input.password}"}
          sideEffect: read
        - id: use
          command: {arguments: [./use.sh, "${login.token}", "${input.password}"], environment: {pass: [SIDE_DOOR]}}
          input: {token: "${login.token}"}
          sideEffect: write
          idempotent: true
          compensate: {command: [./undo.sh, "${login.token}", "${output.note}"]}
        - id: ask
          human: {ask: "Code for ${login.token}?", show: {was: "${use}"}}
        - id: fail
          command: [./fail.sh, "${login.token}"]
          input: {by: "${ask.by}"}
          sideEffect: read
      """)
    for (name, body) in [
      (
        "login.sh",
        "cat >stdin.login\necho \"$2\" >saw.inline\n"
          + "echo '{\"token\": \"\(secrets["printed"] ?? "")\", \"user\": \"ana\"}'\n"
      ),
      (
        "use.sh",
        "cat >stdin.use\necho \"$1 $2\" >saw.use\necho \"{\\\"note\\\": \\\"$SIDE_DOOR\\\"}\"\n"
      ),
      ("undo.sh", "echo \"$1 $2\" >saw.undo\necho null\n"),
      ("fail.sh", "echo \"cannot use $1\" >&2\nexit 3\n"),
    ] {
      let path = try folder.write(name, "#!/bin/sh\n" + body)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    return folder
  }

  private static func text(_ folder: TemporaryFolder, _ name: String) throws -> String {
    try String(contentsOfFile: folder.path(name), encoding: .utf8)
  }

  private static func expectNoSecret(in text: String, _ place: String) {
    for (name, secret) in secrets {
      #expect(!text.contains(secret), "\(name) stands in \(place)")
    }
  }

  private static let environment = ["SIDE_DOOR": secrets["environment"] ?? ""]

  @Test(
    "no secret reaches a log, a page or a result, and every program gets the plain values; a rollback too"
  )
  func planted() async throws {
    let folder = try Self.makeFolder()
    let input = "{\"password\": \"\(Self.secrets["given"] ?? "")\"}"
    let outputs = try await [
      Binary.run(
        ["record", "p.yaml", "--input", input, "--out", "r.jsonl.gz"], in: folder.path,
        environment: Self.environment, status: 1),
      Binary.run(
        [
          "answer", "r.jsonl.gz", "password is '\(Self.secrets["said"] ?? "")'", "--by", "ana",
        ], in: folder.path, environment: Self.environment),
    ]
    for outcome in outputs {
      Self.expectNoSecret(in: outcome.output + outcome.errors, "a verb's output")
    }
    // What programs were given.
    #expect(try Self.text(folder, "stdin.login").contains(Self.secrets["given"] ?? "?"))
    #expect(try Self.text(folder, "saw.inline") == (Self.secrets["inline"] ?? "") + "\n")
    #expect(
      try Self.text(folder, "saw.use")
        == "\(Self.secrets["printed"] ?? "") \(Self.secrets["given"] ?? "")\n")
    for arguments in [
      ["show", "r.jsonl.gz", "--json"], ["show", "r.jsonl.gz", "--full"],
      ["show", "r.jsonl.gz", "--tree"],
    ] {
      let shown = try await Binary.run(arguments, in: folder.path)
      Self.expectNoSecret(in: shown.output, arguments.joined(separator: " "))
      #expect(shown.output.contains("«redacted:"))
    }
    try await Binary.run(["show", "r.jsonl.gz", "--html", "page.html"], in: folder.path)
    Self.expectNoSecret(in: try Self.text(folder, "page.html"), "the page")
    try await Binary.run(["verify", "r.jsonl.gz"], in: folder.path)
    let again = try await Binary.run(
      ["replay", "r.jsonl.gz", "--reexecute", "--agent", "p.yaml"], in: folder.path)
    #expect(again.output.hasPrefix("faithful"))
  }

  @Test("what went with the process that held it fails the task that needs it, and says so")
  func gone() async throws {
    let folder = try Self.makeFolder()
    let input = "{\"password\": \"\(Self.secrets["given"] ?? "")\"}"
    try await Binary.run(
      ["record", "p.yaml", "--input", input, "--out", "r.jsonl.gz"], in: folder.path,
      environment: Self.environment, status: 1)
    try await Binary.run(["approve", "r.jsonl.gz", "ask", "--by", "ana"], in: folder.path)
    let resumed = try await Binary.run(
      ["resume", "r.jsonl.gz", "--agent", "p.yaml"], in: folder.path,
      environment: Self.environment, status: 1)
    #expect(resumed.output.contains("failed     fail: input: the value of «redacted:"))
    #expect(resumed.output.contains("is no longer there"))
    // The definition holds a secret and is the same as before all the same.
    #expect(!resumed.errors.contains("is not the one from before"))
    Self.expectNoSecret(in: resumed.output + resumed.errors, "resume's output")
  }

  @Test("an agent that a task is sees the token, and its tools get the value")
  func agents() async throws {
    let folder = try Self.makeFolder()
    try folder.write(
      "agent.yaml",
      """
      name: caller
      tools:
        - name: call
          description: Calls.
          sideEffect: read
          inputSchema: {type: object}
          command: [./tool.sh]
      model:
        script:
          - call: {tool: call, input: {say: "${goal}"}}
          - answer: done
      """)
    try folder.write(
      "q.yaml",
      """
      pipeline: agents
      tasks:
        - id: login
          command: [./login.sh, --password, x]
          sideEffect: read
        - id: act
          agent: agent.yaml
          input: {goal: "use ${login.token} now"}
      """)
    let path = try folder.write("tool.sh", "#!/bin/sh\ncat >stdin.tool\necho null\n")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    try await Binary.run(["record", "q.yaml", "--out", "runs/r.jsonl.gz"], in: folder.path)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path("runs")) {
      let shown = try await Binary.run(["show", folder.path("runs/\(name)"), "--json"])
      Self.expectNoSecret(in: shown.output, name)
      #expect(shown.output.contains("«redacted:"))
    }
    #expect(FileManager.default.fileExists(atPath: folder.path("stdin.tool")))
  }

  @Test("a pipeline's file says what else is withheld from its log")
  func patterns() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml",
      """
      pipeline: orders
      redaction: {patterns: [{kind: order, pattern: "ORD-[0-9]{6}"}]}
      tasks:
        - id: one
          command: [printf, '{"order": "%s"}', ORD-123456]
          sideEffect: read
        - id: two
          command: [printf, '{"length": %d}', "${one.order}"]
          sideEffect: read
          recover: [{on: "*", do: skip}]
      """)
    try await Binary.run(["record", "p.yaml", "--out", "r.jsonl.gz"], in: folder.path)
    let shown = try await Binary.run(["show", "r.jsonl.gz", "--json"], in: folder.path)
    #expect(!shown.output.contains("ORD-123456"))
    #expect(shown.output.contains("«redacted:order:"))
  }
}
