import AgentTrace

/// Finds the word that a misspelt one was meant to be.
public enum Spelling {
  /// Words longer than this are compared by their beginning only, which bounds the cost.
  private static let lengthLimit = 64

  /// The word of `words` that is nearest to `word`, or `nil` where none is near enough to be meant.
  ///
  /// Near enough is one slip in words of up to five scalars, and one more for every four beyond;
  /// case, `-` and `_` do not count. Of two equally near words the first by UTF-8 stands.
  /// Cost: O(length²) for each word, lengths cut at 64.
  public static func nearest(to word: String, among words: some Sequence<String>) -> String? {
    let plain = folded(word)
    let allowed = plain.count <= 5 ? 1 : 1 + (plain.count - 2) / 4
    var best: (word: String, distance: Int)?
    for candidate in words where !candidate.hasSameUTF8(as: word) {
      let other = folded(candidate)
      guard abs(other.count - plain.count) <= allowed,
        lettersApart(plain, other) <= 2 * allowed
      else { continue }
      let found = distance(plain, other)
      // A word of which nothing is left is no slip.
      guard found <= allowed, found < max(plain.count, other.count) || found == 0 else { continue }
      if let known = best {
        guard
          found < known.distance
            || (found == known.distance && candidate.precedesByUTF8(known.word))
        else { continue }
      }
      best = (candidate, found)
    }
    return best?.word
  }

  /// How many scalars, of ASCII and counted by kind, stand in one word and not in the other. A slip
  /// changes that by two at most, so that most words are told apart without their distance.
  private static func lettersApart(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    withUnsafeTemporaryAllocation(of: Int8.self, capacity: 128) { counts in
      counts.initialize(repeating: 0)
      for scalar in left where scalar.isASCII { counts[Int(scalar.value)] += 1 }
      for scalar in right where scalar.isASCII { counts[Int(scalar.value)] -= 1 }
      return counts.reduce(0) { $0 + abs(Int($1)) }
    }
  }

  /// How many slips lie between two words: scalars left out, put in, mistaken, or swapped with a
  /// neighbour (optimal string alignment, a restricted Damerau–Levenshtein distance).
  public static func distance(_ left: String, _ right: String) -> Int {
    distance(scalars(left), scalars(right))
  }

  private static func scalars(_ word: String) -> [Unicode.Scalar] {
    Array(word.unicodeScalars.prefix(lengthLimit))
  }

  private static func folded(_ word: String) -> [Unicode.Scalar] {
    scalars(word).compactMap { scalar in
      guard scalar.isASCII else { return CaseFolding.fold(scalar) }
      if scalar == "_" || scalar == "-" { return nil }
      return ("A"..."Z").contains(scalar) ? Unicode.Scalar(scalar.value + 32) : scalar
    }
  }

  private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, scalar) in left.enumerated() {
      var current = [row + 1]
      current.reserveCapacity(right.count + 1)
      for (column, other) in right.enumerated() {
        var cost = min(
          last[column + 1] + 1, current[column] + 1, last[column] + (scalar == other ? 0 : 1))
        if row > 0, column > 0, scalar == right[column - 1], left[row - 1] == other {
          cost = min(cost, beforeLast[column - 1] + 1)
        }
        current.append(cost)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}
