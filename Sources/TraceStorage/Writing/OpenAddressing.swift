/// How tables of keys find their places: from where a key's bits point to on, to the next slot that will
/// do. At least one slot has to be empty, or this would not end.
enum OpenAddressing {
  /// The first slot that a key may have, going round at the end; `nil` where there is no slot at all.
  ///
  /// - Parameters:
  ///   - spread: bits of the key, all of them equally likely.
  ///   - isFound: whether a slot holds the key, or nothing.
  @inline(__always)
  static func index<Slot>(
    from spread: UInt32, in slots: UnsafeBufferPointer<Slot>, where isFound: (Slot) -> Bool
  ) -> Int? {
    guard !slots.isEmpty else { return nil }
    var index = Int(UInt64(spread) * UInt64(slots.count) >> 32)
    while !isFound(slots[index]) {
      index += 1
      if index == slots.count { index = 0 }
    }
    return index
  }
}
