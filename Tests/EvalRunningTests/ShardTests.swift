import AgentRuntime
import AgentTrace
import EvalRunning
import TestSupport
import Testing
import TraceJudging

@Suite("Shards")
struct ShardTests {
  @Test(
    "what is no i/n is no shard",
    arguments: [
      "", "1", "/", "1/", "/2", "0/2", "3/2", "1/0", "-1/2", "+1/2", "1/2/3", " 1/2", "1/2 ",
      "1.0/2",
      "1/100001", "١/٢", "1/99999999999999999999", "18446744073709551617/18446744073709551617",
    ])
  func mistakes(text: String) { #expect(Shard(text) == nil) }

  @Test(
    "i/n is read", arguments: [("1/1", 1, 1), ("2/7", 2, 7), ("100000/100000", 100_000, 100_000)])
  func parsing(text: String, index: Int, count: Int) throws {
    let shard = try #require(Shard(text))
    #expect(shard.index == index && shard.count == count && shard.description == text)
  }

  @Test(
    "the split never changes: what is written here is what other machines come to",
    arguments: [
      ("refund-needs-approval", 7, 6), ("a", 7, 5), ("b", 7, 1), ("é", 64, 20),
      ("e\u{301}", 64, 51),
    ])
  func stable(caseId: String, count: Int, index: Int) {
    #expect(Shard.index(of: caseId, among: count) == index)
  }

  @Test(
    "every case is in exactly one shard, and the shards are about as large",
    arguments: [1, 2, 7, 64])
  func partition(count: Int) throws {
    var sizes = [Int](repeating: 0, count: count)
    let shards = try (1...count).map { try #require(Shard($0, of: count)) }
    for number in 0..<6_400 {
      let holders = shards.filter { $0.holds("case-\(number)") }
      #expect(holders.count == 1)
      if let holder = holders.first { sizes[holder.index - 1] += 1 }
    }
    let fair = 6_400 / count
    #expect(sizes.allSatisfy { $0 > fair / 2 && $0 < fair * 2 }, "\(sizes)")
  }
}

@Suite("Merging shards")
struct ShardMergeTests {
  private static let ids = (0..<50).map { "case-\($0)" }

  /// The results of one shard of a suite of fifty cases, of which every ninth is left out.
  private static func part(
    _ index: Int, of count: Int, name: String? = nil, suite: String = "suite",
    program: String = "1.0", isWhole: Bool = true, message: String = "fine"
  ) -> ShardMerge.Part {
    var (cases, skipped): ([CaseResult], [SkippedCase]) = ([], [])
    var (places, skippedPlaces): ([Int], [Int]) = ([], [])
    for (place, caseId) in ids.enumerated()
    where Shard.index(of: caseId, among: count) == index {
      if place % 9 == 8 {
        skipped.append(SkippedCase(caseId: caseId, reason: "later"))
        skippedPlaces.append(place)
        continue
      }
      var result = CaseResult(caseId: caseId, position: "cases.yaml:\(place + 1)")
      let outcome = ExpectationOutcome(
        expectation: "stopReason", outcome: place % 7 == 0 ? .fail : .pass, events: [place],
        message: message)
      result.trials = [
        TrialResult(
          runId: "r\(place)", log: "runs/\(place)", judgedFrom: "body",
          judgement: Judgement(outcomes: [outcome]))
      ]
      cases.append(result)
      places.append(place)
    }
    let shard = ResultsShard(
      index: index, count: count, suite: suite, suiteCases: ids.count, places: places,
      skippedPlaces: skippedPlaces, program: program, isWhole: isWhole)
    return ShardMerge.Part(
      name: name ?? "\(index).json",
      results: EvalResults(cases: cases, skipped: skipped, shard: shard))
  }

  private static func parts(_ count: Int) -> [ShardMerge.Part] {
    (1...count).map { part($0, of: count) }
  }

  private static func problems(_ parts: [ShardMerge.Part]) -> [String] {
    do {
      _ = try ShardMerge(parts)
      return []
    } catch {
      return error.problems
    }
  }

  @Test("nothing is no suite") func nothing() {
    #expect(Self.problems([]) == ["there are no results of any shard"])
  }

  @Test("the results of a whole run are no shard") func wholeRun() throws {
    let results = try ShardMerge(Self.parts(3)).results
    let problems = Self.problems(Self.parts(3) + [.init(name: "all.json", results: results)])
    #expect(problems == ["all.json holds the results of a whole run, not those of a shard"])
  }

  @Test("shards that are missing are named", arguments: [[1], [3], [2, 7], Array(1...6)])
  func missing(indices: [Int]) {
    let parts = Self.parts(7).enumerated().filter { !indices.contains($0.offset + 1) }.map(
      \.element)
    let names = indices.map(String.init).joined(separator: ", ")
    #expect(
      Self.problems(parts) == [
        indices.count == 1
          ? "shard \(names) of 7 is missing" : "shards \(names) of 7 are missing"
      ])
  }

  @Test("many missing shards are counted") func manyMissing() {
    let problems = Self.problems([Self.part(1, of: 100_000)])
    #expect(problems.count == 1 && problems[0].hasSuffix("21 and 99979 more of 100000 are missing"))
  }

  @Test("one shard with two results is refused by the names of both files") func double() {
    let other = Self.part(2, of: 3, name: "other.json", message: "different")
    #expect(
      Self.problems(Self.parts(3) + [other]) == [
        "shard 2 of 3 is in 2.json and in other.json, with different results; give one of them"
      ])
  }

  @Test("a shard that was tried again and came to the same counts once, and that is told")
  func retried() throws {
    let merge = try ShardMerge(Self.parts(3) + [Self.part(2, of: 3, name: "again.json")])
    #expect(
      merge.notes == [
        "shard 2 of 3 is in 2.json and in again.json, with the same results; it counts once"
      ])
    #expect(merge.results.cases.count + merge.results.skipped.count == 50)
  }

  @Test("a shard that was cut off counts as none, and does no harm beside a whole one")
  func cutOff() throws {
    let cut = Self.part(2, of: 3, name: "cut.json", isWhole: false)
    let others = [Self.part(1, of: 3), Self.part(3, of: 3)]
    #expect(
      Self.problems(others + [cut]) == [
        "shard 2 of 3 was cut off before its end (cut.json); run it again"
      ])
    let merge = try ShardMerge(Self.parts(3) + [cut])
    #expect(merge.notes == ["cut.json was cut off; a whole shard 2 is there"])
    #expect(merge.results.encoded == (try ShardMerge(Self.parts(3)).results.encoded))
  }

  @Test(
    "a shard of something else is named, whichever comes first",
    arguments: [
      (Self.part(2, of: 3, name: "0.json", suite: "another"), "0.json is of another suite than 1"),
      (Self.part(2, of: 3, name: "0.json", program: "2.0"), "0.json was judged by agent-eval 2.0"),
      (Self.part(2, of: 4, name: "0.json"), "0.json is a shard of 4, 1.json one of 3"),
    ])
  func foreign(part: ShardMerge.Part, message: String) {
    let problems = Self.problems([part, Self.part(1, of: 3), Self.part(3, of: 3)])
    #expect(problems.count == 2 && problems[0].hasPrefix(message), "\(problems)")
    #expect(problems.last == "shard 2 of 3 is missing")
  }

  @Test("what was altered is refused: cases of other shards, lost cases, places that cannot be")
  func altered() throws {
    var moved = Self.part(1, of: 2)
    moved.results.cases.append(Self.part(2, of: 2).results.cases[0])
    #expect(Self.problems([moved, Self.part(2, of: 2)])[0].contains("does not say of each case"))
    moved.results.shard?.places.append(0)
    #expect(
      Self.problems([moved, Self.part(2, of: 2)])[0].contains("belongs to another shard than 1/2"))
    var lost = Self.part(1, of: 2)
    lost.results.cases.removeLast()
    lost.results.shard?.places.removeLast()
    #expect(Self.problems([lost, Self.part(2, of: 2)])[0].contains("the shards hold 49 cases"))
    for place in [Self.part(1, of: 2).results.shard?.places[1] ?? 0, 50, Int.max] {
      var odd = Self.part(1, of: 2)
      odd.results.shard?.places[0] = place
      #expect(Self.problems([odd, Self.part(2, of: 2)])[0].contains("they were altered"))
    }
    var huge = Self.parts(2)
    for index in huge.indices { huge[index].results.shard?.suiteCases = .max }
    #expect(Self.problems(huge)[0].contains("they were altered"))
    var none = Self.part(1, of: 2)
    none.results.shard?.index = 5
    #expect(Self.problems([none])[0].contains("which is none"))
  }

  @Test("any number of shards in any order makes the same results", arguments: [1, 2, 7, 64])
  func same(count: Int) throws {
    let whole = try ShardMerge(Self.parts(1)).results
    #expect(
      whole.shard == nil
        && whole.cases.map(\.caseId)
          == Self.ids.enumerated()
          .filter { $0.offset % 9 != 8 }.map(\.element)
    )
    var random = Seeded(seed: UInt64(count))
    for _ in 0..<20 {
      let merged = try ShardMerge(Self.parts(count).shuffled(using: &random)).results
      #expect(merged.encoded == whole.encoded)
    }
  }
}
