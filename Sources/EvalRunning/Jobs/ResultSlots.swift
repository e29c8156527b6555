import Synchronization

/// Takes in what is kept of each place of a list of work.
final class ResultSlots<Kept: Sendable>: Sendable {
  private let kept: Mutex<[Kept?]>

  init(count: Int) { kept = Mutex(Array(repeating: nil, count: count)) }

  /// Takes in what is kept of a result and tells of it, one at a time.
  func put(_ result: Kept, at index: Int, _ tell: () -> Void) {
    kept.withLock { kept in
      kept[index] = result
      tell()
    }
  }

  /// What has come in, in the order of the places.
  var results: [Kept?] { kept.withLock { $0 } }
}

/// Hands out the places of a list of work, each to one job.
final class WorkList: Sendable {
  private let places: [Int]
  private let next = Atomic(0)

  init(_ places: [Int]) { self.places = places }

  var count: Int { places.count }

  /// The next place that nobody has taken; `nil` when all are.
  func take() -> Int? {
    let index = next.add(1, ordering: .relaxed).oldValue
    return index < places.count ? places[index] : nil
  }
}
