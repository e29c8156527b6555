import Synchronization

/// Takes messages from any task, and gives them to one that waits.
final class Mailbox<Message: Sendable>: Sendable {
  private struct State {
    var messages: [Message] = []
    var head = 0
    var waiting: CheckedContinuation<Void, Never>?
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Hands a message over; `false` where nobody will ever take it.
  @discardableResult
  func post(_ message: Message) -> Bool {
    let (isTaken, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
      guard !state.isClosed else { return (false, nil) }
      state.messages.append(message)
      defer { state.waiting = nil }
      return (true, state.waiting)
    }
    waiting?.resume()
    return isTaken
  }

  /// Takes no more messages.
  func close() { state.withLock { $0.isClosed = true } }

  /// Waits until there is a message to take. Only one task may ask at a time.
  func arrival() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.head < state.messages.count { return true }
        state.waiting = continuation
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// The next message where there is one.
  func take() -> Message? {
    state.withLock { state in
      guard state.head < state.messages.count else { return nil }
      let message = state.messages[state.head]
      state.head += 1
      if state.head == state.messages.count {
        state.messages.removeAll(keepingCapacity: true)
        state.head = 0
      }
      return message
    }
  }
}
