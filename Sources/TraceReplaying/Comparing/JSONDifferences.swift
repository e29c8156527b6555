public import AgentTrace

/// Goes through two values side by side and tells of each place in which they differ.
public struct JSONDifferences {
  /// Which elements of two lists are compared with each other.
  public enum Pairing: Sendable {
    /// Those with the same index.
    case byIndex
    /// Of lists of other lengths, those between what both begin and end with: one that was put in does
    /// not make all behind it differ.
    case betweenSameEnds
    /// As between same ends, and where the oldest went as new ones came at the end, only these are told
    /// of. Elements of lists of other lengths are told of as a whole.
    case asWindows
  }

  /// Told of a place, and what stands there on the left and on the right, `nil` for nothing; returns
  /// whether to go on.
  public typealias Visit = (JSONPointer, JSONValue?, JSONValue?) -> Bool

  private let pairing: Pairing
  private let visit: Visit
  private var isOver = false

  /// Goes through two values. An object or a list that only one side has is one place.
  ///
  /// Nests as deep as the values do, which a log bounds.
  ///
  /// - Parameters:
  ///   - left: the value on one side; `nil` for nothing.
  ///   - right: the value on the other side; `nil` for nothing.
  ///   - place: where they stand: what pointers begin with.
  ///   - pairing: which elements of two lists are compared with each other.
  ///   - visit: told of each place that differs, until it says that it wants no more.
  /// - Complexity: linear in both values, and for windows quadratic in the length of a list at worst.
  public static func visit(
    _ left: JSONValue?, _ right: JSONValue?, at place: JSONPointer = JSONPointer(),
    pairing: Pairing, _ visit: Visit
  ) {
    withoutActuallyEscaping(visit) { visit in
      var differences = JSONDifferences(pairing: pairing, visit: visit)
      differences.compare(left, right, place)
    }
  }

  private mutating func tell(_ left: JSONValue?, _ right: JSONValue?, _ place: JSONPointer) {
    if !isOver { isOver = !visit(place, left, right) }
  }

  private mutating func compare(_ left: JSONValue?, _ right: JSONValue?, _ place: JSONPointer) {
    guard !isOver else { return }
    switch (left, right) {
    case (.object(let left)?, .object(let right)?): compare(left, right, place)
    case (.array(let left)?, .array(let right)?): compare(left, right, place)
    default: if left != right { tell(left, right, place) }
    }
  }

  private mutating func compare(_ left: JSONObject, _ right: JSONObject, _ place: JSONPointer) {
    var (i, j) = (left.startIndex, right.startIndex)
    while i < left.endIndex || j < right.endIndex {
      if j == right.endIndex
        || (i < left.endIndex && left[i].key.precedesByUTF8(right[j].key))
      {
        tell(left[i].value, nil, place.appending(left[i].key))
        i += 1
      } else if i == left.endIndex || right[j].key.precedesByUTF8(left[i].key) {
        tell(nil, right[j].value, place.appending(right[j].key))
        j += 1
      } else {
        compare(left[i].value, right[j].value, place.appending(left[i].key))
        i += 1
        j += 1
      }
    }
  }

  private mutating func compare(_ left: [JSONValue], _ right: [JSONValue], _ place: JSONPointer) {
    if pairing == .asWindows, let gone = Self.gone(left, right) {
      for index in 0..<gone { tell(left[index], nil, place.appending(String(index))) }
      for index in (left.count - gone)..<right.count {
        tell(nil, right[index], place.appending(String(index)))
      }
      return
    }
    var (first, leftEnd, rightEnd) = (0, left.count, right.count)
    if pairing != .byIndex, leftEnd != rightEnd {
      while first < min(leftEnd, rightEnd), left[first] == right[first] { first += 1 }
      while leftEnd > first, rightEnd > first, left[leftEnd - 1] == right[rightEnd - 1] {
        leftEnd -= 1
        rightEnd -= 1
      }
    }
    let tellsWhole = pairing == .asWindows && left.count != right.count
    for index in first..<max(first, leftEnd, rightEnd) {
      let old = index < leftEnd ? left[index] : JSONValue?.none
      let new = index < rightEnd ? right[index] : JSONValue?.none
      let at = place.appending(String(index))
      if tellsWhole { tell(old, new, at) } else { compare(old, new, at) }
    }
  }

  /// How many elements went at the beginning, where the others stay and some may follow them.
  private static func gone(_ left: [JSONValue], _ right: [JSONValue]) -> Int? {
    guard let first = right.first, let gone = left.firstIndex(of: first), gone > 0,
      left.count - gone <= right.count,
      left[gone...].elementsEqual(right.prefix(left.count - gone))
    else { return nil }
    return gone
  }
}
