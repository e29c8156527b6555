/// The digest of a list, as a chain over the digests of its items: of a list that has grown, only what
/// is new has to be hashed.
///
/// It begins as 32 zero bytes; with each item it becomes the SHA-256 of its 32 bytes and the 32 bytes of
/// the SHA-256 of the item's canonical form. Docs/log-format.md, "State".
public struct ListDigest: Sendable, Hashable {
  /// The digest of the items so far.
  public private(set) var value: Digest

  /// The digest of an empty list, or of one whose digest is known.
  public init(_ value: Digest = .zero) { self.value = value }

  /// The digest of some items.
  ///
  /// - Complexity: hashes all of them.
  public init(of items: some Sequence<JSONValue>) {
    self.init()
    for item in items { add(Digest(of: item)) }
  }

  /// Takes in one item more, by its digest.
  public mutating func add(_ item: Digest) { value = Digest(of: value, item) }

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
  /// The digest of the list up to each item, and with it.
  private var chain: [ListDigest] = []

  /// How far ahead an item is looked for where some before it went.
  private static let lookahead = 64

  /// Knows no list.
  public init() {}

  /// The digest of a list, which is then the last one.
  ///
  /// - Complexity: a comparison for each item, mostly of addresses; hashes what is new.
  public mutating func digest(of list: [JSONValue]) -> ListDigest {
    let (digests, chain) = list.withUnsafeBufferPointer { list in
      items.withUnsafeBufferPointer { items in
        var common = 0
        while common < list.count, common < items.count,
          items.isIdentical(common, to: list, common) || items[common] == list[common]
        { common += 1 }
        var digests = Array(self.digests.prefix(common))
        var chain = Array(self.chain.prefix(common))
        digests.reserveCapacity(list.count)
        chain.reserveCapacity(list.count)
        var digest = chain.last ?? ListDigest()
        var follow = common
        for index in common..<list.count {
          let known = Self.place(of: index, in: list, among: items, from: follow)
          follow = known.map { $0 + 1 } ?? follow + 1
          let item = known.map { self.digests[$0] } ?? Digest(of: list[index])
          digest.add(item)
          digests.append(item)
          chain.append(digest)
        }
        return (digests, chain)
      }
    }
    (items, self.digests, self.chain) = (list, digests, chain)
    return chain.last ?? ListDigest()
  }

  private static func place(
    of index: Int, in list: UnsafeBufferPointer<JSONValue>,
    among items: UnsafeBufferPointer<JSONValue>, from start: Int
  ) -> Int? {
    let end = min(items.count, start + lookahead)
    guard start < end else { return nil }
    if list.isIdentical(index, to: items, start) { return start }
    return (start..<end).first { list.isIdentical(index, to: items, $0) }
      ?? (start..<end).first { items[$0] == list[index] }
  }

  /// The digest of the last list.
  public var last: ListDigest { chain.last ?? ListDigest() }
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
