/// Which of many texts were seen, by a part of their keys: about 8 bytes for each, while it grows too.
///
/// Built like ``KeyTable``, with 48 bits of a key and no value. Most of what a key's place says is
/// known besides, so that of a million texts two are taken for one with a probability of about 2⁻²⁰;
/// who asks must be able to look again.
struct KeySet {
  /// Six bytes of a key; all zeros stand for no key.
  private struct Mark: BitwiseCopyable, Equatable {
    var first: UInt16
    var second: UInt16
    var third: UInt16

    static let none = Mark(first: 0, second: 0, third: 0)
  }

  private struct Segment {
    var marks: [Mark] = []
    var count = 0
  }

  private var segments: [Segment] = []
  /// Bits of each key that are left out; for tests, which want keys to be taken for one another.
  private let blurredBits: UInt64

  private static var segmentBits: UInt32 { 8 }
  private static var leastMarks: Int { 8 }

  init(blurredBits: UInt64 = 0) { self.blurredBits = blurredBits }

  func contains(_ key: TextKey) -> Bool {
    guard !segments.isEmpty else { return false }
    let (segment, mark, spread) = take(key)
    return segments[segment].marks.withUnsafeBufferPointer { marks in
      Self.index(of: mark, spread, in: marks).map { marks[$0] == mark } ?? false
    }
  }

  /// Takes in a key.
  ///
  /// - Returns: whether none like it was there.
  @discardableResult
  mutating func insert(_ key: TextKey) -> Bool {
    if segments.isEmpty {
      segments = Array(repeating: Segment(), count: 1 << Int(Self.segmentBits))
    }
    let (segment, mark, spread) = take(key)
    if segments[segment].count >= segments[segment].marks.count * 9 / 10 {
      Self.grow(&segments[segment])
    }
    let isNew = segments[segment].marks.withUnsafeMutableBufferPointer { marks in
      guard let index = Self.index(of: mark, spread, in: UnsafeBufferPointer(marks)),
        marks[index] != mark
      else { return false }
      marks[index] = mark
      return true
    }
    if isNew { segments[segment].count += 1 }
    return isNew
  }

  /// Where a key belongs, and what stands for it there. The place within a segment follows from the
  /// mark alone, which a growing segment has left of the key.
  private func take(_ key: TextKey) -> (segment: Int, mark: Mark, spread: UInt32) {
    var bits = UInt64(key.middle) << 32 | UInt64(key.low)
    bits &= ~blurredBits
    let mark = Mark(
      first: UInt16(truncatingIfNeeded: bits), second: UInt16(truncatingIfNeeded: bits >> 16),
      third: UInt16(truncatingIfNeeded: bits >> 32))
    let segment = blurredBits == 0 ? Int(key.high >> (32 - Self.segmentBits)) : 0
    let stored = mark == .none ? Mark(first: 1, second: 0, third: 0) : mark
    return (segment, stored, Self.spread(stored))
  }

  private static func spread(_ mark: Mark) -> UInt32 {
    UInt32(mark.second) << 16 | UInt32(mark.first)
  }

  private static func grow(_ segment: inout Segment) {
    let old = segment.marks
    segment.marks = Array(
      repeating: .none, count: Swift.max(leastMarks, old.count + old.count / 8))
    segment.marks.withUnsafeMutableBufferPointer { marks in
      for mark in old where mark != .none {
        if let index = index(of: mark, spread(mark), in: UnsafeBufferPointer(marks)) {
          marks[index] = mark
        }
      }
    }
  }

  /// Where a mark stands or would stand; `nil` where there is no room at all.
  private static func index(
    of mark: Mark, _ spread: UInt32, in marks: UnsafeBufferPointer<Mark>
  ) -> Int? {
    // A tenth is empty.
    OpenAddressing.index(from: spread, in: marks) { $0 == mark || $0 == .none }
  }
}
