import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import EvalLoading

@Suite("init")
struct InitVerbTests {
  private static let files = [
    ".agent-eval/.gitignore", ".github/workflows/evals.yml", "EvalCases/refunds.yaml",
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
    let isIgnoreFile = name.hasSuffix(".gitignore")
    let outcome = try await Binary.run(["init"], in: folder.path, status: isIgnoreFile ? 0 : 2)
    #expect(folder.text(name) == "mine\n")
    guard !isIgnoreFile else { return }
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
}
