import TestSupport
import Testing

@Suite("Programs that tests run")
struct ProgramTests {
  @Test("one that does not end is killed with all that it started, in whatever group")
  func timeout() async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Command(
      program: "/bin/bash",
      arguments: ["-c", "set -m; (sleep 3600 & echo $! >deep; wait) & echo $! >pid; wait"],
      folder: folder.path, timeoutSeconds: 1
    ).run(status: nil)
    #expect(outcome.isTimedOut && outcome.status == -9)
    for name in ["pid", "deep"] {
      let pid = try #require(Int32((folder.text(name) ?? "").dropLast()))
      #expect(await eventually { !Processes.isAlive(pid) })
    }
  }

  @Test("no signal is blocked or ignored when one starts")
  func signals() async throws {
    let outcome = try await Command(
      program: "/bin/grep", arguments: ["-E", "^Sig(Blk|Ign):", "/proc/self/status"]
    ).run()
    let masks = outcome.lines.compactMap { line in
      line.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
    }
    // Bit by bit; the C library keeps 32 and 33 for itself.
    #expect(masks.count == 2 && masks.allSatisfy { $0 & ~(0b11 << 31) == 0 }, "\(outcome)")
  }
}

@Suite("bin/test")
struct TestScriptTests {
  @Test("tests that do not end are killed, and those under way are named")
  func limit() async throws {
    let folder = try TemporaryFolder()
    for name in ["test", "setup.bash"] {
      try folder.write("project/bin/\(name)", try Project.text("bin/\(name)"))
    }
    try folder.script(
      "tools/swift",
      """
      [ "$1" = format ] && exit 0
      echo '◇ Test "ends" started.'
      echo '◇ Test "hangs" started.'
      echo '◇ Test "many" started.'
      echo '✔ Test "ends" passed after 0.1 seconds.'
      echo '✔ Test "many" with 3 test cases passed after 0.1 seconds.'
      sleep 3600 & wait
      """)
    let outcome = try await Command(
      program: "/bin/bash", arguments: [folder.path("project/bin/test")], folder: folder.path,
      environment: [
        "PATH": "\(folder.path("tools")):/usr/local/bin:/usr/bin:/bin",
        "AGENT_EVAL_TEST_MINUTES": "0.01",
      ]
    ).run(status: 1)
    let told = outcome.lines.drop { !$0.hasPrefix("bin/test: not ended") }
    #expect(Array(told.dropFirst().prefix(2)) == ["  hangs", "format: clean"], "\(outcome)")
  }
}
