import Foundation
import TestSupport
import Testing

/// A copy of the scripts beside a small package, and a `swift` that only notes its calls.
private struct FakeProject {
  let folder: TemporaryFolder
  var calls: [String] {
    (folder.text("calls") ?? "").split(separator: "\n").map(String.init)
  }

  /// What each call was told to optimise.
  var optimized: [String] {
    (folder.text("optimized") ?? "").split(separator: "\n").map(String.init)
  }

  init() throws {
    folder = try TemporaryFolder()
    for name in ["agent-eval", "setup.bash"] {
      try folder.write("project/bin/\(name)", try Project.text("bin/\(name)"))
    }
    try folder.write("project/Package.swift", "// one\n")
    try folder.write("project/Sources/a/A.swift", "// two\n")
    try folder.write("project/Sources/b/B.swift", "// three\n")
    try folder.script(
      "tools/swift",
      """
      echo "$*" >> \(folder.path)/calls
      echo "$AGENT_EVAL_OPTIMIZED" >> \(folder.path)/optimized
      echo "building"
      cat > \(folder.path)/stdin
      sleep 0.2
      [ ! -e \(folder.path)/fails ] || exit 1
      while [ "$1" != --scratch-path ]; do shift; done
      case "$*" in
        *"--traits Live"*) printf '"identity" : "a"\n"revision" : "one"\n"identity" : "http"\n"revision" : "5"\n' ;;
        *) printf '"identity" : "a"\n"revision" : "one"\n' ;;
      esac > \(folder.path)/project/Package.resolved
      mkdir -p "$2/release"
      # Written anew under another name: the one that is there may be running.
      cp \(folder.path)/program "$2/release/new"
      mv "$2/release/new" "$2/release/agent-eval"
      """)
    try folder.script("program", "pwd -P; cat; echo \"$#: $*\"; exit 5")
  }

  func run(
    _ arguments: [String] = ["one", "two words"], program: String = "project/bin/agent-eval",
    environment: [String: String] = [:]
  ) async throws -> Command.Outcome {
    let path = "\(folder.path("tools")):/usr/local/bin:/usr/bin:/bin"
    // What the tests themselves were asked to be built with is none of its business.
    let kind = "AGENT_EVAL_OPTIMIZED"
    let own = environment[kind] == nil ? ["-u", kind] : []
    return try await Command(
      program: "/usr/bin/env", arguments: own + ["/bin/bash", folder.path(program)] + arguments,
      folder: folder.path,
      environment: ["PATH": path].merging(environment) { $1 }, input: Array("input\n".utf8)
    ).run(status: nil)
  }
}

@Suite("bin/agent-eval")
struct BuildScriptTests {
  @Test("builds once, then hands over arguments, folder, input and exit code")
  func once() async throws {
    let project = try FakeProject()
    for _ in 0..<3 {
      let outcome = try await project.run()
      #expect(outcome.status == 5)
      #expect(outcome.output == "\(project.folder.path)\ninput\n2: one two words\n")
    }
    #expect(project.calls.count == 1)
    #expect(project.folder.text("stdin") == "")
    #expect(project.calls.first?.contains("-c release --product agent-eval") == true)
  }

  @Test("leads the build to the libraries that the machine has as archives")
  func archives() async throws {
    let project = try FakeProject()
    try project.folder.script(
      "tools/clang",
      "case $1 in *=libz.a) echo /there/libz.a ;; *) echo \"${1#*=}\" ;; esac")
    #expect(try await project.run().status == 5)
    let archives = project.folder.path("project/.build/archives")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: archives).sorted() == [
        "libz.a", "zlib.pc",
      ])
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: "\(archives)/libz.a")
        == "/there/libz.a")
    #expect(
      project.folder.text("project/.build/archives/zlib.pc")?.contains("-L\(archives) -lz") == true)
  }

  @Test("build output goes to standard error, and nothing is said when nothing is built")
  func output() async throws {
    let project = try FakeProject()
    #expect(try await project.run().errors.contains("building"))
    #expect(try await project.run().errors == "")
  }

  @Test("works through symbolic links")
  func links() async throws {
    let project = try FakeProject()
    try project.folder.link("bin/tool", to: project.folder.path("project/bin/agent-eval"))
    try project.folder.link("bin/again", to: "tool")
    #expect(try await project.run(program: "bin/again").status == 5)
    #expect(project.calls.count == 1)
  }

  /// A change to the sources that must be seen.
  struct Change: Sendable, CustomTestStringConvertible {
    var name: String
    var script: String

    var testDescription: String { name }
  }

  static let changes: [Change] = [
    Change(name: "a file changed", script: "echo '// more' >> Sources/a/A.swift"),
    Change(
      name: "a file changed, its size and time kept",
      script: "touch -r Sources/a/A.swift t; printf '// owt\\n' > Sources/a/A.swift; "
        + "touch -r t Sources/a/A.swift"),
    Change(name: "a file added", script: "mkdir Sources/c; touch -d 2001-01-01 Sources/c/C.swift"),
    Change(name: "a file removed", script: "rm Sources/b/B.swift"),
    Change(name: "a file renamed", script: "mv Sources/b/B.swift Sources/b/Z.swift"),
    Change(name: "a file moved", script: "mv Sources/b/B.swift Sources/a/B.swift"),
    Change(
      name: "an older version checked out",
      script: "printf '// tw\\n' > Sources/a/A.swift; touch -d 2001-01-01 Sources/a/A.swift"),
    Change(name: "the manifest changed", script: "echo >> Package.swift"),
    Change(name: "a dependency updated", script: "sed -i s/one/two/ Package.resolved"),
    Change(name: "another compiler", script: "echo >> ../tools/swift"),
    Change(name: "the binary removed", script: "rm .build/release/agent-eval"),
    Change(name: "the binary replaced", script: "echo >> .build/release/agent-eval"),
    Change(name: "the build folder removed", script: "rm -r .build"),
  ]

  @Test("builds again after a change, and only once", arguments: changes)
  func change(_ change: Change) async throws {
    let project = try FakeProject()
    _ = try await project.run()
    let folder = project.folder.path("project")
    try await Command(
      program: "/bin/bash", arguments: ["-c", change.script], folder: folder
    ).run()
    _ = try await project.run()
    #expect(project.calls.count == 2)
    _ = try await project.run()
    #expect(project.calls.count == 2)
  }

  @Test("the build with the HTTP stack has a folder of its own, and neither makes the other stale")
  func traits() async throws {
    let project = try FakeProject()
    for build in ["live", "", "live", "", "live"] {
      #expect(try await project.run(environment: ["AGENT_EVAL_BUILD": build]).status == 5)
    }
    #expect(project.calls.count == 2)
    #expect(project.calls.first?.contains("--traits Live") == true)
    #expect(project.calls.first?.contains("/project/.build-live ") == true)
    #expect(project.calls.last?.contains("--traits") == false)
    // What only the other build has is no matter here.
    let pins =
      "\"identity\" : \"a\"\n\"revision\" : \"one\"\n\"identity\" : \"http\"\n\"revision\" : \"6\"\n"
    try project.folder.write("project/Package.resolved", pins)
    _ = try await project.run()
    #expect(project.calls.count == 2)
    _ = try await project.run(environment: ["AGENT_EVAL_BUILD": "live"])
    #expect(project.calls.count == 3)
  }

  @Test("a build with flags of a caller's own is never taken for one without them")
  func flags() async throws {
    let project = try FakeProject()
    let flags = ["AGENT_EVAL_BUILD_FLAGS": "-debug-info-format\ndwarf"]
    for (environment, calls) in [
      (flags, 1), (flags, 1), (flags, 1), ([:], 2), ([:], 2), (flags, 3),
    ] {
      #expect(try await project.run(environment: environment).status == 5)
      #expect(project.calls.count == calls)
    }
  }

  @Test("what is optimised stays as it was last asked for, also when the sources change")
  func optimized() async throws {
    let project = try FakeProject()
    let all = ["AGENT_EVAL_OPTIMIZED": "1"]
    for (environment, calls) in [([:], 1), (all, 2), (all, 2), ([:], 2)] {
      #expect(try await project.run(environment: environment).status == 5)
      #expect(project.calls.count == calls)
    }
    try project.folder.write("project/Sources/a/A.swift", "// four\n")
    for _ in 0..<2 { _ = try await project.run() }
    #expect(project.optimized == ["hot", "1", "1"])
    let unknown = try await project.run(environment: ["AGENT_EVAL_OPTIMIZED": "all"])
    #expect(unknown.status == 64 && unknown.errors.contains("“all”"))
    #expect(project.calls.count == 3)
  }

  @Test("a command that needs the network begins again in the build that has it")
  func handingOver() async throws {
    let project = try FakeProject()
    try project.folder.script(
      "program",
      """
      if [ -z "$AGENT_EVAL_BUILD" ]; then AGENT_EVAL_BUILD=live exec bash "$AGENT_EVAL_SCRIPT" "$@"; fi
      cat; echo "$0: $*"; exit 7
      """)
    let outcome = try await project.run()
    #expect(outcome.status == 7)
    #expect(outcome.output.hasPrefix("input\n"))
    #expect(outcome.output.hasSuffix("project/.build-live/release/agent-eval: one two words\n"))
    #expect(try await project.run(environment: ["AGENT_EVAL_BUILD": "other"]).status == 64)
  }

  @Test("two calls at once build once")
  func lock() async throws {
    let project = try FakeProject()
    try await withThrowingTaskGroup(of: Int32.self) { group in
      for _ in 0..<4 { group.addTask { try await project.run().status } }
      for try await status in group { #expect(status == 5) }
    }
    #expect(project.calls.count == 1)
  }

  @Test("a failed build ends in 2, and the next call tries again")
  func failure() async throws {
    let project = try FakeProject()
    try project.folder.write("fails", "")
    #expect(try await project.run().status == 2)
    #expect(try await project.run().output == "")
    #expect(project.calls.count == 2)
  }

  @Test("without Swift it says where to get it")
  func missingSwift() async throws {
    let project = try FakeProject()
    // A folder with everything that the script calls, but no swift.
    for tool in ["bash", "readlink", "find", "sort", "stat", "flock", "mkdir", "mv", "cat"] {
      let found = ["/usr/bin/\(tool)", "/bin/\(tool)"].first(
        where: FileManager.default.fileExists(atPath:))
      try project.folder.link("few/\(tool)", to: try #require(found))
    }
    let outcome = try await project.run(environment: ["PATH": project.folder.path("few")])
    #expect(outcome.status == 2)
    #expect(outcome.errors.contains("https://www.swift.org/install/linux/"))
  }

  @Test(
    "without a header it names it and its package, and what belongs to something else is none",
    arguments: [
      (["zlib.h", "sqlite3.h"], []), (["x86_64-linux-gnu/zlib.h", "sqlite3.h"], []),
      (["node/zlib.h", "sqlite3.h"], ["zlib.h"]), (["zlib.h"], ["sqlite3.h"]),
      ([], ["zlib.h", "sqlite3.h"]),
    ] as [([String], [String])])
  func missingHeader(there: [String], missing: [String]) async throws {
    let folder = try TemporaryFolder()
    for name in there { try folder.write("include/\(name)", "") }
    // Neither a compiler that looks elsewhere, nor anything that installs.
    try FileManager.default.createDirectory(
      atPath: folder.path("few"), withIntermediateDirectories: true)
    let outcome = try await Command(
      program: "/bin/bash",
      arguments: [
        "-c",
        """
        set -euo pipefail
        source "$1"; include_folders=("$2" "$2"'/*-linux-*'); need_libraries; echo all there
        """, "bash", Project.path("bin/setup.bash"), folder.path("include"),
      ], folder: folder.path, environment: ["PATH": folder.path("few")]
    ).run(status: nil)
    #expect(outcome.status == (missing.isEmpty ? 0 : 2), "\(outcome)")
    #expect(outcome.output == (missing.isEmpty ? "all there\n" : ""))
    for (header, package) in [("zlib.h", "zlib1g-dev"), ("sqlite3.h", "libsqlite3-dev")] {
      #expect(outcome.errors.contains(header) == missing.contains(header), "\(outcome)")
      #expect(outcome.errors.contains(package) == missing.contains(header), "\(outcome)")
    }
  }

  @Test("the scripts know the package of every system library")
  func packages() throws {
    let setup = try Project.text("bin/setup.bash")
    let packages = try PackageManifest().aptPackages
    #expect(!packages.isEmpty)
    for package in packages {
      #expect(setup.contains(":\(package)"), "\(package)")
    }
  }
}
