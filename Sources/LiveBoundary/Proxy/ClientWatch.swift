#if Live
  import Synchronization

  /// Ends what is done for a client that has gone away.
  final class ClientWatch: Sendable {
    private struct State {
      var hasLeft = false
      var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Whether the client has gone.
    var hasLeft: Bool { state.withLock { $0.hasLeft } }

    /// Takes in that the client has gone.
    func leave() {
      let cancel = state.withLock { state in
        state.hasLeft = true
        return state.cancel
      }
      cancel?()
    }

    /// Looks from now on whether whoever sends nothing more still waits for its reply.
    func look(_ isThere: @escaping @Sendable () -> Bool) {
      Task { [weak self] in
        // A process that ends takes a moment to let go of what it has.
        var milliseconds = 1
        while let self, !self.hasLeft {
          // First of all a while: where nothing is under way the connection is over by then, and nobody need look.
          try? await Task.sleep(for: .milliseconds(milliseconds))
          guard !self.hasLeft else { return }
          guard isThere() else { return self.leave() }
          milliseconds = min(200, 2 * milliseconds)
        }
      }
    }

    /// Does some work, which is cancelled when the client leaves.
    func whilePresent(_ work: @escaping @Sendable () async -> Bool) async -> Bool {
      let task = Task { await work() }
      let hasLeft = state.withLock { state in
        state.cancel = { task.cancel() }
        return state.hasLeft
      }
      if hasLeft { task.cancel() }
      defer { state.withLock { $0.cancel = nil } }
      return await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }
#endif
