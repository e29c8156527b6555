import AgentTrace

/// The pieces of the lists of the latest packets, by the numbers of their items, so that of a list that
/// goes on from another one only what is new need be hashed.
struct DigestedLists {
  /// A piece as it stands in a list.
  fileprivate struct Known: Equatable {
    var piece: ListPiece
    /// Whether its last item ends it, and not the end of the list.
    var isClosed: Bool
    /// The number of its first item where the others follow on it: a later list finds it by that.
    var first: Int?

    /// Whether a run has all of its items from a number on, and it ends there.
    func fits(at number: Int, in run: ItemRun, isLast: Bool) -> Bool {
      guard first == number else { return false }
      let end = number + piece.count
      return end <= run.end && (isClosed || isLast && end == run.end)
    }
  }

  /// Pieces one behind the other, which lists that begin with the same ones share. Each looks at as many as it has.
  fileprivate final class Row {
    private(set) var pieces: [Known]

    init(_ pieces: [Known]) { self.pieces = pieces }

    func append(_ piece: Known) { pieces.append(piece) }
    func append(_ more: ArraySlice<Known>) { pieces.append(contentsOf: more) }
  }

  /// The pieces of a list that their last items end, and what is hashed of their digests.
  fileprivate struct Beginning {
    private var row = Row([])
    private(set) var count = 0
    private(set) var itemCount = 0
    /// How many of them a later list finds by a number.
    private(set) var foundCount = 0
    private(set) var hashed = DigestBuilder()

    /// - Complexity: O(count).
    var pieces: ArraySlice<Known> { row.pieces[..<count] }

    /// - Complexity: O(1), but where another list went on from the same beginning.
    mutating func append(_ piece: Known) {
      if row.pieces.count != count { row = Row(Array(pieces)) }
      row.append(piece)
      count += 1
      itemCount += piece.piece.count
      if piece.first != nil { foundCount += 1 }
      hashed.update(piece.piece.digest)
    }

    /// The same of some; how many items they have.
    ///
    /// - Complexity: O(their count), but where another list went on from the same beginning.
    mutating func append(_ pieces: ArraySlice<Known>) -> Int {
      if row.pieces.count == count {
        row.append(pieces)
      } else {
        row = Row(Array(self.pieces) + pieces)
      }
      var items = 0
      withUnsafeTemporaryAllocation(of: Digest.self, capacity: pieces.count) { digests in
        for (index, piece) in pieces.enumerated() {
          digests.initializeElement(at: index, to: piece.piece.digest)
          items += piece.piece.count
          if piece.first != nil { foundCount += 1 }
        }
        hashed.update(UnsafeRawBufferPointer(digests))
      }
      count += pieces.count
      itemCount += items
      return items
    }
  }

  /// A list as it stood in a packet.
  final class List {
    let runs: [ItemRun]
    fileprivate let beginning: Beginning
    /// The last piece where the end of the list ends it.
    fileprivate let end: Known?
    /// The items of that piece; none where it was not made but found.
    fileprivate let open: OpenPiece
    /// Those of its pieces that the list before did not have.
    fileprivate let fresh: [Known]
    let digest: ListDigest
    /// How many items and pieces were hashed for it.
    let hashes: Int

    fileprivate init(
      runs: [ItemRun], beginning: Beginning, end: Known?, open: OpenPiece, fresh: [Known],
      hashes: Int
    ) {
      (self.runs, self.beginning, self.end) = (runs, beginning, end)
      (self.open, self.fresh, self.hashes) = (open, fresh, hashes)
      var hashed = beginning.hashed
      if let end { hashed.update(end.piece.digest) }
      digest = ListDigest(value: hashed.digest())
    }

    /// The same list once more, as a later packet has it.
    fileprivate init(again list: List) {
      (runs, beginning, end) = (list.runs, list.beginning, list.end)
      (open, digest, fresh) = (list.open, list.digest, [])
      hashes = beginning.count + open.items.count + (end == nil ? 0 : 1)
    }

    /// Whether the pieces of a list with the same runs would be made just like these.
    fileprivate var isMadeHere: Bool { end == nil || !open.items.isEmpty }

    /// All of its pieces.
    fileprivate var pieces: [Known] { beginning.pieces + (end.map { [$0] } ?? []) }

    /// How many of them a later list finds by a number.
    fileprivate var foundCount: Int { beginning.foundCount + (end?.first == nil ? 0 : 1) }
  }

  /// Items of a piece that goes on.
  fileprivate struct OpenPiece {
    private(set) var items: [Digest] = []
    /// The number of the first, and how many of them follow on each other.
    private var (number, following) = (0, 0)
    /// How many of them are hashed: the others are when it ends, all at once.
    private var hashed = (count: 0, builder: DigestBuilder())
    /// As it stood where the list went on from the one before: the next one mostly goes on from there or later.
    private var mark = (count: 0, builder: DigestBuilder())

    /// Room for as many as most pieces have.
    private static let room = 48

    init() {}

    /// The beginning of another one; what follows goes on from there.
    init(of other: OpenPiece, count: Int) {
      items.reserveCapacity(count + Self.room)
      items.append(contentsOf: other.items.prefix(count))
      (number, following) = (other.number, min(count, other.following))
      if other.hashed.count <= count {
        hashed = other.hashed
      } else if other.mark.count <= count {
        hashed = other.mark
      }
      hash()
      mark = hashed
    }

    mutating func add(_ item: Digest, number: Int) {
      if items.isEmpty {
        (self.number, following) = (number, 0)
        items.reserveCapacity(Self.room)
      }
      if following == items.count, self.number + following == number { following += 1 }
      items.append(item)
    }

    private mutating func hash() {
      items.withUnsafeBufferPointer { items in
        guard hashed.count < items.count else { return }
        hashed.builder.update(
          UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: items[hashed.count...])))
      }
      hashed.count = items.count
    }

    mutating func ended(isClosed: Bool) -> Known {
      hash()
      return Known(
        piece: ListPiece(count: items.count, digest: hashed.builder.digest()), isClosed: isClosed,
        first: following == items.count ? number : nil)
    }

    mutating func removeAll() {
      items.removeAll(keepingCapacity: true)
      hashed = (0, DigestBuilder())
      mark = hashed
    }
  }

  /// What a list has behind its beginning and the one before it has too, one behind the other: of a context that slides,
  /// all but what it newly says.
  private struct Tail {
    /// Where it stands in the list.
    private let positions: Range<Int>
    /// So much further behind it stands in the one before.
    private let shift: Int
    /// The pieces of the one before that are not passed by, and where the first of them begins there.
    private var rest: ArraySlice<Known>
    private var at = 0
    private let open: OpenPiece

    /// - Parameter start: so many items both lists begin with.
    ///
    /// - Complexity: O(runs of both).
    init?(of last: List, in runs: [ItemRun], from start: Int) {
      guard var place = RunPlace(of: runs, at: start),
        var other = RunPlace(of: last.runs, at: start, orBehindWhereIs: place.number)
      else { return nil }
      shift = other.position - place.position
      while let number = place.number, other.number == number {
        let count = min(place.left, other.left)
        place.skip(count)
        other.skip(count)
      }
      positions = start..<place.position
      rest = last.beginning.pieces
      open = last.open
    }

    /// The pieces that stand there from a position of the list on.
    ///
    /// - Complexity: O(1) for each piece that is passed.
    mutating func pieces(at position: Int) -> ArraySlice<Known> {
      guard positions.contains(position) else { return [] }
      while at < position + shift, let piece = rest.first {
        at += piece.piece.count
        rest = rest.dropFirst()
      }
      guard at == position + shift else { return [] }
      var end = rest.startIndex
      while end < rest.endIndex, at + rest[end].piece.count <= positions.upperBound + shift {
        at += rest[end].piece.count
        end += 1
      }
      defer { rest = rest[end...] }
      return rest[..<end]
    }

    /// The last piece of the one before, where the end of that list ended it and it stands at a position of this one.
    func openPiece(at position: Int) -> OpenPiece? {
      guard rest.isEmpty, at == position + shift, positions.contains(position), !open.items.isEmpty,
        position + open.items.count <= positions.upperBound
      else { return nil }
      return open
    }
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
      for piece in list.fresh {
        guard let first = piece.first, recent[first] != piece else { continue }
        recent[first] = piece
      }
      guard recent.count > Self.limit + list.foundCount else { return }
      older = recent
      recent = Dictionary(
        list.pieces.compactMap { piece in piece.first.map { ($0, piece) } }
      ) { $1 }
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
    var walk = Walk()
    var place = RunPlace(of: runs)
    var tail: Tail?
    if let last = latest[list] {
      if last.isMadeHere, runs == last.runs { return List(again: last) }
      let common = runs.commonCount(with: last.runs)
      // Most lists are the last one with more behind it: its pieces are taken over without being looked for.
      place.skip(walk.takeBeginning(of: last, common: common))
      // One that lost some of its beginning has the pieces of the last one behind it, in their order.
      if place.position < last.beginning.itemCount { tail = Tail(of: last, in: runs, from: common) }
    }
    while let number = place.number {
      if walk.isBetweenPieces {
        if let same = tail?.pieces(at: place.position), !same.isEmpty {
          place.skip(walk.take(same))
          continue
        }
        if let known = pieces[list][number],
          known.fits(at: number, in: place.run, isLast: place.isInLastRun)
        {
          walk.take(known)
          place.skip(known.piece.count)
          continue
        }
        if let open = tail?.openPiece(at: place.position) {
          place.skip(walk.goOn(from: open))
          continue
        }
      }
      guard let next = item(place.position, number) else { return nil }
      walk.add(next, number: number)
      place.skip(1)
    }
    return walk.finish(runs)
  }

  /// A list that is being digested.
  private struct Walk {
    private(set) var beginning = Beginning()
    private var end: Known?
    private var open = OpenPiece()
    private var fresh: [Known] = []
    private var hashes = 0

    var isBetweenPieces: Bool { open.items.isEmpty }

    /// Takes over the pieces that another list begins with as well; how many items they have.
    ///
    /// - Parameter common: with so many items both begin.
    mutating func takeBeginning(of other: List, common: Int) -> Int {
      if other.beginning.itemCount <= common {
        beginning = other.beginning
      } else {
        var (count, items) = (0, 0)
        for piece in other.beginning.pieces {
          guard items + piece.piece.count <= common else { break }
          items += piece.piece.count
          count += 1
        }
        if count > 0 { _ = beginning.append(other.beginning.pieces.prefix(count)) }
      }
      hashes += beginning.count
      // What the end of that list ended goes on here.
      let count = min(other.open.items.count, common - beginning.itemCount)
      guard count > 0, beginning.count == other.beginning.count else {
        return beginning.itemCount
      }
      open = OpenPiece(of: other.open, count: count)
      hashes += count
      return beginning.itemCount + count
    }

    mutating func take(_ known: Known) {
      fresh.append(known)
      put(known)
      hashes += 1
    }

    /// Takes pieces of the list before; how many items they have.
    mutating func take(_ pieces: ArraySlice<Known>) -> Int {
      hashes += pieces.count
      return beginning.append(pieces)
    }

    /// Takes the last piece of the list before, which goes on here; how many items it has.
    mutating func goOn(from other: OpenPiece) -> Int {
      open = OpenPiece(of: other, count: other.items.count)
      hashes += other.items.count
      return other.items.count
    }

    mutating func add(_ item: Digest, number: Int) {
      open.add(item, number: number)
      hashes += 1
      guard ListPiece.ends(behind: item, count: open.items.count) else { return }
      close(isClosed: true)
      open.removeAll()
    }

    private mutating func close(isClosed: Bool) {
      let piece = open.ended(isClosed: isClosed)
      fresh.append(piece)
      put(piece)
      hashes += 1
    }

    private mutating func put(_ piece: Known) {
      if piece.isClosed { beginning.append(piece) } else { end = piece }
    }

    mutating func finish(_ runs: [ItemRun]) -> List {
      if !isBetweenPieces { close(isClosed: false) }
      return List(
        runs: runs, beginning: beginning, end: end, open: open, fresh: fresh, hashes: hashes)
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
            list.pieces.map { [JSONValue($0.piece.count), .string($0.piece.digest.hex)] }),
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
      guard let list = List.decoded(value), let items = value["items"]?.arrayValue else {
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
    let counts = pieces.map(\.piece.count)
    var numbers: [Int] = []
    for (index, own) in runs.parts(of: counts).enumerated() {
      guard index == 0 || index + 1 == counts.count || own.count > 1 else { continue }
      for run in own { numbers += run.first..<run.end }
    }
    return numbers
  }

  /// Reads what a checkpoint gives of a list; `nil` for anything else.
  ///
  /// Of the last piece nobody knows whether its last item ends it; the list that goes on from it makes it anew. Of
  /// the others those are found later whose items lie in one run.
  fileprivate static func decoded(_ value: JSONValue) -> DigestedLists.List? {
    guard let entries = value["runs"]?.arrayValue, let made = value["pieces"]?.arrayValue else {
      return nil
    }
    var runs: [ItemRun] = []
    for entry in entries {
      guard let pair = entry.arrayValue, let run = try? Resolver.run(pair) else { return nil }
      runs.add(run)
    }
    var left = runs.itemCount
    var pieces: [ListPiece] = []
    for entry in made {
      guard let count = entry[0]?.intValue, (1...256).contains(count), count <= left,
        let digest = entry[1]?.stringValue.flatMap(Digest.init(hex:))
      else { return nil }
      pieces.append(ListPiece(count: count, digest: digest))
      left -= count
    }
    guard left == 0 else { return nil }
    var beginning = DigestedLists.Beginning()
    for (piece, own) in zip(pieces, runs.parts(of: pieces.map(\.count))).dropLast() {
      let first = own.count == 1 ? own[0].first : nil
      beginning.append(DigestedLists.Known(piece: piece, isClosed: true, first: first))
    }
    return DigestedLists.List(
      runs: runs, beginning: beginning,
      end: pieces.last.map { DigestedLists.Known(piece: $0, isClosed: false, first: nil) },
      open: DigestedLists.OpenPiece(), fresh: Array(beginning.pieces), hashes: 0)
  }
}

extension [ItemRun] {
  /// The runs that so many items each make, one behind the other.
  fileprivate func parts(of counts: [Int]) -> [[ItemRun]] {
    var (run, offset) = (0, 0)
    return counts.map { count in
      var own: [ItemRun] = []
      var left = count
      while left > 0, run < self.count {
        let step = Swift.min(left, self[run].count - offset)
        if step > 0 { own.append(ItemRun(first: self[run].first + offset, count: step)) }
        (left, offset) = (left - step, offset + step)
        if offset == self[run].count { (run, offset) = (run + 1, 0) }
      }
      return own
    }
  }
}
