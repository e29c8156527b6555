import AgentTrace

/// The list items that the next packet may take over, by their numbers: those of the latest packets.
///
/// What no recent packet holds is forgotten, so that the memory this takes depends on the contexts of a
/// run and not on its length.
struct PacketWindow<Item> {
  private struct Table {
    var items = NumberedItems<(item: Item, bytes: Int)>()
    /// How many items have numbers.
    var count: Int
  }

  private var tables: [Table]
  /// The runs of the packets that are held, sorted, by table; the oldest first.
  private var packets: [[[ItemRun]]] = []
  /// About how many bytes all items have that are held.
  private(set) var bytes = 0
  /// Packets of so many bytes together are held, and always the last one.
  private let limitBytes: Int
  /// So many packets are held at most.
  private let limitPackets: Int
  /// So many more are held before they are forgotten together, which costs little more than one.
  private let sparePackets: Int
  /// Whether packets are missing, so that nobody knows the numbers of later items.
  var isUncertain = false

  /// - Parameters:
  ///   - counts: how many items of each table have numbers where reading begins.
  ///   - sparePackets: how many packets more may be held; who writes holds none that a reader may not.
  init(
    counts: [Int], limitBytes: Int, limitPackets: Int = LogFormat.packetWindow,
    sparePackets: Int = 0
  ) {
    tables = counts.map { Table(count: $0) }
    self.limitBytes = limitBytes
    self.limitPackets = limitPackets
    self.sparePackets = sparePackets
  }

  /// How many items have numbers, by table.
  var counts: [Int] { tables.map(\.count) }

  /// How many items of a table have numbers.
  func count(ofTable table: Int) -> Int { tables[table].count }

  /// An item that is held.
  func item(_ number: Int, ofTable table: Int) -> Item? { tables[table].items[number]?.item }

  /// An item that is held, and about how many bytes it has.
  func entry(_ number: Int, ofTable table: Int) -> (item: Item, bytes: Int)? {
    tables[table].items[number]
  }

  /// Holds an item that has a number already.
  mutating func keep(_ item: Item, number: Int, ofTable table: Int, bytes: Int) {
    let old = tables[table].items.updateValue((item, bytes), number: number)
    self.bytes += bytes - (old?.bytes ?? 0)
  }

  /// Holds the next item that a packet says, and numbers it.
  mutating func append(_ item: Item, ofTable table: Int, bytes: Int) {
    keep(item, number: tables[table].count, ofTable: table, bytes: bytes)
    tables[table].count += 1
  }

  /// Takes in a packet, and forgets what no packet holds that is still looked at.
  ///
  /// - Parameters:
  ///   - runs: the items of its lists, by table.
  ///   - new: the items that it says, by table, in the order of their numbers.
  ///   - forgetting: is told of each item that is forgotten.
  mutating func add(
    runs: [[ItemRun]], new: [[(item: Item, bytes: Int)]],
    forgetting: (_ table: Int, _ number: Int, Item) -> Void = { _, _, _ in }
  ) {
    for (table, items) in new.enumerated() {
      for (item, bytes) in items { append(item, ofTable: table, bytes: bytes) }
    }
    hold(runs, forgetting: forgetting)
  }

  /// Takes in a packet whose items are all held, and forgets what no packet holds that is still looked at.
  mutating func hold(
    _ runs: [[ItemRun]],
    forgetting: (_ table: Int, _ number: Int, Item) -> Void = { _, _, _ in }
  ) {
    guard limitPackets < .max else { return }
    packets.append(runs.map(\.sorted))
    if packets.count > limitPackets + sparePackets {
      forget(oldest: packets.count - limitPackets, forgetting)
    }
    while packets.count > 1, bytes > limitBytes {
      forget(oldest: 1, forgetting)
    }
  }

  /// Forgets the oldest packets, and what they alone hold.
  private mutating func forget(oldest count: Int, _ forgetting: (Int, Int, Item) -> Void) {
    let oldest = packets.prefix(count)
    packets.removeFirst(count)
    for table in tables.indices {
      let held = oldest.flatMap { $0[table] }.sorted
      guard !held.isEmpty else { continue }
      let runs = held.subtracting(stillHeld(table))
      for number in runs.lazy.flatMap({ $0.first..<$0.end }) {
        guard let (item, bytes) = tables[table].items.removeValue(number: number) else { continue }
        self.bytes -= bytes
        forgetting(table, number, item)
      }
      tables[table].items.shrink()
    }
  }

  /// Which numbers the packets hold.
  private func stillHeld(_ table: Int) -> [ItemRun] {
    var result: [ItemRun] = []
    var last: [ItemRun] = []
    for packet in packets.reversed() where packet[table] != last {
      last = packet[table]
      result += last
    }
    return result.sorted
  }

  /// Goes on at known sizes behind a hole.
  mutating func restart(at counts: [Int]) {
    guard counts.count == tables.count else { return }
    for (table, count) in counts.enumerated() where count >= tables[table].count {
      tables[table].count = count
    }
    isUncertain = false
  }
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
