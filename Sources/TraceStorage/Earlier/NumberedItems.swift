/// Items by their numbers, of which mostly the latest are held: those in one array, and the few that are much older in
/// a dictionary.
///
/// Why: nearly every list of a packet asks for some hundred numbers that follow on each other, which an array answers
/// without hashing any of them. `Benchmarks`, rows `growing context`.
struct NumberedItems<Item> {
  /// The items from ``base`` on; what is not held is `nil`.
  private var latest: [Item?] = []
  /// The number of the first of ``latest``.
  private var base = 0
  private var older: [Int: Item] = [:]
  /// How many of ``latest`` are held.
  private var held = 0

  /// The array has so much room for what is not held, besides some times as much as is.
  private static var spareCount: Int { 1_024 }
  private static var spareFactor: Int { 8 }

  /// The item with a number.
  subscript(number: Int) -> Item? {
    let place = number - base
    guard place >= 0 else { return older[number] }
    return place < latest.count ? latest[place] : nil
  }

  /// Holds an item; what had its number before.
  mutating func updateValue(_ item: Item, number: Int) -> Item? {
    guard number >= base else { return older.updateValue(item, forKey: number) }
    // A number may be any: where some are missing, the next is a file's to say.
    if number - base > latest.count + Self.spareCount {
      retire(latest.count)
      base = number
    }
    let place = number - base
    if place >= latest.count {
      latest.append(contentsOf: repeatElement(nil, count: place - latest.count))
      latest.append(item)
      held += 1
      return nil
    }
    let old = latest[place]
    latest[place] = item
    if old == nil { held += 1 }
    return old
  }

  /// Forgets an item; what it was.
  mutating func removeValue(number: Int) -> Item? {
    let place = number - base
    guard place >= 0 else { return older.removeValue(forKey: number) }
    guard place < latest.count, let old = latest[place] else { return nil }
    latest[place] = nil
    held -= 1
    return old
  }

  /// Gives back room that much is not held in. Costs no more than what was forgotten since.
  mutating func shrink() {
    while latest.count > Self.spareFactor * held + Self.spareCount {
      retire(latest.count / 2)
    }
  }

  /// Moves the first of ``latest`` to the older ones.
  private mutating func retire(_ count: Int) {
    for place in 0..<count {
      guard let item = latest[place] else { continue }
      older[base + place] = item
      held -= 1
    }
    latest.removeFirst(count)
    base += count
  }
}
