import Foundation
import TestSupport
import Testing

/// The program held against the judge of Tests/Oracle, which was written from the documents alone.
@Suite("The independent judge")
struct OracleTests {
  static let python = ProcessInfo.processInfo.environment["AGENT_EVAL_PYTHON"] ?? "python3"

  /// Whether there is a Python that can run it.
  static func hasPython() async -> Bool {
    (try? await shell("\(python) -c 'import sys; sys.exit(sys.version_info < (3, 9))'")) != nil
  }

  @Test(
    "The program and a judge that shares no code with it say the same of random runs",
    .enabled("needs a Python of 3.9 or newer") { await OracleTests.hasPython() })
  func randomPairs() async throws {
    let (pairs, seeds) = TestRun.isLong ? (50_000, "1,2,3,4,5,6,7,8,9,10") : (1_000, "1,2")
    let command = Command(
      program: "/usr/bin/env",
      arguments: [
        Self.python, Project.path("Tests/Oracle/oracle.py"), "--binary", Binary.path, "--pairs",
        "\(pairs)", "--seeds", seeds, "--table",
      ], timeoutSeconds: TestRun.isLong ? 3_600 : 240)
    let outcome = try await command.run()
    #expect(outcome.output.contains("\(pairs) pairs"), "\(outcome)")
  }

  @Test(
    "It has the outcome of each row of Conformance that it covers",
    .enabled("needs a Python of 3.9 or newer") { await OracleTests.hasPython() })
  func conformance() async throws {
    let command = Command(
      program: "/usr/bin/env",
      arguments: [
        Self.python, Project.path("Tests/Oracle/conformance.py"), Project.path("Conformance"),
      ])
    let outcome = try await command.run()
    #expect(outcome.output.contains("rows agree"), "\(outcome)")
  }

  @Test("Conformance holds what the program writes")
  func writtenFiles() async throws {
    let folder = try TemporaryFolder()
    try await Binary.run(["conformance", "--write", folder.path])
    let written = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let kept = try FileManager.default.contentsOfDirectory(atPath: Project.path("Conformance"))
    #expect(written == kept.sorted())
    for name in written {
      let (new, old) = try (
        Data(contentsOf: URL(fileURLWithPath: folder.path(name))),
        Data(contentsOf: URL(fileURLWithPath: Project.path("Conformance/\(name)")))
      )
      #expect(new == old, "\(name) is stale: bin/agent-eval conformance --write Conformance")
    }
  }
}
