import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import EvalLoading

@Suite("init")
struct InitVerbTests {
  private static let files = [
    ".agent-eval/.gitignore", ".agent-eval/schemas/agent.schema.json",
    ".agent-eval/schemas/case.schema.json", ".agent-eval/schemas/policy.schema.json",
    ".github/workflows/evals.yml", "EvalCases/refunds.yaml",
    "EvalCases/accepted/refund-is-issued-when-approved.txt",
    "EvalCases/accepted/refund-waits-for-approval.txt", "agents/support.yaml",
    "policies/support.yaml",
  ]

  /// The files in a folder, without the folders.
  private static func files(in folder: TemporaryFolder) -> [String] {
    folder.listing.filter { folder.text($0) != nil }
  }

  @Test(
    "nothing that is there is overwritten, and nothing else is made beside it", arguments: files)
  func taken(name: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(name, "mine\n")
    let mayBeThere = name.hasPrefix(".agent-eval/")
    let outcome = try await Binary.run(["init"], in: folder.path, status: mayBeThere ? 0 : 2)
    #expect(folder.text(name) == "mine\n")
    guard !mayBeThere else { return }
    // Of baselines the whole folder has to be free.
    let told = name.hasPrefix("EvalCases/accepted/") ? "EvalCases/accepted" : name
    #expect(outcome.errors.contains("\(told) is there already"), "\(outcome)")
    #expect(Self.files(in: folder) == [name])
  }

  @Test("a link that leads nowhere is something that is there")
  func link() async throws {
    let folder = try TemporaryFolder()
    try folder.link("agents/support.yaml", to: "../../outside.yaml")
    try await Binary.run(["init"], in: folder.path, status: 2)
    #expect(folder.listing == ["agents", "agents/support.yaml"])
  }

  @Test("where one file cannot be made, those before it are taken away again")
  func half() async throws {
    let folder = try TemporaryFolder()
    try folder.write("policies", "a file in the way\n")
    let outcome = try await Binary.run(["init"], in: folder.path, status: 2)
    #expect(outcome.errors.contains("policies/support.yaml cannot be written"), "\(outcome)")
    #expect(folder.listing == ["policies"])
  }

  @Test("what is made has no mistake, and passes at once", arguments: [".", "new/project"])
  func passes(name: String) async throws {
    let folder = try TemporaryFolder()
    let made = try await Binary.run(["init"] + (name == "." ? [] : [name]), in: folder.path)
    let prefix = name == "." ? "" : "\(name)/"
    #expect(made.lines.first == "made   \(prefix)EvalCases/refunds.yaml")
    for file in Self.files { #expect(folder.text(prefix + file)?.isEmpty == false, "\(file)") }
    let place = folder.path(name)
    let checked = try await Binary.run(["check", "."], in: place)
    #expect(checked.output == "" && checked.errors == "no mistakes\n")
    for environment in [[:], ["CI": "true"]] {
      let run = try await Binary.run(["run", "EvalCases"], in: place, environment: environment)
      #expect(run.output.hasSuffix("\n2 cases: 2 passed\n"), "\(run)")
      #expect(!run.output.contains("warning"))
      let compared = try await Binary.run(
        ["run", "EvalCases", "--against", "accepted"], in: place, environment: environment)
      #expect(compared.output.hasSuffix(": 0 regressed, 2 same\n"), "\(compared)")
    }
    // No file that a run leaves behind is one to commit.
    try await shell(
      "git init -q . && git add -A && ! git status --porcelain | grep -q jsonl", in: place)
    try await Binary.run(["init"], in: place, status: 2)
  }

  @Test("from an empty folder: green, broken, told by its first difference, accepted, green again")
  func flow() async throws {
    let folder = try TemporaryFolder()
    @discardableResult
    func run(_ arguments: String..., status: Int32) async throws -> Command.Outcome {
      try await Binary.run(
        ["run", "EvalCases"] + arguments, in: folder.path, environment: ["CI": "true"],
        status: status)
    }
    func change(_ file: String, _ text: String, to other: String) throws {
      let old = try #require(folder.text(file))
      #expect(old.contains(text))
      try folder.write(file, old.replacing(text, with: other))
    }
    try await Binary.run(["init"], in: folder.path)
    let first = try await run(status: 0)
    #expect(first.output.hasSuffix("\n2 cases: 2 passed\n"))

    // Policy lets refunds go by themselves.
    try change("policies/support.yaml", "verdict: approval_required", to: "verdict: allow")
    let broken = try await run("--against", "accepted", "--json", status: 1).json()
    let worst = broken["cases"]?[0]
    #expect(worst?["caseId"] == "refund-waits-for-approval")
    let difference = worst?["comparison"]?["differences"]?[0]
    #expect(difference?["kind"] == "verdict" && difference?["step"] == 2, "\(difference ?? .null)")
    #expect(difference?["accepted"]?.stringValue?.contains("approval_required") == true)
    #expect(difference?["actual"]?.stringValue?.contains("allow") == true)
    let told = try await run("--against", "accepted", status: 1)
    #expect(
      told.output.contains(
        "first difference, step 2\n"
          + "               ✗ call 2 (issue_refund) verdict: approval_required → allow\n"),
      "\(told)")
    try change("policies/support.yaml", "verdict: allow", to: "verdict: approval_required")
    try await run("--against", "accepted", status: 0)

    // The agent takes another look, on purpose: no case fails, but it costs more.
    try change(
      "agents/support.yaml", "    - call: {tool: issue_refund",
      to: "    - call: {tool: lookup_order, input: {orderId: \"1234\"}}\n"
        + "      usage: {inputTokens: 260, outputTokens: 20, cost: 0.0005}\n"
        + "    - call: {tool: issue_refund")
    try await run(status: 0)
    let another = try await run("--against", "accepted", "--json", status: 1).json()
    #expect(another["cases"]?[0]?["outcome"] == "pass")
    #expect(another["cases"]?[0]?["comparison"]?["kind"] == "regressed", "\(another)")

    // Not by the build itself.
    try await Binary.run(
      ["accept", "EvalCases", "--all"], in: folder.path, environment: ["CI": "true"], status: 2)
    try await Binary.run(["accept", "EvalCases", "--all"], in: folder.path)
    let again = try await run("--against", "accepted", status: 0)
    #expect(again.output.hasSuffix(": 0 regressed, 2 same\n"), "\(again)")
    // What was accepted is small enough to be read in a change.
    let baseline = try #require(
      folder.text("EvalCases/accepted/refund-waits-for-approval.txt"))
    #expect(baseline.split(separator: "\n").filter { $0 == "  call lookup_order" }.count == 2)
    #expect(baseline.split(separator: "\n").count < 40)
  }

  @Test("each service gets its own workflow, which asks for the action and the jobs that there are")
  func workflows() async throws {
    let folder = try TemporaryFolder()
    for service in ["github", "gitlab", "none"] {
      try await Binary.run(["init", service, "--ci", service], in: folder.path)
      for file in ["EvalCases/refunds.yaml", "agents/support.yaml", "policies/support.yaml"] {
        // An editor finds the schema that the first line names, and it is this program's.
        let first = try #require(folder.text("\(service)/\(file)")?.split(separator: "\n").first)
        let kind =
          file.hasPrefix("EvalCases") ? "case" : file.hasPrefix("agents") ? "agent" : "policy"
        let schema = ".agent-eval/schemas/\(kind).schema.json"
        #expect(first == "# yaml-language-server: $schema=../\(schema)")
        let printed = try await Binary.run(["schema", kind])
        #expect(folder.text("\(service)/\(schema)") == printed.output)
      }
    }
    try await Binary.run(["init", "x", "--ci", "jenkins"], in: folder.path, status: 64)
    func root(_ path: String) throws -> JSONValue {
      let document = SourceDocument(path: path)
      #expect(document.diagnostics.isEmpty)
      return try #require(document.roots.first?.value)
    }
    let version = try await Binary.run(["--version"]).lines[0]
    let workflow = try root(folder.path("github/.github/workflows/evals.yml"))
    let steps = workflow["jobs"]?["evals"]?["steps"]?.arrayValue ?? []
    let step = try #require(steps.last)
    #expect(step["uses"]?.stringValue == "agent-eval/agent-eval@v\(version)")
    let inputs = try root(Project.path("action.yml"))["inputs"]?.objectValue ?? [:]
    #expect(step["with"]?.objectValue?.keys.allSatisfy { inputs[$0] != nil } == true)

    let pipeline = try root(folder.path("gitlab/.gitlab-ci.yml"))
    let include = pipeline["include"]?[0]
    #expect(include?["ref"]?.stringValue == "v\(version)")
    let template = try root(Project.path(try #require(include?["file"]?.stringValue)))
    let job = try #require(pipeline["evals"])
    #expect(template[job["extends"]?.stringValue ?? ""] != nil)
    let variables = template[".agent-eval"]?["variables"]?.objectValue ?? [:]
    #expect(job["variables"]?.objectValue?.keys.allSatisfy { variables[$0] != nil } == true)
    #expect(!folder.listing.contains { $0.hasPrefix("none/.git") })
  }

  // MARK: - From recorded runs

  /// Copies runs of the project into a folder.
  private static func copy(_ from: String, to folder: TemporaryFolder, as name: String) async throws
  {
    try await shell(
      "mkdir -p \"$(dirname '\(name)')\" && cp -R '\(Project.path(from))' '\(name)'",
      in: folder.path)
  }

  @Test(
    "from recorded runs, whoever wrote them down: rules that hold on all of them at once, and a workflow that asks for them",
    arguments: ["Fixtures/runs", "Fixtures/your-traces"], ["github", "gitlab"])
  func fromRuns(source: String, service: String) async throws {
    let folder = try TemporaryFolder()
    try await Self.copy(source, to: folder, as: "what was recorded/here")
    let path = "what was recorded/here"
    let made = try await Binary.run(
      ["init", "--from", path, "--ci", service], in: folder.path, status: nil)
    #expect(made.lines.first?.hasPrefix("read   ") == true, "\(made)")
    #expect(made.lines.contains("made   EvalCases/rules.yaml"))
    #expect(
      made.lines.last == "next   agent-eval run EvalCases/rules.yaml --on '\(path)'", "\(made)")
    let unread = made.errors.contains("could not be read")
    #expect(made.status == (unread ? 2 : 0))
    let checked = try await Binary.run(["check", "EvalCases"], in: folder.path)
    #expect(checked.errors == "no mistakes\n")
    let run = try await Binary.run(
      ["run", "EvalCases/rules.yaml", "--on", path, "--json"], in: folder.path, status: nil
    ).json()
    let cases = try #require(run["cases"]?.arrayValue)
    #expect(cases.count > 3)
    for judged in cases where judged["caseId"]?.stringValue?.hasPrefix("unreadable/") != true {
      #expect(judged["outcome"] == "pass", "\(judged)")
    }
    // What the workflow asks for, word by word.
    let file = service == "github" ? ".github/workflows/evals.yml" : ".gitlab-ci.yml"
    let workflow = try #require(SourceDocument(path: folder.path(file)).roots.first?.value)
    let said =
      service == "github"
      ? workflow["jobs"]?["evals"]?["steps"]?.arrayValue?.last?["with"]
      : workflow["evals"]?["variables"]
    let (paths, arguments) =
      service == "github" ? ("paths", "arguments") : ("AGENT_EVAL_PATHS", "AGENT_EVAL_ARGUMENTS")
    #expect(said?[paths] == "EvalCases/rules.yaml")
    #expect(said?[arguments]?.stringValue == "--on\n\(path)")
    // Again: nothing is touched.
    let again = try await Binary.run(["init", "--from", path], in: folder.path, status: 2)
    #expect(again.errors.contains("EvalCases/rules.yaml"), "\(again)")
  }

  @Test("runs outside of the project get rules, and no workflow that could not reach them")
  func outside() async throws {
    let folder = try TemporaryFolder()
    let runs = Project.path("Fixtures/runs")
    let asked = try await Binary.run(
      ["init", "shop", "--from", runs, "--ci", "github"], in: folder.path, status: 2)
    #expect(asked.errors.contains("nothing was made"), "\(asked)")
    #expect(Self.files(in: folder) == [])
    let made = try await Binary.run(["init", "shop", "--from", runs], in: folder.path)
    #expect(made.errors.contains("no workflow was made"), "\(made)")
    #expect(
      Self.files(in: folder).filter { !$0.hasPrefix(".agent-eval/imports") } == [
        "shop/.agent-eval/.gitignore", "shop/.agent-eval/schemas/case.schema.json",
        "shop/EvalCases/rules.yaml",
      ])
    let next = try #require(made.lines.last?.split(separator: " ", maxSplits: 2).last)
    let run = try await shell(
      "\"$0\" \(next)", in: folder.path)
    #expect(run.output.contains(" passed"), "\(run)")
  }

  @Test(
    "where there is no run, or none that can be read, nothing is made",
    arguments: ["missing", "empty", "notes"])
  func noRuns(name: String) async throws {
    let folder = try TemporaryFolder()
    try await shell("mkdir empty", in: folder.path)
    try folder.write("notes/today.txt", "Buy bread.\n")
    let outcome = try await Binary.run(["init", "--from", name], in: folder.path, status: 2)
    #expect(outcome.errors.contains("nothing was made"), "\(outcome)")
    #expect(folder.text("EvalCases/rules.yaml") == nil && outcome.output.isEmpty)
  }

  // MARK: - A workflow for what is there

  @Test(
    "a project that is there gets the workflow alone, which judges its cases and compares where something was accepted",
    arguments: ["github", "gitlab"], [true, false])
  func added(service: String, isAccepted: Bool) async throws {
    let folder = try TemporaryFolder()
    try await Binary.run(["init", "--ci", "none"], in: folder.path)
    if !isAccepted { try await shell("rm -r EvalCases/accepted", in: folder.path) }
    let before = Self.files(in: folder)
    let made = try await Binary.run(["init", "--ci", service], in: folder.path)
    let file = service == "github" ? ".github/workflows/evals.yml" : ".gitlab-ci.yml"
    #expect(Set(Self.files(in: folder)).subtracting(before) == [file], "\(made)")
    #expect(made.lines.filter { $0.hasPrefix("made ") } == ["made   \(file)"], "\(made)")
    #expect(folder.text(file)?.contains("accepted") == isAccepted)
    #expect(folder.text(file)?.contains("EvalCases") == true)
    // A second one has its place beside a pipeline for GitLab, and none beside a workflow of the same name.
    let again = try await Binary.run(
      ["init", "--ci", service], in: folder.path, status: service == "github" ? 2 : 0)
    if service == "gitlab" {
      #expect(
        again.lines.last
          == "next   add to .gitlab-ci.yml:  include: [{local: .gitlab/agent-eval.yml}]", "\(again)"
      )
      #expect(folder.text(".gitlab/agent-eval.yml") == folder.text(file))
    }
  }

  @Test("the workflow of a project that says where its cases are judges those")
  func paths() async throws {
    let folder = try TemporaryFolder()
    try folder.write("shop/.agent-eval.yaml", "paths: [checks, more of them]\n")
    try folder.write("shop/checks/a.yaml", "caseId: a\nexpected: {noLoops: true}\n")
    try await Binary.run(["init", "shop", "--ci", "github"], in: folder.path)
    let workflow = try #require(
      SourceDocument(path: folder.path("shop/.github/workflows/evals.yml")).roots.first?.value)
    let step = workflow["jobs"]?["evals"]?["steps"]?.arrayValue?.last
    #expect(step?["with"]?["paths"]?.stringValue == "checks\nmore of them")
    // Words that a workflow would read as something else.
    try folder.write("other/.agent-eval.yaml", "paths: ['${{ secrets.KEY }}']\n")
    let refused = try await Binary.run(
      ["init", "other", "--ci", "github"], in: folder.path, status: 2)
    #expect(refused.errors.contains("a workflow cannot name"), "\(refused)")
    try folder.write("broken/.agent-eval.yaml", "paths: {a: b}\n")
    let broken = try await Binary.run(
      ["init", "broken", "--ci", "github"], in: folder.path, status: 2)
    #expect(broken.errors.contains("has errors"), "\(broken)")
  }
}
