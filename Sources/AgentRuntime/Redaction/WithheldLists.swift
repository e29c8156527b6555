@_spi(Scanning) import AgentTrace

/// The lists of the last packet, with what they are when everything is withheld: the next one takes most of its items
/// over, which need not be looked through again.
///
/// An item stands for itself here: what the items around it say must not change what is withheld in it.
struct WithheldLists {
  private struct List {
    var items: [JSONValue] = []
    var withheld: [JSONValue] = []
    /// The tools whose rules each item was withheld by, where there are such rules.
    var tools: [[String]] = []
  }

  private var lists = [List](repeating: List(), count: ContextPacket.listPointers.count)
  /// How many items were looked through, because the packet before did not have them.
  private(set) var looks = 0
  /// How far ahead an item is looked for where some before it went.
  private static let lookahead = 64

  /// A list with everything withheld, which is then the last one.
  ///
  /// - Parameters:
  ///   - list: its place among those of a packet.
  ///   - tools: the tools whose rules hold for an item; what was withheld by other rules is looked through anew.
  ///   - look: withholds what is in an item.
  /// - Complexity: a comparison for each item that the packet before had, mostly of addresses.
  mutating func withheld(
    _ items: [JSONValue], list: Int, tools: (JSONValue) -> [String],
    look: (JSONValue) -> JSONValue
  ) -> [JSONValue] {
    let before = lists[list]
    var now = List(items: items)
    now.withheld.reserveCapacity(items.count)
    now.tools.reserveCapacity(items.count)
    var follow = 0
    for (index, item) in items.enumerated() {
      let tools = tools(item)
      let place = Self.place(of: index, in: items, among: before.items, from: follow)
      follow = place.map { $0 + 1 } ?? follow
      now.tools.append(tools)
      if let place, before.tools[place] == tools {
        now.withheld.append(before.withheld[place])
      } else {
        looks += 1
        now.withheld.append(look(item))
      }
    }
    lists[list] = now
    return now.withheld
  }

  /// Forgets a list.
  mutating func forget(list: Int) { lists[list] = List() }

  private static func place(
    of index: Int, in list: [JSONValue], among items: [JSONValue], from start: Int
  ) -> Int? {
    list.withUnsafeBufferPointer { list in
      items.withUnsafeBufferPointer { items in
        guard start < items.count else { return nil }
        if list.isIdentical(index, to: items, start) || items[start] == list[index] { return start }
        return (start..<min(items.count, start + lookahead)).first {
          list.isIdentical(index, to: items, $0)
        }
      }
    }
  }
}
