public import AgentTrace

/// Which part of a suite some results tell of, and what has to be known to put the parts together.
public struct ResultsShard: Sendable, Hashable {
  /// Which shard it is, from 1.
  public var index: Int
  /// How many shards the suite was split into.
  public var count: Int
  /// The digest of the suite: shards with different ones do not belong together.
  public var suite: String
  /// How many cases all shards have together, those that are left out among them.
  public var suiteCases: Int
  /// Where each of the results' cases stands among those of the suite, from 0.
  public var places: [Int]
  /// The same for each case that was left out.
  public var skippedPlaces: [Int]
  /// The version of the program that judged.
  public var program: String
  /// Whether every case of the shard was judged; not where the run was called off.
  public var isWhole: Bool
  /// Whether the agents of its cases were run for it.
  public var isLive = false

  /// Whether shards belong together is seen when they are merged.
  public init(
    index: Int, count: Int, suite: String, suiteCases: Int, places: [Int],
    skippedPlaces: [Int] = [], program: String, isWhole: Bool = true
  ) {
    self.index = index
    self.count = count
    self.suite = suite
    self.suiteCases = suiteCases
    self.places = places
    self.skippedPlaces = skippedPlaces
    self.program = program
    self.isWhole = isWhole
  }

  /// The wire form: the key `shard` of results.
  public var json: JSONValue {
    var object: JSONObject = [
      "index": JSONValue(index), "of": JSONValue(count), "suite": .string(suite),
      "suiteCases": JSONValue(suiteCases), "places": .array(places.map { JSONValue($0) }),
      "skippedPlaces": .array(skippedPlaces.map { JSONValue($0) }), "program": .string(program),
      "isWhole": .bool(isWhole),
    ]
    if isLive { object["live"] = true }
    return .object(object)
  }
}

extension EvalResults {
  /// Why nothing can be said from these results on, in words that follow the name of their file; `nil` where they
  /// are whole. What a shard that was cut off did not judge is not in its results, and nobody would miss it.
  public var lack: String? {
    guard let shard, !shard.isWhole else { return nil }
    return
      "holds shard \(shard.index) of \(shard.count), which was cut off before its end; run it again"
  }

  /// In words, which part of a suite they are.
  public var extent: String {
    shard.map { "shard \($0.index) of \($0.count)" } ?? "a whole suite"
  }
}
