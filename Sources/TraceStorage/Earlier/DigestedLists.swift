import AgentTrace

/// How the lists of the latest packets were digested, so that a list that goes on from one of them need
/// not be digested from its beginning.
struct DigestedLists {
  /// The digest of the first items of a list.
  struct Beginning: Equatable {
    var count: Int
    var digest: ListDigest
  }

  /// A list as it stood in a packet.
  struct List: Equatable, ListOfRuns {
    var runs: [ItemRun]
    /// Where its runs end, and each of its last few items: from there another list may go on. The last one
    /// is of the whole list.
    var beginnings: [Beginning]

    /// The digest of all of it.
    var digest: ListDigest { beginnings.last?.digest ?? ListDigest() }
  }

  private var lists: [LatestLists<List>]
  /// So many of the last items may be others in the next packet without a cost.
  private static let lastItems = 8

  init() { lists = Array(repeating: LatestLists(), count: LogFormat.listCount) }

  /// The lists of the last packets, by list; `nil` where one has not stood in any.
  var latest: [List?] { lists.map(\.all.last) }

  /// Digests a list of these runs.
  ///
  /// - Parameter item: the digest of the item at a position of the list, by its number; `nil` where that
  ///   is not known.
  /// - Returns: the list, and how many items were hashed; `nil` where an item is not known.
  func digested(
    _ runs: [ItemRun], inList list: Int, item: (_ position: Int, _ number: Int) -> Digest?
  ) -> (list: List, hashes: Int)? {
    let known = beginnings(of: runs, inList: list)
    var digest = known.last?.digest ?? ListDigest()
    let first = known.last?.count ?? 0
    let count = runs.itemCount
    var ends: [Beginning] = []
    var (position, index) = (0, 0)
    for run in runs {
      let end = position + run.count
      while index < known.count, known[index].count <= end {
        if known[index].count == end || known[index].count > count - Self.lastItems {
          ends.append(known[index])
        }
        index += 1
      }
      for place in max(position, first)..<max(position, first, end) {
        guard let next = item(place, run.first + place - position) else { return nil }
        digest.add(next)
        if place + 1 == end || place + 1 > count - Self.lastItems {
          ends.append(Beginning(count: place + 1, digest: digest))
        }
      }
      position = end
    }
    return (List(runs: runs, beginnings: ends), count - first)
  }

  /// What is known of the list that shares the longest beginning with one of these runs.
  private func beginnings(of runs: [ItemRun], inList list: Int) -> ArraySlice<Beginning> {
    var best: ArraySlice<Beginning> = []
    for known in lists[list].all.reversed() {
      let common = runs.commonCount(with: known.runs)
      guard common > best.last?.count ?? 0 else { continue }
      let shared = known.beginnings.prefix { $0.count <= common }
      if shared.last?.count ?? 0 > best.last?.count ?? 0 { best = shared }
    }
    return best
  }

  /// Takes in the list of a packet, in the place of the one that it goes on from.
  mutating func keep(_ new: List, inList list: Int) { lists[list].keep(new) }
}

extension DigestedLists {
  /// The lists of the last packets, as a checkpoint gives them.
  var encoded: JSONValue {
    .array(
      latest.map { list in
        guard let list else { return .null }
        return [
          "digests": .array(
            list.beginnings.map { [JSONValue($0.count), .string($0.digest.value.hex)] }),
          "runs": .array(list.runs.map { [JSONValue($0.first), JSONValue($0.count)] }),
        ]
      })
  }

  /// Reads what ``encoded`` made; `nil` for anything else.
  init?(decoding value: JSONValue?) {
    self.init()
    guard let values = value?.arrayValue, values.count == LogFormat.listCount else { return nil }
    for (list, value) in values.enumerated() where !value.isNull {
      guard let entries = value["runs"]?.arrayValue, let digests = value["digests"]?.arrayValue
      else { return nil }
      var runs: [ItemRun] = []
      for entry in entries {
        guard let pair = entry.arrayValue, let run = try? Resolver.run(pair) else { return nil }
        runs.add(run)
      }
      let count = runs.itemCount
      var beginnings: [Beginning] = []
      for entry in digests {
        guard let end = entry[0]?.intValue, end > beginnings.last?.count ?? 0, end <= count,
          let digest = entry[1]?.stringValue.flatMap(Digest.init(hex:))
        else { return nil }
        beginnings.append(Beginning(count: end, digest: ListDigest(digest)))
      }
      lists[list].keep(List(runs: runs, beginnings: beginnings))
    }
  }
}
