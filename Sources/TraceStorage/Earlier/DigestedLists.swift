import AgentTrace

/// The pieces of the lists of the latest packets, by the numbers of their items, so that of a list that
/// goes on from another one only what is new need be hashed.
struct DigestedLists {
  /// A piece whose items have numbers that follow on each other.
  fileprivate struct Known: Equatable {
    var piece: ListPiece
    /// Whether its last item ends it, and not the end of the list.
    var isClosed: Bool

    /// Whether a run has all of its items from a number on, and it ends there.
    func fits(at number: Int, in run: ItemRun, isLast: Bool) -> Bool {
      let end = number + piece.count
      return end <= run.end && (isClosed || isLast && end == run.end)
    }
  }

  /// A list as it stood in a packet.
  struct List {
    var runs: [ItemRun]
    var pieces: [ListPiece] = []
    var digest = ListDigest()
    /// Those of its pieces that a later list may have, by the number of the first item; with their places among all.
    fileprivate var known: [(number: Int, Known, place: Int)] = []
    /// Which of ``known`` the list before did not have.
    fileprivate var fresh: [Int] = []
    /// Whether the last piece is ended by its last item, and not by the end of the list.
    fileprivate var isClosed = false
    /// The items of a last piece that the end of the list ends, and the number of the first where the others follow on
    /// it; none where that piece was not made but found.
    fileprivate var tail: (items: [Digest], first: Int?) = ([], nil)
    /// How many items and pieces were hashed for it.
    fileprivate(set) var hashes = 0
  }

  /// The pieces of one list of the packets. What has not been used for long is forgotten, in two
  /// generations; who writes and who reads forget the same.
  private struct Pieces {
    private var recent: [Int: Known] = [:]
    private var older: [Int: Known] = [:]
    /// So many are kept besides those of the last list.
    private static let limit = 1024

    subscript(number: Int) -> Known? { recent[number] ?? older[number] }

    mutating func keep(_ list: List) {
      // Those of the list before were kept with it.
      for index in list.fresh where recent[list.known[index].number] != list.known[index].1 {
        recent[list.known[index].number] = list.known[index].1
      }
      guard recent.count > Self.limit + list.known.count else { return }
      older = recent
      recent = Dictionary(list.known.map { ($0.number, $0.1) }) { $1 }
    }
  }

  private var pieces = [Pieces](repeating: Pieces(), count: LogFormat.listCount)
  /// The lists of the last packets, by list; `nil` where one has not stood in any.
  private(set) var latest = [List?](repeating: nil, count: LogFormat.listCount)

  /// Digests a list of these runs.
  ///
  /// - Parameter item: the digest of the item at a position of the list, by its number; `nil` where that
  ///   is not known.
  /// - Returns: the list; `nil` where an item is not known.
  func digested(
    _ runs: [ItemRun], inList list: Int, item: (_ position: Int, _ number: Int) -> Digest?
  ) -> List? {
    var walk = Walk(list: List(runs: runs))
    // Most lists are the last one with more behind it: its pieces are taken over without being looked for.
    var taken = latest[list].map { walk.takeBeginning(of: $0) } ?? 0
    // One that lost some of its beginning has the pieces of the last one behind it, in their order.
    let others = latest[list]?.known ?? []
    var other = walk.list.known.count
    var position = 0
    for (index, run) in runs.enumerated() {
      let passed = min(taken, run.count)
      taken -= passed
      var number = run.first + passed
      while number < run.end {
        while walk.isBetweenPieces, other < others.count, others[other].number < number {
          other += 1
        }
        if walk.isBetweenPieces, other < others.count, others[other].number == number,
          others[other].1.fits(at: number, in: run, isLast: index + 1 == runs.count)
        {
          walk.take(others[other].1, number: number, isFresh: false)
          number += others[other].1.piece.count
        } else if walk.isBetweenPieces, let known = pieces[list][number],
          known.fits(at: number, in: run, isLast: index + 1 == runs.count)
        {
          walk.take(known, number: number, isFresh: true)
          number += known.piece.count
        } else {
          guard let next = item(position + number - run.first, number) else { return nil }
          walk.add(next, number: number)
          number += 1
        }
      }
      position += run.count
    }
    return walk.finish()
  }

  /// A list that is being digested.
  private struct Walk {
    var list: List
    /// The items of the piece that is being made.
    private var open: [Digest] = []
    /// The number of its first item; `nil` where the others do not follow on it.
    private var first: Int?

    init(list: List) { self.list = list }

    var isBetweenPieces: Bool { open.isEmpty }

    /// Takes over the pieces that another list begins with as well; how many items they have.
    mutating func takeBeginning(of other: List) -> Int {
      let common = list.runs.commonCount(with: other.runs)
      let ended = other.isClosed ? other.pieces.count : other.pieces.count - 1
      var (count, items) = (0, 0)
      while count < ended, items + other.pieces[count].count <= common {
        items += other.pieces[count].count
        count += 1
      }
      list.pieces.reserveCapacity(count + 2)
      list.pieces += other.pieces[..<count]
      let known = other.known.prefix { $0.place < count }
      list.known.reserveCapacity(known.count + 2)
      list.known += known
      list.hashes += count
      // What the end of that list ended goes on here.
      let tail = other.tail.items
      if count == ended, !other.isClosed, tail.count == other.pieces[count].count,
        items + tail.count <= common
      {
        (open, first) = (tail, other.tail.first)
        items += tail.count
        list.hashes += tail.count
      }
      return items
    }

    mutating func take(_ known: Known, number: Int, isFresh: Bool) {
      if isFresh { list.fresh.append(list.known.count) }
      list.known.append((number, known, list.pieces.count))
      list.pieces.append(known.piece)
      list.isClosed = known.isClosed
      list.hashes += 1
    }

    mutating func add(_ item: Digest, number: Int) {
      if open.isEmpty {
        first = number
      } else if first.map({ $0 + open.count }) != number {
        first = nil
      }
      open.append(item)
      list.hashes += 1
      if ListPiece.ends(behind: item, count: open.count) { close(isClosed: true) }
    }

    private mutating func close(isClosed: Bool) {
      let piece = ListPiece(of: open[...])
      if let first {
        list.fresh.append(list.known.count)
        list.known.append((first, Known(piece: piece, isClosed: isClosed), list.pieces.count))
      }
      list.pieces.append(piece)
      list.isClosed = isClosed
      list.hashes += 1
      open.removeAll(keepingCapacity: true)
    }

    consuming func finish() -> List {
      if !open.isEmpty {
        list.tail = (open, first)
        close(isClosed: false)
      }
      list.digest = ListDigest(of: list.pieces)
      return list
    }
  }

  /// Takes in the list of a packet.
  mutating func keep(_ new: List, inList list: Int) {
    pieces[list].keep(new)
    latest[list] = new
  }
}

extension DigestedLists {
  /// The lists of the last packets, as a checkpoint gives them.
  ///
  /// - Parameter item: the digest of an item of the last packet.
  func encoded(item: (_ list: Int, _ number: Int) -> Digest?) -> JSONValue {
    .array(
      latest.enumerated().map { index, list in
        guard let list else { return .null }
        let ends = list.ends.map { number -> JSONValue in
          [JSONValue(number), item(index, number).map { .string($0.hex) } ?? .null]
        }
        return [
          "items": .array(ends),
          "pieces": .array(
            list.pieces.map { [JSONValue($0.count), .string($0.digest.hex)] }),
          "runs": .array(list.runs.map { [JSONValue($0.first), JSONValue($0.count)] }),
        ]
      })
  }

  /// Reads what ``encoded(item:)`` made; `nil` for anything else.
  ///
  /// - Parameter keep: takes the digest of an item.
  init?(decoding value: JSONValue?, keep: (_ list: Int, _ number: Int, Digest) -> Void) {
    self.init()
    guard let values = value?.arrayValue, values.count == LogFormat.listCount else { return nil }
    for (index, value) in values.enumerated() where !value.isNull {
      guard let list = List(decoding: value), let items = value["items"]?.arrayValue else {
        return nil
      }
      for item in items {
        guard let number = item[0]?.intValue,
          let digest = item[1]?.stringValue.flatMap(Digest.init(hex:))
        else { return nil }
        keep(index, number, digest)
      }
      self.keep(list, inList: index)
    }
  }
}

extension DigestedLists.List {
  /// The numbers of the items of those pieces that may have to be made anew where the next list is mostly the
  /// same: the first, whose beginning may go; the last, which goes on; and those whose items do not follow on
  /// each other, which nobody finds by the number of the first.
  fileprivate var ends: [Int] {
    var numbers: [Int] = []
    forEachPiece { index, _, own in
      guard index == 0 || index + 1 == pieces.count || own.count > 1 else { return }
      for run in own { numbers += run.first..<run.end }
    }
    return numbers
  }

  /// Calls with each piece and the runs that its items make.
  private func forEachPiece(_ body: (_ index: Int, ListPiece, [ItemRun]) -> Void) {
    var (run, offset) = (0, 0)
    for (index, piece) in pieces.enumerated() {
      var own: [ItemRun] = []
      var left = piece.count
      while left > 0, run < runs.count {
        let step = min(left, runs[run].count - offset)
        if step > 0 { own.append(ItemRun(first: runs[run].first + offset, count: step)) }
        (left, offset) = (left - step, offset + step)
        if offset == runs[run].count { (run, offset) = (run + 1, 0) }
      }
      body(index, piece, own)
    }
  }

  fileprivate init?(decoding value: JSONValue) {
    guard let entries = value["runs"]?.arrayValue, let made = value["pieces"]?.arrayValue else {
      return nil
    }
    self.init(runs: [])
    for entry in entries {
      guard let pair = entry.arrayValue, let run = try? Resolver.run(pair) else { return nil }
      runs.add(run)
    }
    var left = runs.itemCount
    for entry in made {
      guard let count = entry[0]?.intValue, (1...256).contains(count), count <= left,
        let digest = entry[1]?.stringValue.flatMap(Digest.init(hex:))
      else { return nil }
      pieces.append(ListPiece(count: count, digest: digest))
      left -= count
    }
    guard left == 0 else { return nil }
    digest = ListDigest(of: pieces)
    findKnown()
  }

  /// Finds those of its pieces whose items lie in one run. Of the last one nobody knows whether its last item
  /// ends it; the list that goes on from it makes it anew.
  private mutating func findKnown() {
    var found: [(number: Int, DigestedLists.Known, place: Int)] = []
    forEachPiece { index, piece, own in
      guard index + 1 < pieces.count, own.count == 1 else { return }
      found.append((own[0].first, DigestedLists.Known(piece: piece, isClosed: true), index))
    }
    known = found
    fresh = Array(found.indices)
  }
}
