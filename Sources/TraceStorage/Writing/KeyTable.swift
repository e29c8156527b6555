/// What is known of many texts, by their keys: in about a third more memory than keys and values
/// take, while it grows too.
///
/// Open addressing in many small segments, each of which grows by a quarter when it is four fifths
/// full: a dictionary doubles, and holds its old half besides while it does.
struct KeyTable<Value: BitwiseCopyable> {
  private struct Slot {
    var key: TextKey
    var value: Value
  }

  private struct Segment {
    /// All keys of zeros stand for empty ones.
    var slots: [Slot] = []
    var count = 0
  }

  private var segments: [Segment] = []
  private(set) var count = 0
  /// What empty slots hold.
  private let filler: Value

  private static var segmentBits: UInt32 { 7 }
  private static var leastSlots: Int { 8 }

  init(filler: Value) { self.filler = filler }

  subscript(key: TextKey) -> Value? {
    guard !segments.isEmpty else { return nil }
    let key = key.stored
    return segments[key.segment(bits: Self.segmentBits)].slots.withUnsafeBufferPointer { slots in
      guard let index = Self.index(of: key, in: slots) else { return nil }
      return slots[index].key == key ? slots[index].value : nil
    }
  }

  /// Takes in a value, unless the key has one.
  ///
  /// - Returns: whether it was taken in.
  @discardableResult
  mutating func insert(_ value: Value, for key: TextKey) -> Bool {
    if segments.isEmpty {
      segments = Array(repeating: Segment(), count: 1 << Int(Self.segmentBits))
    }
    let key = key.stored
    let segment = key.segment(bits: Self.segmentBits)
    if segments[segment].count >= segments[segment].slots.count * 4 / 5 {
      Self.grow(&segments[segment], filler: filler)
    }
    let isNew = segments[segment].slots.withUnsafeMutableBufferPointer { slots in
      guard let index = Self.index(of: key, in: UnsafeBufferPointer(slots)),
        slots[index].key != key
      else { return false }
      slots[index] = Slot(key: key, value: value)
      return true
    }
    if isNew {
      segments[segment].count += 1
      count += 1
    }
    return isNew
  }

  /// Takes in a value in the place of the one that the key has, if it has one.
  mutating func update(_ value: Value, for key: TextKey) {
    guard !insert(value, for: key) else { return }
    let key = key.stored
    segments[key.segment(bits: Self.segmentBits)].slots.withUnsafeMutableBufferPointer { slots in
      guard let index = Self.index(of: key, in: UnsafeBufferPointer(slots)) else { return }
      slots[index] = Slot(key: key, value: value)
    }
  }

  private static func grow(_ segment: inout Segment, filler: Value) {
    let old = segment.slots
    let empty = Slot(key: .empty, value: filler)
    segment.slots = Array(
      repeating: empty, count: Swift.max(leastSlots, old.count + old.count / 4))
    segment.slots.withUnsafeMutableBufferPointer { slots in
      for slot in old where slot.key != .empty {
        if let index = index(of: slot.key, in: UnsafeBufferPointer(slots)) { slots[index] = slot }
      }
    }
  }

  /// Where a key stands or would stand; `nil` where there is no room at all.
  private static func index(of key: TextKey, in slots: UnsafeBufferPointer<Slot>) -> Int? {
    // A fifth of the slots is empty.
    OpenAddressing.index(from: key.low, in: slots) { $0.key == key || $0.key == .empty }
  }
}

extension TextKey {
  fileprivate static let empty = TextKey(high: 0, middle: 0, low: 0)

  /// The key as a table holds it, in which zeros have a meaning.
  fileprivate var stored: TextKey { self == .empty ? TextKey(high: 0, middle: 0, low: 1) : self }

  fileprivate func segment(bits: UInt32) -> Int { Int(high >> (32 - bits)) }
}
