@_spi(Scanning) import AgentTrace

extension Deduplicator {
  /// A part of a list as it is written.
  enum Segment {
    /// Items that have numbers, with about how many bytes each has.
    case run(ItemRun, places: [(number: Int, bytes: Int)])
    /// Items that are said.
    case said([Item])
  }

  /// Finds which items of a list stood in the latest packets, one after the other.
  struct KnownItems {
    private let tables: Deduplicator
    private let list: Int
    private let elements: [JSONValue]
    private let before: KnownList
    private var index = 0
    /// Where in the list of the packet before the next item is looked for first.
    private var follow = 0
    private var lastNumber: Int?
    /// The item that ``next()`` did not find, where it was made.
    private var item: Item?

    /// A single item that is known but follows on nothing is said again rather than looked at in every
    /// packet to come, unless it is large.
    private static let shortestRun = 4
    private static let smallItemBytes = 4096
    /// So much is said again at most: no line shall be too long for what need not stand in it.
    fileprivate static let joinedBytes = 1 << 20
    /// What an item counts for beside its bytes, when a run is weighed.
    private static let itemOverhead = 16

    private init(_ elements: [JSONValue], _ list: Int, in tables: Deduplicator) {
      self.tables = tables
      self.list = list
      self.elements = elements
      before = tables.lists[list]
    }

    /// A list as it is written: runs of items that stood in the latest packets, and what is said.
    ///
    /// A run before something that is said is said again with it where it is no larger. So whatever was
    /// said lies in ever larger runs: a list of any length stays as many runs as its size has digits, also
    /// where each packet changes what the one before had said last, and an item is said again no more
    /// often than that.
    ///
    /// - Complexity: a comparison for each item that goes on from the packet before, mostly of addresses;
    ///   linear in the text of the others.
    static func segments(
      of elements: [JSONValue], _ list: Int, in tables: Deduplicator
    ) -> [Segment] {
      var known = KnownItems(elements, list, in: tables)
      var segments: [(segment: Segment, weight: Int)] = []
      for element in elements {
        if let (number, bytes) = known.next() {
          add(number, bytes, to: &segments)
        } else {
          add(known.item ?? Item(element, tables.keys), to: &segments)
        }
      }
      // From the left, so that what is joined is weighed against what stands before it.
      var joined: [(segment: Segment, weight: Int)] = []
      for segment in segments {
        joined.append(segment)
        tables.joinLast(of: &joined, list: list)
      }
      return joined.map(\.segment)
    }

    private static func add(
      _ number: Int, _ bytes: Int, to segments: inout [(segment: Segment, weight: Int)]
    ) {
      if let last = segments.indices.last, case .run(let run, var places) = segments[last].segment,
        run.end == number
      {
        segments[last].segment = .said([])
        places.append((number, bytes))
        let longer = ItemRun(first: run.first, count: run.count + 1)
        segments[last].segment = .run(longer, places: places)
        segments[last].weight += bytes + itemOverhead
      } else {
        let run = ItemRun(first: number, count: 1)
        segments.append((.run(run, places: [(number, bytes)]), bytes + itemOverhead))
      }
    }

    private static func add(
      _ item: Item, to segments: inout [(segment: Segment, weight: Int)]
    ) {
      let weight = item.value.approximateBytes + itemOverhead
      if let last = segments.indices.last, case .said(var items) = segments[last].segment {
        segments[last].segment = .said([])
        items.append(item)
        segments[last].segment = .said(items)
        segments[last].weight += weight
      } else {
        segments.append((.said([item]), weight))
      }
    }

    /// The number of the next item, and about how many bytes it has; `nil` where it is to be said.
    private mutating func next() -> (number: Int, bytes: Int)? {
      defer { index += 1 }
      item = nil
      let found = numberBefore() ?? numberBehindLast() ?? numberElsewhere()
      lastNumber = found?.number
      return found
    }

    /// Where it follows in the packet before, or stands in the same place of it. Of these items all are
    /// held: those of the last packet always are.
    private mutating func numberBefore() -> (number: Int, bytes: Int)? {
      if follow < before.items.count, isSame(follow) {
        follow += 1
        return before.places[follow - 1]
      }
      guard index != follow, index < before.items.count, isSame(index) else { return nil }
      follow = index + 1
      return before.places[index]
    }

    /// Whether the next item is that of the packet before at a place.
    private func isSame(_ place: Int) -> Bool {
      let isIdentical = elements.withUnsafeBufferPointer { elements in
        before.items.withUnsafeBufferPointer { elements.isIdentical(index, to: $0, place) }
      }
      return isIdentical || before.items[place] == elements[index]
    }

    private func numberBehindLast() -> (number: Int, bytes: Int)? {
      guard let number = lastNumber.map({ $0 + 1 }),
        let (item, bytes) = tables.packets.entry(number, ofTable: list),
        item.value == elements[index]
      else { return nil }
      return (number, bytes)
    }

    private mutating func numberElsewhere() -> (number: Int, bytes: Int)? {
      let made = Item(elements[index], tables.keys)
      guard let number = tables.numbers[list][made.key],
        let bytes = tables.packets.entry(number, ofTable: list)?.bytes,
        bytes > Self.smallItemBytes || isRun(from: number)
      else {
        item = made
        return nil
      }
      if let place = before.places[min(follow, before.places.count)...]
        .firstIndex(where: { $0.number == number })
      {
        follow = place + 1
      }
      return (number, bytes)
    }

    /// Whether enough items follow as they stand behind an item of the tables.
    private func isRun(from number: Int) -> Bool {
      for step in 1..<Self.shortestRun {
        guard index + step < elements.count,
          tables.packets.item(number + step, ofTable: list)?.value == elements[index + step]
        else { return false }
      }
      return true
    }
  }

  /// Says the run before the last segment with it, as long as that is something said and no smaller.
  fileprivate func joinLast(
    of segments: inout [(segment: Segment, weight: Int)], list: Int
  ) {
    while segments.count > 1, case (let last, let weight) = segments[segments.count - 1],
      case (let before, let weightBefore) = segments[segments.count - 2],
      case .said(let items) = last
    {
      switch before {
      case .said(let said):
        segments.removeLast(2)
        segments.append((.said(said + items), weightBefore + weight))
      case .run(let run, _):
        guard weightBefore <= weight, weightBefore + weight <= KnownItems.joinedBytes else {
          return
        }
        let said = (run.first..<run.end).compactMap { packets.item($0, ofTable: list) }
        guard said.count == run.count else { return }
        segments.removeLast(2)
        segments.append((.said(said + items), weightBefore + weight))
      }
    }
  }
}
