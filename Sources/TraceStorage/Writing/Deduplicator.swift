@_spi(Scanning) import AgentTrace

/// Writes events so that what was said lately is not said again: `$same` for long strings, `$list` for
/// the arrays of context packets. Docs/log-format.md, "Said once".
///
/// Remembers of each long string within the window a key and a place, never the text; of each item of the
/// latest packets the value, which the run's own contexts mostly hold besides.
struct Deduplicator {
  /// A list item that a packet may take over.
  struct Item {
    var value: JSONValue
    var key: TextKey
    var digest: Digest
  }

  /// A list as it stood in the packet before.
  struct KnownList {
    var items: [JSONValue] = []
    /// The number of each item, and about how many bytes it has.
    var places: [(number: Int, bytes: Int)] = []
  }

  let keys: TextKeyMaker
  private(set) var texts: SaidTexts
  private(set) var packets: PacketWindow<Item>
  private(set) var digested = DigestedLists()
  private(set) var lists = [KnownList](repeating: KnownList(), count: LogFormat.listCount)
  /// The number of each item that is held, by list; of equal ones, the latest.
  private(set) var numbers = [[TextKey: Int]](repeating: [:], count: LogFormat.listCount)
  private(set) var work = ReadingWork()
  /// How many bytes the file has so far.
  var fileBytes = 0
  private var room = Room()

  /// Memory that a walk over one event leaves for the next.
  struct Room {
    var line: [UInt8] = []
    var resolved: [UInt8] = []
    var path: [Walk.Level] = []

    /// What a large event needed beyond this is given back.
    private static let keptBytes = 1 << 20

    /// Emptied only here, where nothing else holds it any more, and leaving nothing behind, so that what
    /// is taken is written to where it is.
    mutating func take() -> Room {
      var taken = Room()
      swap(&taken, &self)
      taken.line.removeAll(keepingCapacity: taken.line.capacity <= Self.keptBytes)
      taken.resolved.removeAll(keepingCapacity: taken.resolved.capacity <= Self.keptBytes)
      taken.path.removeAll(keepingCapacity: true)
      return taken
    }
  }

  /// So many packets are forgotten together.
  private static let sparePackets = 16

  init() {
    keys = TextKeyMaker()
    texts = SaidTexts(keys: keys)
    packets = PacketWindow(
      counts: Array(repeating: 0, count: LogFormat.listCount),
      limitBytes: LogFormat.packetWindowBytes,
      limitPackets: LogFormat.packetWindow - Self.sparePackets, sparePackets: Self.sparePackets)
  }

  /// A list of a packet, as it is written.
  struct WrittenList {
    var list = KnownList()
    var runs: [ItemRun] = []
    var new: [(item: Item, bytes: Int)] = []
    var digested: DigestedLists.List?
    /// How many items were hashed for it.
    var hashes = 0
  }

  /// An event's line, and what it adds to the tables once it is written.
  struct Line {
    var seq: Int
    /// Without `\n`. Of a line beyond the limit perhaps only the beginning, itself beyond the limit.
    var bytes: [UInt8]
    /// How deep it nests.
    var depth: Int
    /// Bytes of the line with nothing left out.
    var expandedBytes: Int
    /// The event's digest, as `AgentState` takes it.
    var digest: Digest
    /// Bytes of text that its references lead to.
    var referredBytes: Int
    var newPlaces: [(TextKey, SaidTexts.Place)]
    /// Of a packet, each list that is written as `$list`; else empty.
    var lists: [WrittenList?]

    /// How many list items it has.
    var itemCount: Int { lists.reduce(0) { $0 + ($1?.list.items.count ?? 0) } }
  }

  /// Encodes an event. What was written is taken in by ``commit(_:)``; without, nothing has changed.
  mutating func encode(_ event: Event) -> Line {
    let room = room.take()
    var walk = Walk(tables: self, event: event, room: consume room)
    walk.writeEvent()
    (self.room.resolved, self.room.path) = (walk.resolved, walk.path)
    return Line(
      seq: event.seq, bytes: walk.line, depth: walk.deepest,
      expandedBytes: walk.line.count + walk.savedBytes, digest: walk.digest,
      referredBytes: walk.referredBytes, newPlaces: walk.newPlaces, lists: walk.written)
  }

  /// Whether readers may be asked for the items of a line besides all those before.
  func mayAskFor(_ line: Line) -> Bool {
    work.mayGrow(
      byItems: line.itemCount, hashes: line.lists.reduce(0) { $0 + ($1?.hashes ?? 0) },
      said: line.lists.reduce(0) { $0 + ($1?.new.count ?? 0) },
      fileBytes: fileBytes)
  }

  /// Takes in what a line says.
  mutating func commit(_ line: consuming Line) {
    take(
      seq: line.seq, lineBytes: line.bytes.count, referredBytes: line.referredBytes,
      newPlaces: line.newPlaces, lists: line.lists)
    room.line = line.bytes
  }

  private mutating func take(
    seq: Int, lineBytes: Int, referredBytes: Int, newPlaces: [(TextKey, SaidTexts.Place)],
    lists written: [WrittenList?]
  ) {
    texts.take(newPlaces, event: seq, lineBytes: lineBytes)
    work.add(textBytes: referredBytes)
    guard !written.isEmpty else { return }
    var runs: [[ItemRun]] = []
    var new: [[(item: Item, bytes: Int)]] = []
    for (list, written) in written.enumerated() {
      runs.append(written?.runs ?? [])
      new.append(written?.new ?? [])
      guard let written else {
        // What an older packet had may be forgotten.
        lists[list] = KnownList()
        continue
      }
      work.add(
        items: written.list.items.count, hashes: written.hashes, said: written.new.count)
      let first = packets.count(ofTable: list)
      for (index, entry) in written.new.enumerated() {
        numbers[list][entry.item.key] = first + index
      }
      if let digest = written.digested { digested.keep(digest, inList: list) }
      lists[list] = written.list
    }
    var forgotten: [(list: Int, number: Int, key: TextKey)] = []
    packets.add(runs: runs, new: new) { forgotten.append(($0, $1, $2.key)) }
    for (list, number, key) in forgotten where numbers[list][key] == number {
      numbers[list][key] = nil
    }
  }

  /// What a checkpoint says of the lists: how many items have numbers, and the last ones.
  var checkpoint: (items: JSONValue, lists: JSONValue) {
    let lists = digested.encoded { packets.item($1, ofTable: $0)?.digest }
    return (.array(packets.counts.map { JSONValue($0) }), lists)
  }

  // MARK: Lines that are there

  /// Takes in an event's line that is in the file already, whoever wrote it and however it repeats what
  /// was said.
  ///
  /// - Parameters:
  ///   - raw: as it stands there.
  ///   - event: with its references resolved.
  mutating func take(raw: Event, resolved event: Event, lineBytes: Int) {
    var places: [(TextKey, SaidTexts.Place)] = []
    var referredBytes = 0
    if raw.type != .stop, let seq = UInt32(exactly: raw.seq) {
      var finder = LiteralTexts(seq: seq, keys: keys, paths: texts.paths)
      finder.find(in: raw, resolved: event)
      places = finder.places
      referredBytes = finder.referredBytes
    }
    var lists: [WrittenList?] = []
    if raw.type == .contextBuilt {
      lists = Resolver.entries(ofPacket: raw).enumerated().map { list, entries in
        let items = JSONValue.object(event.data)[ContextPacket.listPointers[list]]?.arrayValue
        guard let entries, let items else { return nil }
        return written(items, as: entries, list: list)
      }
    }
    take(
      seq: raw.seq, lineBytes: lineBytes, referredBytes: referredBytes, newPlaces: places,
      lists: lists)
  }

  private func written(_ items: [JSONValue], as entries: [JSONValue], list: Int) -> WrittenList {
    var written = WrittenList()
    let own = packets.count(ofTable: list)
    for entry in entries {
      if let pair = entry.arrayValue, let run = try? Resolver.run(pair) {
        for number in run.first..<run.end {
          let bytes = packets.entry(number, ofTable: list)?.bytes ?? 0
          written.list.places.append((number, bytes))
        }
        written.runs.add(run)
      } else {
        let position = written.list.places.count
        guard items.indices.contains(position) else { break }
        let item = Item(items[position], keys)
        let number = own + written.new.count
        let bytes = items[position].approximateBytes
        written.new.append((item, bytes))
        written.list.places.append((number, bytes))
        written.runs.add(ItemRun(first: number, count: 1))
      }
    }
    written.list.items = Array(items.prefix(written.list.places.count))
    digest(&written, list: list)
    return written
  }

  /// Makes the digest of a list whose runs are known.
  func digest(_ written: inout WrittenList, list: Int) {
    let own = packets.count(ofTable: list)
    let (items, new) = (written.list.items, written.new)
    let known = digested.digested(written.runs, inList: list) { position, number in
      if new.indices.contains(number - own) { return new[number - own].item.digest }
      return packets.item(number, ofTable: list)?.digest ?? Digest(of: items[position])
    }
    written.digested = known
    written.hashes = known?.hashes ?? 0
  }
}

extension Deduplicator.Item {
  init(_ value: JSONValue, _ keys: TextKeyMaker) {
    let text = CanonicalJSON.encode(value)
    let key = text.withUnsafeBytes { keys.key(of: $0) }
    self.init(value: value, key: key, digest: Digest(of: text))
  }
}
