/// Delta debugging: the search for the least that still does what the whole does.
///
/// After Zeller and Hildebrandt, “Simplifying and Isolating Failure-Inducing Input”, IEEE Transactions on
/// Software Engineering 28(2), 2002: ever smaller pieces are left out, and what is left at the end cannot
/// do without any single element.
enum DeltaDebugging {
  /// The elements that are left, in their order.
  ///
  /// - Parameter suffices: Whether these elements alone still do it; it holds for all of them.
  /// - Complexity: O(*n* log *n*) questions where few elements matter, O(*n*²) at worst.
  static func least<Element>(
    of elements: [Element], _ suffices: ([Element]) -> Bool
  ) -> [Element] {
    guard !elements.isEmpty else { return elements }
    if suffices([]) { return [] }
    var left = elements
    var pieces = 2
    while left.count >= 2 {
      let bounds = (0...pieces).map { $0 * left.count / pieces }
      let ranges = zip(bounds, bounds.dropFirst()).map { $0..<$1 }
      if let range = ranges.first(where: { suffices(Array(left[$0])) }) {
        left = Array(left[range])
        pieces = 2
      } else if let range = ranges.last(where: { suffices(left.without($0)) }) {
        // From the end: what comes late seldom bears on what came before.
        left = left.without(range)
        pieces = max(2, pieces - 1)
      } else if pieces < left.count {
        pieces = min(left.count, pieces * 2)
      } else {
        break
      }
    }
    return left
  }
}

extension Array {
  fileprivate func without(_ range: Range<Int>) -> [Element] {
    Array(self[..<range.lowerBound] + self[range.upperBound...])
  }
}
