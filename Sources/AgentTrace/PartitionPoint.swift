extension RandomAccessCollection where Index == Int {
  /// The first index whose element does not fulfil a condition that the elements before it fulfil and
  /// those behind it do not; the end where all fulfil it.
  ///
  /// - Complexity: O(log *n*) calls of the condition.
  @inlinable package func partitionPoint(where fulfils: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if fulfils(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
