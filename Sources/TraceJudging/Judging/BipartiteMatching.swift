/// A growing matching between numbered places on the left and numbered calls on the right.
///
/// It only ever grows along augmenting paths, so that after each ``augment(_:)`` it is as large as
/// any matching of the left places tried so far (Berge 1957).
struct BipartiteMatching {
  /// The calls that each left place may take.
  private var neighbours: [[Int]] = []
  /// The left place that holds a call.
  private(set) var holder: [Int: Int] = [:]
  /// The call of each left place.
  private(set) var call: [Int?] = []

  /// Adds a left place and tries to give it a call of its own, moving others if need be.
  ///
  /// - Returns: Whether that went; if not, the place stays without a call.
  /// - Complexity: O(edges). No recursion.
  mutating func augment(_ candidates: [Int]) -> Bool {
    neighbours.append(candidates)
    call.append(nil)
    return assign(neighbours.count - 1)
  }

  /// Takes the last place off again.
  mutating func removeLast() {
    if let call = call.removeLast() { holder[call] = nil }
    neighbours.removeLast()
  }

  private mutating func assign(_ start: Int) -> Bool {
    if let free = neighbours[start].first(where: { holder[$0] == nil }) {
      take(free, by: start)
      return true
    }
    // Breadth first over places; for each call seen, the place that it was seen from.
    var seenFrom: [Int: Int] = [:]
    var queue = [start]
    var next = 0
    while next < queue.count {
      let place = queue[next]
      next += 1
      for candidate in neighbours[place] where seenFrom[candidate] == nil {
        seenFrom[candidate] = place
        guard let other = holder[candidate] else {
          flip(from: candidate, seenFrom)
          return true
        }
        queue.append(other)
      }
    }
    return false
  }

  private mutating func flip(from free: Int, _ seenFrom: [Int: Int]) {
    var candidate: Int? = free
    while let current = candidate, let place = seenFrom[current] {
      candidate = call[place]
      take(current, by: place)
    }
  }

  private mutating func take(_ candidate: Int, by place: Int) {
    call[place] = candidate
    holder[candidate] = place
  }
}
