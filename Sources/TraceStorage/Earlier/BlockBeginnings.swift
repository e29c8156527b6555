/// How the texts of the blocks read so far begin, in steps of ``BlockReader/beginningBytes``: how many
/// events stand wholly in each beginning, and its CRC-32. So that for one line of a block no more of it
/// need be inflated again than stands before that line's end.
///
/// 8 bytes for each step.
struct BlockBeginnings {
  private struct Step {
    var eventCount: UInt32
    var checksum: UInt32
  }

  private var steps: [Step] = []
  /// Those of each block, by its place in the index; empty where nothing is known of a block.
  private var ranges: [Range<Int>] = []

  /// Takes note of a block that was read to its end.
  mutating func add(_ checksums: [UInt32], block: Int, events: [LineStore.Place]) {
    guard block >= ranges.count else { return }
    while ranges.count < block { ranges.append(steps.endIndex..<steps.endIndex) }
    let first = steps.endIndex
    var eventCount = 0
    for (index, checksum) in checksums.enumerated() {
      let end = (index + 1) * BlockReader.beginningBytes
      while eventCount < events.count, events[eventCount].range.upperBound < end { eventCount += 1 }
      steps.append(Step(eventCount: UInt32(clamping: eventCount), checksum: checksum))
    }
    ranges.append(first..<steps.endIndex)
  }

  /// The shortest beginning of a block's text that an event stands wholly in.
  ///
  /// - Parameter event: its place among the events of the block, from 0.
  /// - Returns: how many bytes and events it has; `nil` where the whole block is needed.
  func beginning(ofBlock block: Int, holding event: Int) -> (
    bytes: Int, eventCount: Int, checksum: UInt32
  )? {
    guard ranges.indices.contains(block), event >= 0 else { return nil }
    let steps = steps[ranges[block]]
    guard let index = steps.firstIndex(where: { event < $0.eventCount }) else { return nil }
    let bytes = (index - steps.startIndex + 1) * BlockReader.beginningBytes
    return (bytes, Int(steps[index].eventCount), steps[index].checksum)
  }
}
