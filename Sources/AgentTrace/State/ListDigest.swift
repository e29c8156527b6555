/// Items of a list that stand one behind the other, digested together.
///
/// Where a piece ends is told by its items alone, so that a list that has grown, or has lost its beginning,
/// is mostly made of pieces that are known. Docs/log-format.md, "State".
public struct ListPiece: Sendable, Hashable {
  /// How many items it has.
  public var count: Int
  /// The SHA-256 of the 32 bytes of each item's digest, one behind the other.
  public var digest: Digest

  /// A piece whose digest is known.
  public init(count: Int, digest: Digest) { (self.count, self.digest) = (count, digest) }

  /// The piece of some items, by their digests.
  public init(of items: ArraySlice<Digest>) {
    self.init(count: items.count, digest: Digest(of: items))
  }

  /// Whether a piece ends behind an item that is the last of so many: one item in 32 is such, so that a list
  /// has few pieces and each few items.
  public static func ends(behind item: Digest, count: Int) -> Bool {
    item.lastByte < 8 || count >= 256
  }
}

/// The digest of a list: the SHA-256 of the 32 bytes of the digest of each of its pieces, one behind the
/// other. Of a list that goes on from another one, only what is new has to be hashed.
public struct ListDigest: Sendable, Hashable {
  /// The SHA-256.
  public let value: Digest

  /// The digest of an empty list.
  public init() { value = Digest(of: ArraySlice<Digest>()) }

  /// A digest that is known.
  public init(value: Digest) { self.value = value }

  /// The digest of the list that these pieces make.
  public init(of pieces: [ListPiece]) { value = Digest(of: pieces.map(\.digest)[...]) }

  /// The digest of some items.
  ///
  /// - Complexity: hashes all of them.
  public init(of items: some Sequence<JSONValue>) {
    var pieces: [ListPiece] = []
    var piece: [Digest] = []
    for item in items {
      let digest = Digest(of: item)
      piece.append(digest)
      guard ListPiece.ends(behind: digest, count: piece.count) else { continue }
      pieces.append(ListPiece(of: piece[...]))
      piece.removeAll()
    }
    if !piece.isEmpty { pieces.append(ListPiece(of: piece[...])) }
    self.init(of: pieces)
  }

  /// Appends what stands for the list in the text that an event's digest is taken of.
  @_spi(Scanning) public func append(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: "{\"$list\":\"".utf8)
    bytes.append(contentsOf: value.hex.utf8)
    bytes.append(contentsOf: "\"}".utf8)
  }
}

extension ListDigest {
  /// Appends the canonical text of a packet's data as its digest is taken of: with a digest in the place
  /// of each array that a log writes as `$list`.
  static func append(
    packet data: JSONObject, to bytes: inout [UInt8], knowing known: inout PacketDigests
  ) {
    bytes.append(UInt8(ascii: "{"))
    for (index, member) in data.inLogOrder.enumerated() {
      CanonicalJSON.appendKey(member.key, isFirst: index == 0, to: &bytes)
      if member.key == "prompt", let prompt = member.value.objectValue {
        bytes.append(UInt8(ascii: "{"))
        for (index, member) in prompt.inLogOrder.enumerated() {
          CanonicalJSON.appendKey(member.key, isFirst: index == 0, to: &bytes)
          append(member.value, list: list([member.key], in: "prompt"), to: &bytes, &known)
        }
        bytes.append(UInt8(ascii: "}"))
      } else {
        append(member.value, list: list([member.key]), to: &bytes, &known)
      }
    }
    bytes.append(UInt8(ascii: "}"))
  }

  private static func list(_ key: [String], in parent: String? = nil) -> Int? {
    let tokens = (parent.map { [$0] } ?? []) + key
    return ContextPacket.listPointers.firstIndex { $0.tokens == tokens }
  }

  private static func append(
    _ value: JSONValue, list: Int?, to bytes: inout [UInt8], _ known: inout PacketDigests
  ) {
    if let list, let items = value.arrayValue, !items.contains(where: { $0.arrayValue != nil }) {
      known.digest(of: items, list: list).append(to: &bytes)
    } else {
      CanonicalJSON.append(value, to: &bytes)
    }
  }
}

/// Digests lists that mostly go on from the one before, hashing only what is new.
///
/// Holds the last list. An item counts as known where it is equal to one that stood in the same place of
/// it, or follows there on the item before; what is one and the same in memory is equal at once.
public struct ListDigestCache: Sendable {
  private var items: [JSONValue] = []
  private var digests: [Digest] = []
  private var pieces: [ListPiece] = []
  /// The digest of the last list.
  public private(set) var last = ListDigest()

  /// How far ahead an item, or a piece, is looked for where some before it went.
  private static let lookahead = 64
  /// How many items of a list are looked for in vain.
  private static let searches = 256

  /// Knows no list.
  public init() {}

  /// The digest of a list, which is then the last one.
  ///
  /// - Complexity: a comparison for each item, mostly of addresses; hashes what is new.
  public mutating func digest(of list: [JSONValue]) -> ListDigest {
    let digests = itemDigests(of: list)
    let pieces = pieces(of: digests)
    if pieces != self.pieces { last = ListDigest(of: pieces) }
    (items, self.digests, self.pieces) = (list, digests, pieces)
    return last
  }

  private func itemDigests(of list: [JSONValue]) -> [Digest] {
    list.withUnsafeBufferPointer { list in
      items.withUnsafeBufferPointer { items in
        var common = 0
        while common < list.count, common < items.count,
          items.isIdentical(common, to: list, common) || items[common] == list[common]
        { common += 1 }
        if common == list.count, common == items.count { return digests }
        var digests = Array(self.digests.prefix(common))
        digests.reserveCapacity(list.count)
        var follow = common
        // A list that is new throughout is hashed, not searched for.
        var searches = Self.searches
        for index in common..<list.count {
          let known = Self.place(
            of: index, in: list, among: items, from: follow, isSearched: searches > 0)
          if let known { follow = known + 1 } else { searches -= 1 }
          digests.append(known.map { self.digests[$0] } ?? Digest(of: list[index]))
        }
        return digests
      }
    }
  }

  /// The pieces of a list, those taken over that stood in the last one too.
  private func pieces(of digests: [Digest]) -> [ListPiece] {
    var result: [ListPiece] = []
    result.reserveCapacity(pieces.count + 1)
    var (start, known, knownStart) = (0, 0, 0)
    for (index, digest) in digests.enumerated() {
      let count = index + 1 - start
      guard index + 1 == digests.count || ListPiece.ends(behind: digest, count: count) else {
        continue
      }
      // Of a list that lost its beginning, the piece stood further back.
      var (next, nextStart) = (known, knownStart)
      let end = min(pieces.count, known + Self.lookahead)
      while next < end, self.digests[nextStart] != digests[start] {
        nextStart += pieces[next].count
        next += 1
      }
      if next < end, pieces[next].count == count,
        self.digests[nextStart..<nextStart + count] == digests[start..<start + count]
      {
        result.append(pieces[next])
        (known, knownStart) = (next + 1, nextStart + count)
      } else {
        result.append(ListPiece(of: digests[start...index]))
      }
      start = index + 1
    }
    return result
  }

  private static func place(
    of index: Int, in list: UnsafeBufferPointer<JSONValue>,
    among items: UnsafeBufferPointer<JSONValue>, from start: Int, isSearched: Bool
  ) -> Int? {
    let end = min(items.count, start + (isSearched ? lookahead : 1))
    guard start < end else { return nil }
    if list.isIdentical(index, to: items, start) { return start }
    return (start..<end).first { list.isIdentical(index, to: items, $0) }
      ?? (start..<end).first { items[$0] == list[index] }
  }
}

/// The lists of the last packet that was digested. Of no account for what is equal to what.
struct PacketDigests: Sendable, Hashable {
  private var lists = [ListDigestCache](
    repeating: ListDigestCache(), count: ContextPacket.listPointers.count)

  mutating func digest(of items: [JSONValue], list: Int) -> ListDigest {
    lists[list].digest(of: items)
  }

  /// The digest of the last packet's messages.
  var messages: ListDigest { lists[ContextPacket.messagesList].last }

  static func == (left: PacketDigests, right: PacketDigests) -> Bool { true }

  func hash(into hasher: inout Hasher) {}
}
