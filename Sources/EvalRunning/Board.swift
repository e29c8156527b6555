import Synchronization

/// Hands out the places of a list of work and takes in what is kept of each.
final class Board<Kept: Sendable>: Sendable {
  private struct State {
    var next = 0
    var results: [Kept?]
  }

  private let state: Mutex<State>

  init(count: Int) { state = Mutex(State(results: Array(repeating: nil, count: count))) }

  /// The next place that nobody has taken; `nil` when all are.
  func take() -> Int? {
    state.withLock { state in
      guard state.next < state.results.count else { return nil }
      defer { state.next += 1 }
      return state.next
    }
  }

  /// Takes in what is kept of a result and tells of it, one at a time.
  func put(_ kept: Kept, at index: Int, _ tell: () -> Void) {
    state.withLock { state in
      state.results[index] = kept
      tell()
    }
  }

  /// What has come in, in the order of the places.
  var results: [Kept?] { state.withLock { $0.results } }
}
