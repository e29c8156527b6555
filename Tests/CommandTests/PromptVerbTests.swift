import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("Instructions that name what a run is about")
struct PromptVerbTests {
  /// The first message of each packet.
  private static func instructions(_ log: String) throws -> [String] {
    try readLog(log).filter { $0.type == .contextBuilt }.map {
      $0.data["prompt"]?["messages"]?[0]?["content"]?[0]?["text"]?.stringValue ?? ""
    }
  }

  private static func agent(_ system: String, more: String = "") -> String {
    """
    name: desk
    \(more)
    system: \(system)
    tools: [{name: look, sideEffect: read, scripted: [{ok: 1}]}]
    model: {script: [{call: {tool: look, input: {}}}, {answer: done}]}
    """
  }

  @Test(
    "a value is put in as data, and what it holds is no template again",
    arguments: [
      ("${policyContext.tenantId}", "acme"), ("${policyContext.actorId}", "ana"),
      ("${policyContext.route}", "billing"), ("${policyContext.attributes.tier}", "gold"),
      ("${policyContext.attributes.limits.daily}", "50"),
      ("${policyContext.attributes.list.1}", "b"),
      ("${policyContext.attributes.evil}", "${policyContext.tenantId}"),
      ("${policyContext.attributes.limits}", #"{"daily":50}"#), ("${input}", "Go on."),
      ("${memory.actor.a.b}", "note"), ("${memory.run.n}", #"[1,2]"#), ("${agent.name}", "desk"),
      ("${date}", "2026-01-01"), ("a $${date} b", "a ${date} b"), ("${date", "${date"),
      ("$ {date} {date}", "$ {date} {date}"), ("${date}${date}", "2026-01-012026-01-01"),
    ])
  func filled(text: String, said: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      Self.agent(
        "'<\(text)>'",
        more: """
          policyContext: {actorId: ana, tenantId: acme, route: billing, attributes: {tier: gold, limits: {daily: 50}, list: [a, b], evil: "${policyContext.tenantId}"}}
          memory: [{scope: actor, key: a.b, value: note}, {scope: run, key: n, value: [1, 2]}]
          """))
    try await Binary.run(
      ["record", "agent.yaml", "Go on.", "--out", "run.jsonl.gz", "--fixed-clock"], in: folder.path)
    let log = folder.path("run.jsonl.gz")
    #expect(try Self.instructions(log) == ["<\(said)>", "<\(said)>"])
    // Where it came from is said with the message, unless nothing was put in.
    let reason = try readLog(log).first { $0.type == .contextBuilt }?.data["included"]?[0]?[
      "reason"]?.stringValue
    #expect((reason?.contains(", with ") ?? false) == (said != text.replacing("$$", with: "$")))
    let again = try await Binary.run(
      ["replay", "--reexecute", "run.jsonl.gz", "--agent", "agent.yaml"], in: folder.path)
    #expect(again.output.contains("faithful"))
  }

  @Test(
    "what is no variable, or not known yet, is told with its place",
    arguments: [
      ("system: \"${policyContext.tenant}\"", "did you mean ${policyContext.tenantId}?"),
      ("system: \"${x}\"", "write $${ for a plain ${"),
      ("system: \"${}\"", "names ${}, which is no variable"),
      ("system: \"${input.}\"", "names ${input.}, which is no variable"),
      ("system: \"${memory.actor.x}\"", "does not stand under “memory”"),
      ("system: hi\ngoal: \"${date}\"", "goal: names ${date}, which is not known before a run"),
      ("system: [{text: a, file: b}]", "has “text” and “file”; one of them is allowed"),
      ("system: [{id: a}]", "needs either “text” or “file”"), ("system: []", "should not be empty"),
      ("system: [{file: nowhere.md}]", "no such file"),
      ("system: [{file: bytes.md}]", "is not UTF-8"),
      ("system: [{file: .}]", "system[0].file: the file"),
      ("system: [{id: a, text: x}, {id: a, text: y}]", "is there already, at part 1"),
      ("system: [{text: x, when: {}}]", "when"), ("system: 5", "a text, or a list of parts"),
      ("system: a\nexamples: [{user: a}]", "assistant"),
    ])
  func mistakes(lines: String, message: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("bytes.md", [0xff, 0xfe] as [UInt8])
    try folder.write("agent.yaml", "name: a\n\(lines)\nmodel: {script: [{answer: x}]}\n")
    let outcome = try await Binary.run(["check", "agent.yaml"], in: folder.path, status: 2)
    #expect(
      (outcome.output + outcome.errors).contains(message), "\(outcome.output)\(outcome.errors)")
  }

  @Test(
    "a run that lacks what they name does not begin, and leaves no log",
    arguments: [
      ("${policyContext.tenantId}", "--tenant"),
      ("${policyContext.attributes.tier}", "--attribute"), ("${input.order}", "does not hold it"),
    ])
  func missing(text: String, advice: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent("\"\(text)\""))
    let outcome = try await Binary.run(
      ["record", "agent.yaml", "go", "--out", "runs/"], in: folder.path, status: 2)
    #expect(outcome.errors.contains(text) && outcome.errors.contains(advice), "\(outcome.errors)")
    let left = try? FileManager.default.subpathsOfDirectory(atPath: folder.path("runs"))
    #expect(left?.filter { $0.hasSuffix(".gz") || $0.hasSuffix(".open") } ?? [] == [])
  }

  @Test(
    "parts are said when they are to be, and a file that changes is a divergence of the context")
  func parts() async throws {
    let folder = try TemporaryFolder()
    try folder.write("prompts/base.md", "Be brief.\n")
    try folder.write(
      "agent.yaml",
      Self.agent(
        """

          - {id: base, file: prompts/base.md}
          - {id: billing, when: {route: billing}, text: Refunds need an order.}
          - {id: late, when: {after: look}, text: Come to an end.}
        """, more: "examples: [{user: \"2+2?\", assistant: \"4\"}]"))
    for (route, first) in [
      ("billing", "Be brief.\n\nRefunds need an order."), ("other", "Be brief."),
    ] {
      let log = folder.path("\(route).jsonl.gz")
      try await Binary.run(
        ["record", "agent.yaml", "go", "--out", log, "--route", route], in: folder.path)
      #expect(try Self.instructions(log) == [first, first + "\n\nCome to an end."])
      let packet = try #require(try readLog(log).first { $0.type == .contextBuilt })
      let roles = packet.data["prompt"]?["messages"]?.arrayValue?.map { $0["role"]?.stringValue }
      #expect(roles == ["system", "user", "assistant", "user"])
      let left = packet.data["omittedRefs"]?.arrayValue?.compactMap { $0["ref"]?.stringValue }
      #expect(left == (route == "other" ? ["system:billing", "system:late"] : ["system:late"]))
    }
    try folder.write("prompts/base.md", "Be long.\n")
    let again = try await Binary.run(
      ["replay", "--reexecute", "billing.jsonl.gz", "--agent", "agent.yaml"], in: folder.path,
      status: 1)
    #expect(again.output.contains("event 1: context"), "\(again)")
    #expect(again.output.contains("The prompt first differs in the agent's instructions."))
  }

  @Test("tools are described to each tenant in its own words, in the log and to the model")
  func descriptions() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: desk
      goal: Help ${policyContext.tenantId}.
      tools: [{name: look, description: "Orders of ${policyContext.tenantId}.", sideEffect: read, scripted: [{ok: 1}]}]
      model: {script: [{answer: done}]}
      """)
    for tenant in ["acme", "bolt"] {
      try await Binary.run(
        ["record", "agent.yaml", "--out", "\(tenant).jsonl.gz", "--tenant", tenant],
        in: folder.path)
      let start = try #require(try readLog(folder.path("\(tenant).jsonl.gz")).first)
      #expect(start.data["goal"] == .string("Help \(tenant)."))
      #expect(start.data["tools"]?[0]?["description"] == .string("Orders of \(tenant)."))
      let again = try await Binary.run(
        ["replay", "--reexecute", "\(tenant).jsonl.gz", "--agent", "agent.yaml"], in: folder.path)
      #expect(again.output.contains("faithful"))
    }
  }
}
