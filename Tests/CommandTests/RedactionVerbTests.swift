import AgentTrace
import Foundation
import TestSupport
import Testing

/// Secrets in everything that enters a run, and everything that comes out of the program searched.
@Suite("Secrets on the command line")
struct RedactionVerbTests {
  /// Fifty secrets, each said in a way that shows what it is; every fifth by the name of its key alone.
  private static func secrets(seed: UInt64) -> [(secret: String, said: String)] {
    var generator = Seeded(seed: seed)
    func word(_ count: Int) -> String {
      String(
        (0..<count).map { index in
          (index % 4 == 1 ? "0123456789" : "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ")
            .randomElement(using: &generator) ?? "x"
        })
    }
    return (0..<50).map { index in
      let secret: String
      switch index % 5 {
      case 0: secret = "ghp_" + word(36)
      case 1: secret = "sk-ant-" + word(40)
      case 2: secret = "xoxb-" + word(30)
      case 3: secret = "AKIA" + word(16).uppercased()
      default:
        secret = word(18)
        return (secret, "DB_PASSWORD=\(secret)")
      }
      return (secret, secret)
    }
  }

  private static func agent(_ said: [String]) -> String {
    """
    name: keeper
    system: Use \(said[0]) and \(said[1]); \(said[2]).
    policyContext: {actorId: ana, attributes: {note: "\(said[3])"}}
    memory:
      - {scope: agent, key: login, value: "with \(said[4]) and \(said[5])"}
    tools:
      - name: fetch
        description: Fetches with \(said[6]).
        sideEffect: read
        command: ["./fetch"]
      - name: send
        description: Sends what it is given.
        sideEffect: read
        command: ["./send"]
      - name: break
        sideEffect: read
        command: ["./break"]
      - name: drop
        sideEffect: write
        command: ["./send"]
    policy:
      rules:
        - {id: ask, tool: drop, verdict: approval_required, reason: "not with \(said[7])"}
    human:
      approvals: [{tool: drop, granted: false, by: bo, reason: "because \(said[8])"}]
      answers: [{text: "it is \(said[9])", by: ana}]
    model:
      script:
        - unreachable: "refused for \(said[10])"
        - {call: {tool: fetch, input: {for: "\(said[11])"}}, say: "I know \(said[12])"}
        - {call: {tool: send, input: {found: "${last.data}", also: "\(said[13])"}}}
        - {call: {tool: break, input: {}}}
        - {call: {tool: drop, input: {table: "\(said[14])"}}}
        - ask: "May I use \(said[15])?"
        - answer: "Done with \(said[16])."
    """
  }

  @Test("fifty secrets are in no log, report, index or output, and the tool that needs one gets it")
  func fifty() async throws {
    let folder = try TemporaryFolder()
    let pairs = Self.secrets(seed: 7)
    let said = pairs.map(\.said)
    try folder.write("agent.yaml", Self.agent(said))
    // The first tool returns 20 of them, the second keeps what it gets, the third breaks loudly.
    try folder.write(
      "found.json",
      CanonicalJSON.encode(["list": .array(said[17..<37].map(JSONValue.string))], form: .plain))
    try folder.script("fetch", "cat found.json")
    try folder.script("send", "cat >got.json; echo '{\"sent\": true}'")
    try folder.script(
      "break", "echo 'cannot reach \(said[37..<46].joined(separator: " "))' >&2; exit 3")
    let environment = [
      "SERVICE_API_KEY": pairs[46].secret, "OTHER_TOKEN": pairs[47].secret,
      "AGENT_EVAL_REDACTION_KEY": "k",
    ]
    var outputs: [(what: String, text: String)] = []
    func run(_ arguments: String..., status: Int32? = 0) async throws {
      let outcome = try await Binary.run(
        arguments, in: folder.path, environment: environment, status: status)
      outputs.append(("output of \(arguments)", outcome.output + outcome.errors))
    }
    let goal = "Look at \(said[48]), \(said[49]), \(pairs[46].secret) and \(pairs[47].secret)"
    try await run("record", "agent.yaml", goal, "--out", "runs/run.jsonl.gz", status: nil)
    try folder.write(
      "case.yaml",
      """
      caseId: keeper
      input: x
      recording: runs/run.jsonl.gz
      expected: {stopReason: blocked, toolsNotCalled: [send], answer: {contains: nothing}}
      """)
    try await run("show", "runs/run.jsonl.gz")
    try await run("show", "runs/run.jsonl.gz", "--json")
    try await run("show", "runs/run.jsonl.gz", "--html", "page.html")
    try await run("replay", "runs/run.jsonl.gz", "--step", "2")
    try await run("replay", "runs/run.jsonl.gz", "-c", "goto 12; context; why; state")
    try await run("verify", "runs/run.jsonl.gz")
    try await run("index", "runs")
    try await run("list", "runs", "--json")
    try await run(
      "run", "case.yaml", "--report", "html=report.html", "--report", "junit=report.xml",
      "--report",
      "markdown=report.md", "--report", "sarif=report.sarif", status: nil)
    // With the key of then or another, and without one, it is made again as it was.
    for key in ["k", "another", ""] {
      let outcome = try await Binary.run(
        ["replay", "runs/run.jsonl.gz", "--reexecute", "--agent", "agent.yaml"], in: folder.path,
        environment: ["AGENT_EVAL_REDACTION_KEY": key])
      outputs.append(("re-execution", outcome.output + outcome.errors))
      #expect(outcome.output.contains("faithful"), "\(outcome.output)")
    }
    for name in folder.listing
    where !["agent.yaml", "found.json", "break", "got.json"].contains(name) {
      guard let bytes = try? folder.read(name) else { continue }
      outputs.append((name, String(decoding: bytes, as: UTF8.self)))
    }
    let log = try await shell("zcat runs/run.jsonl.gz", in: folder.path)
    outputs.append(("the log", log.output))
    for (what, text) in outputs {
      for (index, pair) in pairs.enumerated() where text.contains(pair.secret) {
        Issue.record("secret \(index) (\(pair.said)) stands in \(what)")
      }
    }
    // All of it was there: the run went to its end, and each kind of token is in the log.
    #expect(log.output.contains("\"reason\":\"success\""), "\(outputs[0].text)")
    for kind in ["github", "key", "slack", "aws", "password", "environment"] {
      #expect(log.output.contains("«redacted:\(kind):"), "\(kind)")
    }
    let got = try #require(folder.text("got.json"))
    for index in Array(17..<37) + [13] {
      #expect(got.contains(pairs[index].secret), "secret \(index)")
    }
    #expect(!got.contains("«redacted"))
  }

  @Test(
    "the value of a variable that a command is passed is withheld in every form, and given to what needs it",
    arguments: [("SVC_PLACE", "us-east-1-blue"), ("SVC_PIN", "8361027495523")])
  func passedOn(_ variable: (name: String, value: String)) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.json",
      CanonicalJSON.string(
        [
          "name": "passing",
          "policy": ["rules": [["id": "all", "tool": "*", "verdict": "allow"]]],
          "tools": [
            [
              "name": "who", "sideEffect": "read",
              "command": [
                "arguments": [
                  "sh", "-c",
                  .string(
                    "v=$\(variable.name); printf '{\"v\":\"acct-%s\",\"b\":\"%s\",\"pin\":%s}' $v $(printf %s $v | base64 -w0) $(echo $v | grep -xE '[0-9]+' || echo 0)"
                  ),
                ], "environment": ["pass": [.string(variable.name)]],
              ],
            ],
            [
              "name": "pay", "sideEffect": "write",
              "command": ["arguments": ["sh", "-c", "cat > paid.json; echo 1"]],
            ],
          ],
          "model": [
            "script": [
              ["call": ["tool": "who", "input": [:]]],
              [
                "call": [
                  "tool": "pay", "input": ["to": "${last.data.v}", "n": "${last.data.pin}"],
                ]
              ],
              ["answer": "done"],
            ]
          ],
        ], form: .plain))
    try folder.write(
      "case.yaml",
      "caseId: a\nrecording: run.jsonl.gz\nexpected: {toolsNotCalled: [{tool: pay, input: {to: acct-\(variable.value)}}]}\n"
    )
    try await Binary.run(
      ["record", "agent.json", "go", "--out", "run.jsonl.gz"], in: folder.path,
      environment: [variable.name: variable.value])
    let log = try await shell("zcat run.jsonl.gz", in: folder.path).output
    #expect(!log.contains(variable.value) && log.contains("«redacted:environment:"))
    #expect(!log.contains(Data(variable.value.utf8).base64EncodedString()))
    // The effect has the value itself, and of what nobody sees nothing passes.
    #expect(folder.text("paid.json")?.contains("acct-\(variable.value)") == true)
    let judged = try await Binary.run(["run", "case.yaml"], in: folder.path, status: 3)
    #expect(judged.output.contains("inconclusive") || judged.output.contains("cannot"), "\(judged)")
  }

  @Test("with the same key a secret has the same token in every run, without one in none")
  func keys() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile(result: "{token: abcd1234efgh}"))
    func token(_ key: String, _ name: String) async throws -> String {
      try await Binary.run(
        [
          "record", "agent.yaml", "go", "--out", "\(name).jsonl.gz", "--seed", "1", "--fixed-clock",
        ],
        in: folder.path, environment: ["AGENT_EVAL_REDACTION_KEY": key])
      let log = try await shell("zcat \(name).jsonl.gz", in: folder.path).output
      let bytes = Array(log.utf8)
      let range = try #require(RedactionToken.ranges(in: bytes).first)
      return String(decoding: bytes[range], as: UTF8.self)
    }
    #expect(try await token("one", "a") == token("one", "b"))
    #expect(try await token("one", "c") != token("two", "d"))
    #expect(try await token("", "e") != token("", "f"))
  }
}
