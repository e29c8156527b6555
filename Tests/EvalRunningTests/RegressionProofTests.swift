import AgentTrace
import EvalLoading
import EvalRunning
import TestSupport
import Testing
import TraceJudging

@Suite("Planted regressions")
struct RegressionProofTests {
  /// Pairs of suites that are made.
  private static let pairs = 0..<500

  @Test("of 500 pairs of suites, what was planted is reported and nothing else")
  func proof() throws {
    var counts: [Planted.Change: Int] = [:]
    for seed in Self.pairs {
      for planted in try Self.check(seed) { counts[planted.change, default: 0] += 1 }
    }
    // Each kind of change was planted, and often.
    for change in Planted.Change.allCases {
      #expect(counts[change, default: 0] >= 5, "\(change)")
    }
  }

  /// Makes a suite, accepts it, plants changes into some of its cases and compares.
  private static func check(_ seed: Int) throws -> [Planted] {
    var random = Seeded(seed: UInt64(seed) + 1)
    let folder = try TemporaryFolder()
    var (before, after) = (ScriptedSuite(cases: []), ScriptedSuite(cases: []))
    var expected: [(id: String, planted: Planted)] = []
    for number in 0..<Int.random(in: 3...6, using: &random) {
      let original = ScriptedCase(number, using: &random)
      let isPlanted = number == 0 || Int.random(in: 0..<3, using: &random) == 0
      // Each change comes first in its turn.
      let changes = Planted.Change.allCases
      let change =
        number == 0
        ? changes[seed % changes.count]
        : isPlanted ? changes.randomElement(using: &random) ?? .nothing : .nothing
      let (old, new, planted) = ScriptedCase.plant(change, original, using: &random)
      if let old { before.cases.append(old) }
      if let new { after.cases.append(new) }
      expected.append((original.caseId, planted))
    }
    try before.accept(in: folder.path)
    let (results, _) = try after.results(in: folder.path, runId: "now \(seed)")
    report(results, expected, seed)
    return expected.map(\.planted)
  }

  private static func report(
    _ results: EvalResults, _ expected: [(id: String, planted: Planted)], _ seed: Int
  ) {
    let gone = expected.filter { $0.planted.change == .gone }.map(\.id)
    #expect(results.comparison?.gone.map(\.caseId) == gone, "seed \(seed)")
    #expect(results.comparison?.unusable == [], "seed \(seed)")
    let isWorse = !gone.isEmpty || expected.contains { $0.planted.kind == .regressed }
    #expect(results.exitCode == (isWorse || results.cases.isEmpty ? 1 : 0), "seed \(seed)")
    for (id, planted) in expected where planted.change != .gone {
      let found =
        results.cases.first { $0.caseId == id }?.comparison
        ?? results.skipped.first { $0.caseId == id }?.comparison
      let said = "seed \(seed), \(planted.change): \(String(describing: found))"
      #expect(found?.kind == planted.kind, "\(said)")
      let differences = found?.differences ?? []
      #expect(differences.count == planted.signs.count, "\(said)")
      for (difference, sign) in zip(differences, planted.signs) {
        #expect(sign.fits(difference), "\(sign) in \(said)")
      }
    }
  }
}
