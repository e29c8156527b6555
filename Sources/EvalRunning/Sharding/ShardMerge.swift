import AgentTrace
public import TraceJudging

/// The results of the shards of a suite put together again.
public struct ShardMerge: Sendable {
  /// The results of one shard, and the name of what they were read from.
  public struct Part: Sendable {
    /// For messages: a path.
    public var name: String
    /// The results as they were read.
    public var results: EvalResults

    /// Whether it belongs to the others is seen when they are merged.
    public init(name: String, results: EvalResults) {
      self.name = name
      self.results = results
    }
  }

  /// Why parts are not put together: everything that is wrong with them.
  public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// Sentences, without their ends, each naming files or shards.
    public var problems: [String]

    public var description: String {
      "the shards cannot be merged\n" + problems.map { "  " + $0 }.joined(separator: "\n")
    }
  }

  /// What the run of the whole suite would have had as its results.
  public let results: EvalResults
  /// What was passed over, in sentences for a person.
  public let notes: [String]

  /// Puts shards together, in whatever order they come.
  ///
  /// A shard that is there twice with the same results counts once, as one that was tried again. One
  /// that was cut off counts as none where a whole one is there.
  ///
  /// - Throws: ``Refusal`` where a shard is missing, is there twice with different results, or belongs
  ///   to something else.
  public init(_ parts: [Part]) throws(Refusal) {
    var gathering = Gathering(parts.sorted { $0.name.precedesByUTF8($1.name) })
    results = try gathering.results()
    notes = gathering.notes
  }
}

/// Shards as they come in.
private struct Gathering {
  private struct Arrived {
    var name: String
    var results: EvalResults
    var shard: ResultsShard
  }

  /// What shards of one suite have in common.
  private struct Family: Hashable {
    var count: Int
    var program: [UInt8]
    var suite: [UInt8]
    var suiteCases: Int

    init(_ shard: ResultsShard) {
      count = shard.count
      program = Array(shard.program.utf8)
      suite = Array(shard.suite.utf8)
      suiteCases = shard.suiteCases
    }
  }

  /// One of those that most of the others belong to.
  private var model: Arrived?
  private var whole: [Int: Arrived] = [:]
  private var cutOff: [Int: [String]] = [:]
  private(set) var notes: [String] = []
  private var problems: [String] = []

  init(_ parts: [ShardMerge.Part]) {
    var sound: [Arrived] = []
    for part in parts {
      guard let shard = part.results.shard else {
        problems.append("\(part.name) holds the results of a whole run, not those of a shard")
        continue
      }
      let arrived = Arrived(name: part.name, results: part.results, shard: shard)
      if let fault = Self.fault(in: arrived) {
        problems.append("\(part.name) \(fault)")
      } else {
        sound.append(arrived)
      }
    }
    var sizes: [Family: Int] = [:]
    for arrived in sound { sizes[Family(arrived.shard), default: 0] += 1 }
    for arrived in sound {
      let size = sizes[Family(arrived.shard)] ?? 0
      if size > model.flatMap({ sizes[Family($0.shard)] }) ?? 0 { model = arrived }
    }
    for arrived in sound { add(arrived) }
  }

  private mutating func add(_ arrived: Arrived) {
    if let fault = foreign(arrived) {
      problems.append("\(arrived.name) \(fault)")
      return
    }
    let shard = arrived.shard
    guard shard.isWhole else {
      cutOff[shard.index, default: []].append(arrived.name)
      return
    }
    guard let other = whole[shard.index] else {
      whole[shard.index] = arrived
      return
    }
    let both = "shard \(shard.index) of \(shard.count) is in \(other.name) and in \(arrived.name)"
    if other.results.encoded == arrived.results.encoded {
      notes.append("\(both), with the same results; it counts once")
    } else {
      problems.append("\(both), with different results; give one of them")
    }
  }

  /// What is wrong with a shard by itself.
  private static func fault(in arrived: Arrived) -> String? {
    let (shard, results) = (arrived.shard, arrived.results)
    guard let number = Shard(shard.index, of: shard.count) else {
      return "says that it is shard \(shard.index) of \(shard.count), which is none"
    }
    guard shard.places.count == results.cases.count,
      shard.skippedPlaces.count == results.skipped.count
    else { return "does not say of each case where it stands; it was altered" }
    let stray =
      results.cases.lazy.map(\.caseId).first { !number.holds($0) }
      ?? results.skipped.lazy.map(\.caseId).first { !number.holds($0) }
    return stray.map { "holds the case “\($0)”, which belongs to another shard than \(number)" }
  }

  /// Why a shard does not belong to the others.
  private func foreign(_ arrived: Arrived) -> String? {
    guard let first = model else { return nil }
    if Family(first.shard) == Family(arrived.shard) {
      let isSame = first.results.comparison == arrived.results.comparison
      return isSame ? nil : "was compared with other baselines than \(first.name)"
    }
    let (shard, other) = (arrived.shard, first.shard)
    if shard.count != other.count {
      return "is a shard of \(shard.count), \(first.name) one of \(other.count)"
    }
    if !shard.program.hasSameUTF8(as: other.program) {
      return "was judged by agent-eval \(shard.program), \(first.name) by \(other.program)"
    }
    return "is of another suite than \(first.name): other cases, other files or other options "
      + "(\(shard.suite.prefix(16)), not \(other.suite.prefix(16)))"
  }

  /// The results of all together.
  mutating func results() throws(ShardMerge.Refusal) -> EvalResults {
    if let model { tellMissing(of: model.shard) }
    if model == nil, problems.isEmpty { problems.append("there are no results of any shard") }
    guard problems.isEmpty, let model else { throw ShardMerge.Refusal(problems: problems) }
    var (cases, skipped): ([(Int, CaseResult)], [(Int, SkippedCase)]) = ([], [])
    for arrived in whole.values {
      cases += zip(arrived.shard.places, arrived.results.cases)
      skipped += zip(arrived.shard.skippedPlaces, arrived.results.skipped)
    }
    cases.sort { $0.0 < $1.0 }
    skipped.sort { $0.0 < $1.0 }
    // Each place of the suite is taken, and by one case.
    guard (cases.map(\.0) + skipped.map(\.0)).sorted() == Array(0..<cases.count + skipped.count),
      cases.count + skipped.count == model.shard.suiteCases
    else {
      throw ShardMerge.Refusal(problems: [
        "the shards hold \(cases.count + skipped.count) cases for the \(model.shard.suiteCases) "
          + "places of their suite, or two for one place; they were altered"
      ])
    }
    var results = EvalResults(cases: cases.map(\.1), skipped: skipped.map(\.1))
    // Each shard was compared with the whole of the baselines, by the same options.
    results.comparison = model.results.comparison
    return results
  }

  private mutating func tellMissing(of shard: ResultsShard) {
    var missing: [Int] = []
    for index in 1...shard.count where whole[index] == nil {
      guard let names = cutOff[index] else {
        missing.append(index)
        continue
      }
      problems.append(
        "shard \(index) of \(shard.count) was cut off before its end (\(names[0])); run it again")
    }
    for (index, names) in cutOff.sorted(by: { $0.key < $1.key }) where whole[index] != nil {
      notes += names.map { "\($0) was cut off; a whole shard \(index) is there" }
    }
    guard !missing.isEmpty else { return }
    let named = missing.prefix(20).map(String.init).joined(separator: ", ")
    let more = missing.count > 20 ? " and \(missing.count - 20) more" : ""
    problems.append(
      "\(missing.count == 1 ? "shard" : "shards") \(named)\(more) of \(shard.count) "
        + (missing.count == 1 ? "is missing" : "are missing"))
  }
}
