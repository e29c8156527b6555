import AgentTrace

/// The one table of list items of a log: which packet each item stood in first, and a bounded cache
/// of the items themselves.
struct ItemTable {
  /// An item, and about how many bytes it has.
  typealias Item = (item: JSONValue, bytes: Int)

  /// A packet that said something new.
  private struct Origin {
    var firstItem: Int
    var itemCount: Int
    var seq: Int
  }

  /// In the order of their items.
  private var origins: [Origin] = []
  /// How many items have numbers.
  private(set) var count: Int
  /// Whether packets are missing, so that nobody knows the numbers of later items.
  var isUncertain = false

  private var items: RecentCache<Int, Item>
  /// Small ones, such as what packets leave out, have room of their own: a packet names hundreds of
  /// them, and each that was forgotten costs the reading of another packet.
  private var smallItems: RecentCache<Int, Item>
  /// How many items had numbers where reading began.
  private let countAtStart: Int

  init(count: Int, cacheLimitBytes: Int) {
    self.count = count
    countAtStart = count
    items = RecentCache(limitBytes: cacheLimitBytes)
    smallItems = RecentCache(limitBytes: min(cacheLimitBytes, Self.smallCacheLimitBytes))
  }

  /// Whether an item stands before the place where reading began.
  func isBeforeStart(_ number: Int) -> Bool { number < countAtStart }

  /// Takes in a packet from before that place.
  mutating func add(packet seq: Int, firstItem: Int, itemCount: Int) {
    guard itemCount > 0 else { return }
    let index = origins.firstIndex { $0.seq >= seq } ?? origins.count
    if index < origins.count, origins[index].seq == seq { return }
    origins.insert(Origin(firstItem: firstItem, itemCount: itemCount, seq: seq), at: index)
  }

  /// The number that the next literal item of a packet has, and whether numbers are known.
  func begin(event seq: Int) -> (nextItem: Int, isKnown: Bool) {
    guard let last = origins.last, seq <= last.seq else { return (count, !isUncertain) }
    // A packet that is read again.
    guard let index = origins.firstIndex(where: { $0.seq >= seq }) else { return (count, false) }
    return (origins[index].firstItem, true)
  }

  /// Takes in how many items a packet has added.
  mutating func end(event seq: Int, nextItem: Int) {
    guard !isUncertain, nextItem > count else { return }
    origins.append(Origin(firstItem: count, itemCount: nextItem - count, seq: seq))
    count = nextItem
  }

  /// Goes on at a known size behind a hole.
  mutating func restart(at itemCount: Int) {
    guard itemCount >= count else { return }
    count = itemCount
    isUncertain = false
  }

  /// The number of the event an item stands in.
  func origin(of number: Int) -> Int? {
    let behind = origins.partitionPoint { $0.firstItem <= number }
    guard behind > 0 else { return nil }
    let origin = origins[behind - 1]
    return number < origin.firstItem + origin.itemCount ? origin.seq : nil
  }

  mutating func keep(_ item: JSONValue, number: Int, bytes: Int) {
    if bytes <= Self.smallItemBytes {
      smallItems.keep((item, bytes), for: number, bytes: bytes + Self.itemOverheadBytes)
    } else {
      items.keep((item, bytes), for: number, bytes: bytes + Self.itemOverheadBytes)
    }
  }

  mutating func kept(_ number: Int) -> Item? { smallItems[number] ?? items[number] }

  static let smallItemBytes = 512
  private static let smallCacheLimitBytes = 1 << 20
  /// What a value takes beside its text, about.
  private static let itemOverheadBytes = 192
}

extension JSONValue {
  /// About how many bytes the value takes, for limits.
  var approximateBytes: Int {
    switch self {
    case .string(let text): text.utf8.count + 2
    case .array(let elements): elements.reduce(2) { $0 + $1.approximateBytes + 1 }
    case .object(let object):
      object.reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.approximateBytes }
    case .bytes(let raw): raw.count * 4 / 3 + 16
    default: 16
    }
  }
}
