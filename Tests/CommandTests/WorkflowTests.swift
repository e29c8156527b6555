import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import EvalLoading

/// A YAML file of the project, or one that was made.
private func yaml(_ path: String) throws -> JSONValue {
  let document = SourceDocument(path: path)
  #expect(document.diagnostics.map(\.description) == [])
  return try #require(document.roots.first?.value)
}

/// Runs the steps of `action.yml` as GitHub does: scripts for real, the actions of others by what
/// they do with files.
private struct GitHubStandIn {
  /// What all jobs of a workflow run share.
  let shared: TemporaryFolder
  let action: JSONValue

  init() throws {
    shared = try TemporaryFolder()
    action = try yaml(Project.path("action.yml"))
    // The action's own folder, in which building the program is to find it.
    try shared.write("action/Package.swift", "// one\n")
    try shared.write("action/Sources/a.swift", "// two\n")
    try FileManager.default.copyItem(atPath: Project.path("CI"), toPath: shared.path("action/CI"))
    try shared.script(
      "action/bin/agent-eval",
      """
      echo built >>"\(shared.path)/builds"
      mkdir -p "${0%/bin/*}/.build/release"
      ln -sf "\(Binary.path)" "${0%/bin/*}/.build/release/agent-eval"
      """)
  }

  var builds: Int { (shared.text("builds") ?? "").split(separator: "\n").count }

  struct Job {
    var status: Int32 = 0
    var output = ""
    var summary = ""
    var outputs: [String: String] = [:]
    var workspace: TemporaryFolder
  }

  /// Runs the action once, on a machine of its own.
  func run(_ inputs: [String: String], in workspace: TemporaryFolder? = nil) async throws -> Job {
    var job = Job(workspace: try workspace ?? makeWorkspace())
    let machine = try TemporaryFolder()
    var values = [
      "github.action_path": shared.path("action"), "github.ref_name": "topic",
      "github.run_id": "\(UInt64.random(in: 0...(.max)))", "github.run_attempt": "1",
      "github.event.repository.default_branch": "main",
    ]
    for input in action["inputs"]?.objectValue ?? [:] {
      values["inputs.\(input.key)"] =
        inputs[input.key] ?? input.value["default"]?.stringValue ?? ""
    }
    for step in action["runs"]?["steps"]?.arrayValue ?? [] {
      let id = step["id"]?.stringValue ?? ""
      let condition = step["if"]?.stringValue ?? "success()"
      guard holds(condition, values, hasFailed: job.status != 0) else { continue }
      if let uses = step["uses"]?.stringValue {
        try await use(uses, with: step["with"] ?? .null, id, &values, job.workspace)
        continue
      }
      #expect(step["shell"] == "bash")
      let script = try #require(step["run"]?.stringValue)
      #expect(!script.contains("${{"), "what inputs hold is no part of a script")
      try machine.write("step.sh", script)
      try machine.write("outputs", "")
      var environment = [
        "GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_WORKSPACE": job.workspace.path,
        "GITHUB_OUTPUT": machine.path("outputs"), "GITHUB_STEP_SUMMARY": machine.path("summary"),
        "RUNNER_TEMP": machine.path, "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64",
      ]
      for member in step["env"]?.objectValue ?? [:] {
        environment[member.key] = expand(member.value.stringValue ?? "", values)
      }
      let outcome = try await Command(
        program: "/bin/bash",
        arguments: ["--noprofile", "--norc", "-e", "-o", "pipefail", machine.path("step.sh")],
        folder: job.workspace.path, environment: environment
      ).run(status: nil)
      job.output += outcome.output + outcome.errors
      values["steps.\(id).outcome"] = outcome.status == 0 ? "success" : "failure"
      if job.status == 0 { job.status = outcome.status }
      for line in (machine.text("outputs") ?? "").split(separator: "\n") {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        values["steps.\(id).outputs.\(parts[0])"] = String(parts.last ?? "")
      }
    }
    job.summary = machine.text("summary") ?? ""
    for output in action["outputs"]?.objectValue ?? [:] {
      job.outputs[output.key] = expand(output.value["value"]?.stringValue ?? "", values)
    }
    return job
  }

  /// A checked-out project.
  func makeWorkspace() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let manager = FileManager.default
    try manager.copyItem(atPath: Project.path("Fixtures"), toPath: folder.path("Fixtures"))
    try manager.createDirectory(
      atPath: folder.path("EvalCases"), withIntermediateDirectories: true)
    try manager.copyItem(
      atPath: Project.path("EvalCases/stops.yaml"), toPath: folder.path("EvalCases/stops.yaml"))
    return folder
  }

  private func expand(_ text: String, _ values: [String: String]) -> String {
    text.replacing(#/\$\{\{ *([\w.-]+) *\}\}/#) { match in
      let value = values[String(match.1)]
      #expect(value != nil || match.1.hasPrefix("steps."), "\(match.1) is nothing that there is")
      return value ?? ""
    }
  }

  private func holds(_ condition: String, _ values: [String: String], hasFailed: Bool) -> Bool {
    switch condition {
    case "success()": return !hasFailed
    case "inputs.merge == 'true'": return !hasFailed && values["inputs.merge"] == "true"
    case "inputs.history != '' && inputs.shard == ''":
      return !hasFailed && values["inputs.history"] != "" && values["inputs.shard"] == ""
    case "always() && steps.judge.outputs.results != '' && inputs.history != '' && inputs.shard == ''":
      return values["steps.judge.outputs.results"] ?? "" != "" && values["inputs.history"] != ""
        && values["inputs.shard"] == ""
    case "steps.cache.outputs.cache-hit != 'true'":
      return !hasFailed && values["steps.cache.outputs.cache-hit"] != "true"
    case "always() && steps.prepare.outcome == 'success'":
      return values["steps.prepare.outcome"] == "success"
    default:
      Issue.record("\(condition) is no condition that this test knows")
      return false
    }
  }

  /// What the actions of others do, as far as files go.
  private func use(
    _ uses: String, with: JSONValue, _ id: String, _ values: inout [String: String],
    _ workspace: TemporaryFolder
  ) async throws {
    func input(_ key: String) throws -> String {
      expand(try #require(with[key]?.stringValue, "\(uses) lacks \(key)"), values)
    }
    let kept = shared.path("cache")
    switch uses {
    case "actions/cache@v4":
      let (path, key) = (try input("path"), try input("key"))
      values["steps.\(id).outputs.cache-hit"] =
        try await shell(
          "[ -e \"$1/$2\" ] || exit 0; cp -aL \"$1/$2\" \"$3\"; printf true", [kept, key, path]
        ).output
      values["cache.path"] = path
      values["cache.key"] = key
    case "actions/cache/restore@v4":
      // Of several that begin so, the newest.
      try await shell(
        """
        for prefix in $3; do
          newest=$(ls -td "$1/$prefix"* 2>/dev/null | head -n 1)
          [ -z "$newest" ] || { mkdir -p "$2"; cp -a "$newest/." "$2"; exit 0; }
        done
        """, [kept, workspace.path(try input("path")), try input("restore-keys")])
    case "actions/cache/save@v4":
      // A path that is not there is a warning.
      try await shell(
        "[ -d \"$3\" ] || exit 0; mkdir -p \"$1/$2\"; cp -a \"$3/.\" \"$1/$2\"",
        [kept, try input("key"), workspace.path(try input("path"))])
    case "actions/upload-artifact@v4":
      #expect(with["include-hidden-files"] == true && with["overwrite"] == true)
      try await shell(
        "rm -rf \"$1\"; mkdir -p \"$1\"; cp -a \"$2/.\" \"$1\"",
        [
          shared.path("artifacts/\(try input("name"))"),
          workspace.path(try input("path")),
        ])
      // The cache is kept at the end of a job.
      try await shell(
        "mkdir -p \"$1\"; [ -e \"$1/$2\" ] || cp -aL \"$3\" \"$1/$2\"",
        [kept, values["cache.key"] ?? "", values["cache.path"] ?? ""])
    case "actions/download-artifact@v4":
      #expect(with["merge-multiple"] == true)
      try await shell(
        "mkdir -p \"$2\"; for folder in $1; do [ ! -d $folder ] || cp -a $folder/. \"$2\"; done",
        [shared.path("artifacts/\(try input("pattern"))"), workspace.path(try input("path"))])
    default: Issue.record("\(uses) is no action that this test knows")
    }
  }
}

@Suite("The action for GitHub")
struct GitHubActionTests {
  private static let paths = "Fixtures/failing-cases\nEvalCases/stops.yaml\n"

  @Test("one job judges, tells, keeps its reports, and fails where a case does")
  func oneJob() async throws {
    let gitHub = try GitHubStandIn()
    let failed = try await gitHub.run(["paths": Self.paths])
    #expect(failed.status == 1 && failed.outputs["outcome"] == "failed", "\(failed)")
    #expect(failed.output.contains("::error file=Fixtures/failing-cases/failing.yaml,line=4,"))
    #expect(failed.summary.contains("**18 cases: 12 passed, 6 failed**"))
    #expect(failed.outputs["results"] == ".agent-eval/results/results.json")
    for name in ["results.json", "junit.xml", "results.html", "results.sarif"] {
      #expect(gitHub.shared.text("artifacts/agent-eval/results/\(name)")?.isEmpty == false)
    }
    let passed = try await gitHub.run(["paths": "EvalCases"])
    #expect(passed.status == 0 && passed.outputs["outcome"] == "passed", "\(passed)")
    // The program is built once and kept.
    #expect(gitHub.builds == 1)
    let broken = try await gitHub.run(["paths": "nowhere.yaml"])
    #expect(broken.status == 2 && broken.outputs["outcome"] == "error")
    let inconclusive = try await gitHub.run([
      "paths": "EvalCases", "arguments": "--filter\nno-such",
    ])
    #expect(inconclusive.status == 2, "\(inconclusive)")
  }

  @Test("shards and a job that merges come to the results of one job", arguments: [1, 3])
  func shards(count: Int) async throws {
    let gitHub = try GitHubStandIn()
    let whole = try await gitHub.run(["paths": Self.paths])
    for index in (1...count).reversed() {
      let shard = try await gitHub.run(["paths": Self.paths, "shard": "\(index)/\(count)"])
      // Whether cases failed is for the job that merges to say.
      #expect(shard.status == 0 && shard.outputs["outcome"] == "judged", "\(shard)")
    }
    let merged = try await gitHub.run(["merge": "true"])
    #expect(merged.status == 1 && merged.outputs["outcome"] == "failed", "\(merged)")
    for name in ["results.json", "junit.xml", "results.html", "results.sarif"] {
      let path = ".agent-eval/results/\(name)"
      #expect(try merged.workspace.read(path) == (try whole.workspace.read(path)), "\(name)")
    }
    #expect(merged.summary == whole.summary)
  }

  @Test("outcomes are kept from run to run, also where cases fail, and once for all shards")
  func history() async throws {
    let gitHub = try GitHubStandIn()
    let inputs = ["paths": Self.paths, "history": ".agent-eval/history"]
    for count in 1...2 {
      let job = try await gitHub.run(inputs)
      #expect(job.status == 1, "\(job)")
      #expect(job.output.contains("commit "))
      let kept = job.workspace.listing.filter { $0.hasSuffix(".history.json") }
      #expect(kept.count == count, "\(kept)")
    }
    let shard = try await gitHub.run(inputs.merging(["shard": "1/1"]) { $1 })
    #expect(shard.status == 0, "\(shard)")
    let merged = try await gitHub.run(["merge": "true", "history": ".agent-eval/history"])
    #expect(merged.workspace.listing.filter { $0.hasSuffix(".history.json") }.count == 3)
    let page = merged.workspace.text(".agent-eval/results/results.html") ?? ""
    #expect(page.contains("<h2>3 runs of the suite</h2>"))
  }

  @Test("a shard that could not be judged, or is not there, is an error of the job that merges")
  func missing() async throws {
    let gitHub = try GitHubStandIn()
    let none = try await gitHub.run(["merge": "true"])
    #expect(none.status == 2 && none.output.contains("no shard has left results"))
    let broken = try await gitHub.run(["paths": "nowhere.yaml", "shard": "1/2"])
    #expect(broken.status == 2 && broken.outputs["outcome"] == "error", "\(broken)")
    _ = try await gitHub.run(["paths": Self.paths, "shard": "2/2"])
    let merged = try await gitHub.run(["merge": "true"])
    #expect(merged.status == 2 && merged.output.contains("shard 1 of 2 is missing"), "\(merged)")
  }

  @Test("the workflow that init makes passes, and fails on a regression and on a lost baseline")
  func ownWorkflow() async throws {
    let gitHub = try GitHubStandIn()
    let workspace = try TemporaryFolder()
    try await Binary.run(["init"], in: workspace.path)
    let workflow = try yaml(workspace.path(".github/workflows/evals.yml"))
    let step = try #require(workflow["jobs"]?["evals"]?["steps"]?.arrayValue?.last)
    let inputs = (step["with"]?.objectValue ?? [:]).reduce(into: [String: String]()) {
      $0[$1.key] = $1.value.stringValue
    }
    #expect(inputs["against"] == "accepted")
    let passed = try await gitHub.run(inputs, in: workspace)
    #expect(passed.status == 0 && passed.outputs["outcome"] == "passed", "\(passed)")
    let policy = try #require(workspace.text("policies/support.yaml"))
    try workspace.write(
      "policies/support.yaml", policy.replacing("approval_required", with: "allow"))
    let regressed = try await gitHub.run(inputs, in: workspace)
    #expect(regressed.status == 1 && regressed.outputs["outcome"] == "failed", "\(regressed)")
    #expect(regressed.summary.contains("regressed"), "\(regressed.summary)")
    try workspace.write("policies/support.yaml", policy)
    try FileManager.default.removeItem(
      atPath: workspace.path("EvalCases/accepted/refund-waits-for-approval.txt"))
    let lost = try await gitHub.run(inputs, in: workspace)
    #expect(lost.status != 0, "\(lost)")
  }

  @Test("shards that are compared with baselines come to the results of one job")
  func shardsAgainst() async throws {
    let gitHub = try GitHubStandIn()
    let accepted = try gitHub.makeWorkspace()
    try await Binary.run(["accept", "EvalCases", "--all"], in: accepted.path)
    func workspace() throws -> TemporaryFolder {
      let folder = try gitHub.makeWorkspace()
      try FileManager.default.copyItem(
        atPath: accepted.path("EvalCases/accepted"), toPath: folder.path("EvalCases/accepted"))
      return folder
    }
    let inputs = ["paths": "EvalCases", "against": "accepted"]
    let whole = try await gitHub.run(inputs, in: try workspace())
    #expect(whole.status == 0, "\(whole)")
    for index in 1...2 {
      let shard = try await gitHub.run(
        inputs.merging(["shard": "\(index)/2"]) { $1 }, in: try workspace())
      #expect(shard.status == 0, "\(shard)")
    }
    let merged = try await gitHub.run(["merge": "true"], in: try workspace())
    #expect(merged.status == 0, "\(merged)")
    let path = ".agent-eval/results/results.json"
    #expect(try merged.workspace.read(path) == (try whole.workspace.read(path)))
  }

  @Test(
    "inputs are never a part of a command",
    arguments: [
      ["shard": "1/2; touch evil"], ["shard": "$(touch evil)/2"],
      ["shard": "1/2", "merge": "true"],
      ["paths": "$(touch evil)\n; touch evil\n`touch evil`\n--help\n-x"],
      ["arguments": "--filter\n$(touch evil); touch evil"], ["artifact": "$(touch evil)"],
      ["history": "$(touch evil)", "paths": "nowhere.yaml"],
    ])
  func hostile(inputs: [String: String]) async throws {
    let gitHub = try GitHubStandIn()
    let job = try await gitHub.run(["paths": "EvalCases"].merging(inputs) { $1 })
    #expect(job.status != 0 || inputs["artifact"] != nil, "\(job)")
    #expect(!job.workspace.listing.contains { $0.hasSuffix("evil") })
  }

  @Test("every input and output is described, and the documents speak of none but those")
  func described() throws {
    let action = try yaml(Project.path("action.yml"))
    for kind in ["inputs", "outputs"] {
      let members = action[kind]?.objectValue ?? [:]
      #expect(!members.isEmpty)
      for member in members {
        #expect(member.value["description"]?.stringValue?.isEmpty == false, "\(member.key)")
      }
    }
    let page = try Project.text("Docs/continuous-integration.md")
    for member in action["inputs"]?.objectValue ?? [:] {
      #expect(page.contains("`\(member.key)`"), "\(member.key) is not explained")
    }
  }
}

@Suite("The template for GitLab")
struct GitLabTemplateTests {
  private let template: JSONValue
  private let gitHub: GitHubStandIn

  init() throws {
    template = try yaml(Project.path("CI/gitlab.yml"))
    gitHub = try GitHubStandIn()
  }

  /// Runs a job as GitLab does: what comes before it and its script in one shell, with the variables
  /// of the template below those that are given.
  private func run(
    _ job: String, in workspace: TemporaryFolder, _ variables: [String: String] = [:],
    program: String? = nil
  ) async throws -> Command.Outcome {
    let base = try #require(template[".agent-eval"])
    let own = try #require(template[job])
    #expect(own["extends"] == ".agent-eval")
    let lines = (base["before_script"]?.arrayValue ?? []) + (own["script"]?.arrayValue ?? [])
    let script = lines.compactMap(\.stringValue).joined(separator: "\n")
    var environment = [
      "CI": "true", "GITLAB_CI": "true", "CI_PROJECT_DIR": workspace.path,
      "CI_SERVER_URL": "https://gitlab.example",
    ]
    for member in base["variables"]?.objectValue ?? [:] {
      environment[member.key] = member.value.stringValue
    }
    if program == nil {
      let tools = try TemporaryFolder()
      try tools.link("agent-eval", to: Binary.path)
      environment["PATH"] = "\(tools.path):/usr/bin:/bin"
      return try await bash(script, workspace, environment.merging(variables) { $1 })
    }
    environment["PATH"] = "/usr/bin:/bin"
    return try await bash(script, workspace, environment.merging(variables) { $1 })
  }

  private func bash(
    _ script: String, _ workspace: TemporaryFolder, _ environment: [String: String]
  ) async throws -> Command.Outcome {
    try await Command(
      program: "/bin/bash", arguments: ["-c", "set -eo pipefail\n" + script],
      folder: workspace.path, environment: environment
    ).run(status: nil)
  }

  private static let paths = ["AGENT_EVAL_PATHS": "Fixtures/failing-cases\nEvalCases/stops.yaml"]

  @Test("one job writes what GitLab reads, and ends as the cases do")
  func oneJob() async throws {
    let workspace = try gitHub.makeWorkspace()
    let failed = try await run(".agent-eval-run", in: workspace, Self.paths)
    #expect(failed.status == 1 && failed.output.contains("12 passed, 6 failed"), "\(failed)")
    let reports = try #require(template[".agent-eval-run"]?["artifacts"]?["reports"]?.objectValue)
    #expect(Set(reports.keys) == ["junit", "codequality"])
    for report in reports {
      #expect(workspace.text(report.value.stringValue ?? "")?.isEmpty == false, "\(report.key)")
    }
    #expect(
      template[".agent-eval-merge"]?["artifacts"] == template[".agent-eval-run"]?["artifacts"])
    #expect(template[".agent-eval-merge"]?["when"] == "always")
    let passed = try await run(".agent-eval-run", in: try gitHub.makeWorkspace())
    #expect(passed.status == 0, "\(passed)")
  }

  @Test("jobs in parallel and one that merges come to the results of one job")
  func shards() async throws {
    let whole = try gitHub.makeWorkspace()
    _ = try await run(".agent-eval-run", in: whole, Self.paths)
    let last = try gitHub.makeWorkspace()
    for index in 1...3 {
      let workspace = try gitHub.makeWorkspace()
      let shard = try await run(
        ".agent-eval-shard", in: workspace,
        Self.paths.merging(["CI_NODE_INDEX": "\(index)", "CI_NODE_TOTAL": "3"]) { $1 })
      #expect(shard.status == 0, "\(shard)")
      // What a job needs, it gets into its own folder.
      for path in template[".agent-eval-shard"]?["artifacts"]?["paths"]?.arrayValue ?? [] {
        let path = path.stringValue ?? ""
        try await shell(
          "[ ! -e \"$1\" ] || { mkdir -p \"$2\"; cp -a \"$1/.\" \"$2\"; }",
          [workspace.path(path), last.path(path)])
      }
      if index == 2 {
        let early = try await run(".agent-eval-merge", in: last)
        #expect(early.status == 2 && early.errors.contains("shard 3 of 3 is missing"))
      }
    }
    let merged = try await run(".agent-eval-merge", in: last)
    #expect(merged.status == 1, "\(merged)")
    for name in ["results.json", "junit.xml", "quality.json", "results.html"] {
      let path = ".agent-eval/results/\(name)"
      #expect(try last.read(path) == (try whole.read(path)), "\(name)")
    }
  }

  @Test("a job that could judge nothing fails by itself")
  func broken() async throws {
    let workspace = try gitHub.makeWorkspace()
    let shard = try await run(
      ".agent-eval-shard", in: workspace,
      ["AGENT_EVAL_PATHS": "nowhere", "CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "2"])
    #expect(shard.status == 2)
    let merged = try await run(".agent-eval-merge", in: workspace)
    #expect(merged.status == 2 && merged.errors.contains("no shard has left results"))
  }

  @Test("the pipeline that init makes passes, and fails on a regression")
  func ownPipeline() async throws {
    let workspace = try TemporaryFolder()
    try await Binary.run(["init", "--ci", "gitlab"], in: workspace.path)
    let job = try #require(try yaml(workspace.path(".gitlab-ci.yml"))["evals"])
    let variables = (job["variables"]?.objectValue ?? [:]).reduce(into: [String: String]()) {
      $0[$1.key] = $1.value.stringValue
    }
    let name = try #require(job["extends"]?.stringValue)
    let passed = try await run(name, in: workspace, variables)
    #expect(passed.status == 0, "\(passed)")
    let policy = try #require(workspace.text("policies/support.yaml"))
    try workspace.write(
      "policies/support.yaml", policy.replacing("approval_required", with: "allow"))
    let regressed = try await run(name, in: workspace, variables)
    #expect(regressed.status == 1 && regressed.output.contains("regressed"), "\(regressed)")
  }

  @Test("without a program in the image one is built from its repository, once")
  func built() async throws {
    let repository = gitHub.shared
    try await shell(
      """
      cd "$1"; git init -q -b main .; git add -A
      git -c user.name=a -c user.email=a@example.org commit -qm one; git tag v0.1.0
      """, [repository.path("action")])
    let workspace = try gitHub.makeWorkspace()
    for _ in 0..<2 {
      let job = try await run(
        ".agent-eval-run", in: workspace,
        [
          "AGENT_EVAL_REPOSITORY": "file://" + repository.path("action"),
          "AGENT_EVAL_VERSION": "source",
        ], program: "built")
      #expect(job.status == 0, "\(job)")
    }
    #expect(gitHub.builds == 1)
    let caches = template[".agent-eval"]?["cache"]?.arrayValue?.compactMap { $0["paths"] }
    #expect(caches == [[".agent-eval/program/"], [".agent-eval/history/"]])
    #expect(template[".agent-eval"]?["variables"]?["AGENT_EVAL_REF"] == "v0.1.0")
  }
}
