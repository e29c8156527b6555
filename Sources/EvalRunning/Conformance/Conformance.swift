public import TraceJudging

extension Conformance {
  /// Every edge case, judged now: those of each expectation, then those on which other evaluators err.
  public static func checks() async -> [Check] {
    var book = ConformanceBook.ofExpectations
    await book.addPeersOfLogs()
    return book.checks
  }
}
