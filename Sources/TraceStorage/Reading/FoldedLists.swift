import AgentTrace

/// What folding a log from its text keeps of its packets: the digests of their items, and of pieces of the
/// lists that the next ones most likely go on from.
final class FoldedLists {
  private var version: Int
  private var window: PacketWindow<Digest>
  private var digested = DigestedLists()
  private(set) var work = ReadingWork()

  /// A packet that is being read.
  struct Packet {
    /// The runs of each list that stands in it as `$list`.
    var lists: [[ItemRun]?]
    /// How many items it says.
    fileprivate(set) var said = 0
    /// The digests of the items that it says, by table.
    fileprivate var new: [[Digest]]
    /// The lists whose digests are known.
    fileprivate var digested: [DigestedLists.List?]

    /// No packet: of an event of another type.
    init() { (lists, new, digested) = ([], [], []) }

    init(tableCount: Int) {
      lists = Array(repeating: nil, count: LogFormat.listCount)
      new = Array(repeating: [], count: tableCount)
      digested = Array(repeating: nil, count: LogFormat.listCount)
    }
  }

  init(version: Int) {
    self.version = version
    window = Self.window(version, Array(repeating: 0, count: LogFormat.tableCount(version)))
  }

  /// Begins where a checkpoint of the current format stands; `nil` where it does not say what its lists
  /// are.
  init?(checkpoint data: JSONValue, counts: [Int]) {
    version = RunStarted.currentFormatVersion
    window = Self.window(version, counts)
    var items: [(list: Int, number: Int, Digest)] = []
    guard let lists = DigestedLists(decoding: data["lists"], keep: { items.append(($0, $1, $2)) })
    else { return nil }
    digested = lists
    for (list, number, digest) in items {
      window.keep(digest, number: number, ofTable: list, bytes: 0)
    }
  }

  private static func window(_ version: Int, _ counts: [Int]) -> PacketWindow<Digest> {
    PacketWindow(
      counts: counts, limitBytes: .max,
      limitPackets: version == 1 ? .max : LogFormat.packetWindow,
      sparePackets: LogFormat.packetWindow)
  }

  /// Begins a log of another version, before its first packet.
  func begin(version: Int) {
    self.version = version
    window = Self.window(version, Array(repeating: 0, count: LogFormat.tableCount(version)))
  }

  /// How many items have numbers, by table.
  var counts: [Int] { window.counts }

  /// The same, as a checkpoint gives them.
  var encodedCounts: JSONValue { .array(counts.map { JSONValue($0) }) }

  /// The lists of the last packet, as a checkpoint gives them.
  var latest: JSONValue {
    digested.encoded { window.item($1, ofTable: LogFormat.table(ofList: $0, version)) }
  }

  // MARK: Reading a packet

  /// Takes in an item that a packet says.
  func add(_ item: Digest, to packet: inout Packet, list: Int) {
    let table = LogFormat.table(ofList: list, version)
    let number = window.count(ofTable: table) + packet.new[table].count
    packet.new[table].append(item)
    packet.said += 1
    packet.lists[list]?.add(ItemRun(first: number, count: 1))
  }

  /// The digest of a list whose runs are all there; `nil` where an item is not known.
  func digest(of packet: inout Packet, list: Int) -> ListDigest? {
    guard let runs = packet.lists[list], runs.itemCount <= LogFormat.listItemLimit else {
      return nil
    }
    let table = LogFormat.table(ofList: list, version)
    let own = window.count(ofTable: table)
    let new = packet.new[table]
    let known = digested.digested(runs, inList: list) { _, number in
      guard number >= own else { return window.item(number, ofTable: table) }
      // In format 1 a packet may repeat its own items.
      return new.indices.contains(number - own) ? new[number - own] : nil
    }
    guard let known else { return nil }
    work.add(
      items: runs.itemCount, hashes: ReadingWork.hashes(known.hashes, inFormat: version))
    packet.digested[list] = known
    return known.digest
  }

  /// Takes in that a packet has asked for too much, and nothing of what it says.
  func refuse(_ packet: Packet) { work.add(said: packet.said) }

  /// Takes in a packet.
  func take(_ packet: Packet) {
    work.add(said: packet.said)
    var runs = [[ItemRun]](repeating: [], count: packet.new.count)
    for (list, own) in packet.lists.enumerated() {
      let table = LogFormat.table(ofList: list, version)
      if let own { runs[table] = runs[table].isEmpty ? own : runs[table] + own }
      if let known = packet.digested[list] { digested.keep(known, inList: list) }
    }
    for (table, items) in packet.new.enumerated() {
      for item in items { window.append(item, ofTable: table, bytes: 0) }
    }
    window.hold(runs)
  }

  /// Takes in a packet that was read the plain way.
  func take(raw: Event, resolved: Event) {
    var packet = Packet(tableCount: window.counts.count)
    for (list, entries) in Resolver.entries(ofPacket: raw).enumerated() {
      guard let entries else { continue }
      packet.lists[list] = []
      let items = JSONValue.object(resolved.data)[ContextPacket.listPointers[list]]?.arrayValue
      let table = LogFormat.table(ofList: list, version)
      var position = 0
      for entry in entries {
        if let pair = entry.arrayValue, let run = try? Resolver.run(pair) {
          packet.lists[list]?.add(run)
          for number in run.first..<run.end where number < window.count(ofTable: table) {
            let place = position + number - run.first
            guard window.item(number, ofTable: table) == nil, let items,
              items.indices.contains(place)
            else { continue }
            window.keep(Digest(of: items[place]), number: number, ofTable: table, bytes: 0)
          }
          position += run.count
        } else {
          if let items, items.indices.contains(position) {
            add(Digest(of: items[position]), to: &packet, list: list)
          }
          position += 1
        }
      }
      _ = digest(of: &packet, list: list)
    }
    take(packet)
  }
}
