#if Live
  import AgentRuntime

  extension HTTPConnector {
    /// Makes a request that ends when the run is to end, or the task is cancelled.
    ///
    /// - Throws: `HTTPFailure`, or what `read` throws.
    func perform<Result: Sendable>(
      _ call: HTTPCall, until cancellation: Cancellation,
      read: @escaping @Sendable (HTTPHead, inout HTTPBody) async throws -> Result
    ) async throws -> Result {
      let work = Task { try await perform(call, read: read) }
      return try await withTaskCancellationHandler {
        await cancellation.whileListening({ work.cancel() }) { await work.result }
      } onCancel: {
        work.cancel()
      }.get()
    }
  }

  extension [ServerEndpoint.Header] {
    /// The headers with the values of their variables.
    ///
    /// - Throws: `EnvironmentText.MissingVariable`.
    func resolved() throws -> [HTTPHeader] {
      try map { HTTPHeader($0.name, try $0.value.resolved { ProcessVariables[$0] }) }
    }
  }
#endif
