/// Elements in the order in which they came, each under a number that stays its own: one is found by its
/// number, and taken out, without moving those behind it.
///
/// What was taken out leaves its place empty until more places are empty than not.
struct OrderedRow<Element: Sendable & Hashable>: Sendable {
  private var slots: [Element] = []
  /// The number of what stands in each place; they grow.
  private var numbers: [Int] = []
  private var isGone: [Bool] = []
  /// Every place before this one is empty.
  private var head = 0
  private var next = 0
  /// How many elements are left.
  private(set) var count = 0

  /// So many places may be empty whatever is left.
  private static var spareSlots: Int { 16 }

  var isEmpty: Bool { count == 0 }

  /// What is left, in order.
  ///
  /// - Complexity: linear where something before the last was taken out.
  var elements: [Element] {
    if count == slots.count { return slots }
    return (head..<slots.count).compactMap { isGone[$0] ? nil : slots[$0] }
  }

  /// The numbers of what is left, in order.
  var places: [Int] { (head..<slots.count).compactMap { isGone[$0] ? nil : numbers[$0] } }

  /// The number of the first element.
  var first: Int? { count == 0 ? nil : numbers[head] }

  /// The element of a number; `nil` where it was taken out.
  subscript(number: Int) -> Element? { slot(number).map { slots[$0] } }

  /// The number of the first element of a kind: looks at one after the other.
  func first(where isMeant: (Element) -> Bool) -> Int? {
    for slot in head..<slots.count where !isGone[slot] && isMeant(slots[slot]) {
      return numbers[slot]
    }
    return nil
  }

  /// Puts an element behind the others; returns its number.
  @discardableResult
  mutating func append(_ element: Element) -> Int {
    let number = next
    next += 1
    slots.append(element)
    numbers.append(number)
    isGone.append(false)
    count += 1
    return number
  }

  /// Changes an element in its place; nothing where it was taken out.
  mutating func change(_ number: Int, _ body: (inout Element) -> Void) {
    guard let slot = slot(number) else { return }
    body(&slots[slot])
  }

  /// Takes an element out.
  @discardableResult
  mutating func remove(_ number: Int) -> Element? {
    guard let slot = slot(number) else { return nil }
    let element = slots[slot]
    isGone[slot] = true
    count -= 1
    while head < slots.count, isGone[head] { head += 1 }
    if slots.count - count > count + Self.spareSlots || count == 0 { compact() }
    return element
  }

  private mutating func compact() {
    guard count > 0 else {
      // The next elements mostly need as much room.
      let isSmall = slots.count <= 2 * Self.spareSlots
      slots.removeAll(keepingCapacity: isSmall)
      numbers.removeAll(keepingCapacity: isSmall)
      isGone.removeAll(keepingCapacity: isSmall)
      head = 0
      return
    }
    let left = (head..<slots.count).filter { !isGone[$0] }
    slots = left.map { slots[$0] }
    numbers = left.map { numbers[$0] }
    isGone = Array(repeating: false, count: left.count)
    head = 0
  }

  private func slot(_ number: Int) -> Int? {
    guard let start = numbers.first else { return nil }
    // Mostly every number since has its place still.
    let direct = number - start
    if numbers.indices.contains(direct), numbers[direct] == number {
      return isGone[direct] ? nil : direct
    }
    let slot = numbers.firstPlace(notBelow: number)
    return slot < numbers.count && numbers[slot] == number && !isGone[slot] ? slot : nil
  }
}

extension OrderedRow: Hashable {
  // Numbers and empty places are of no account.
  static func == (left: OrderedRow, right: OrderedRow) -> Bool {
    left.count == right.count && left.elements == right.elements
  }

  func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}

extension [Int] {
  /// Where a number stands, or would stand, among numbers that grow.
  func firstPlace(notBelow number: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Text as a key: the same only where the bytes are, unlike `String`, which calls equivalent spellings
/// equal.
struct TextBytes: Hashable, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: TextBytes, right: TextBytes) -> Bool {
    left.text.hasSameUTF8(as: right.text)
  }

  // Equal bytes imply equal hashes of `String`.
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
