public import AgentTrace
import Synchronization

extension PipelineRuntime {
  /// Runs the pipeline and gives its events as they are recorded. It runs no further ahead of whoever takes them than
  /// ``PipelineEvents/capacity``; who stops taking them before the end lets it pause.
  ///
  /// - Parameters:
  ///   - start: what the pipeline is given, and what its run is known by.
  ///   - makeSink: makes what keeps the events, where they are recorded.
  public func execute(
    _ start: Start, into makeSink: @escaping @Sendable () throws -> any EventSink
  ) -> PipelineEvents {
    PipelineEvents(of: self) { observe in
      _ = try await self.run(start, into: try makeSink(), observe: observe)
    }
  }
}

/// The events of a pipeline that runs, each once it is kept.
public struct PipelineEvents: AsyncSequence, Sendable {
  /// An event of the pipeline’s log.
  public typealias Element = Event

  /// How many events may be recorded that nobody has taken.
  public static let capacity = 256

  private let channel: EventChannel

  init(
    of runtime: PipelineRuntime,
    _ run: @escaping @Sendable (@escaping (Event) async -> Void) async throws -> Void
  ) {
    let channel = EventChannel(limit: Self.capacity, abandon: { runtime.pause() })
    self.channel = channel
    channel.own(
      Task { [weak channel] in
        let line = channel?.line
        do {
          try await run { event in await line?.send(event) }
          line?.finish(nil)
        } catch { line?.finish(error) }
      })
  }

  /// Gives the events in order.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let channel: EventChannel

    /// The next event; `nil` behind the last.
    ///
    /// - Throws: what stopped the run other than its own end.
    public mutating func next() async throws -> Event? { try await channel.line.next() }
  }

  /// Takes the events from where they have been taken to.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(channel: channel) }
}

/// Owns a run whose events somebody takes; where nobody does any more, it is let to pause.
private final class EventChannel: Sendable {
  let line: EventLine
  private let abandon: @Sendable () -> Void
  private let task = Mutex<Task<Void, Never>?>(nil)

  init(limit: Int, abandon: @escaping @Sendable () -> Void) {
    line = EventLine(limit: limit)
    self.abandon = abandon
  }

  func own(_ task: Task<Void, Never>) { self.task.withLock { $0 = task } }

  deinit {
    abandon()
    line.close()
  }
}

/// Events on their way from one task to another, of which only so many wait.
private final class EventLine: Sendable {
  private struct State {
    var events: [Event] = []
    var head = 0
    var end: Result<Void, any Error>?
    var isClosed = false
    var sender: CheckedContinuation<Void, Never>?
    var taker: CheckedContinuation<Void, Never>?

    var count: Int { events.count - head }
  }

  private let limit: Int
  private let state = Mutex(State())

  init(limit: Int) { self.limit = limit }

  /// Hands an event over; waits while too many are there.
  func send(_ event: Event) async {
    let taker = state.withLock { state in
      if !state.isClosed { state.events.append(event) }
      defer { state.taker = nil }
      return state.taker
    }
    taker?.resume()
    await withCheckedContinuation { continuation in
      let mayGoOn = state.withLock { state in
        if state.count < limit || state.isClosed { return true }
        state.sender = continuation
        return false
      }
      if mayGoOn { continuation.resume() }
    }
  }

  func finish(_ error: (any Error)?) {
    let taker = state.withLock { state in
      state.end = error.map { .failure($0) } ?? .success(())
      defer { state.taker = nil }
      return state.taker
    }
    taker?.resume()
  }

  /// Nobody takes anything any more.
  func close() {
    let sender = state.withLock { state in
      state.isClosed = true
      state.events = []
      state.head = 0
      defer { state.sender = nil }
      return state.sender
    }
    sender?.resume()
  }

  func next() async throws -> Event? {
    while true {
      let (event, sender, end) = take()
      sender?.resume()
      if let event { return event }
      if let end {
        try end.get()
        return nil
      }
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.count > 0 || state.end != nil { return true }
          state.taker = continuation
          return false
        }
        if isThere { continuation.resume() }
      }
    }
  }

  private func take() -> (
    Event?, CheckedContinuation<Void, Never>?, Result<Void, any Error>?
  ) {
    state.withLock { state in
      guard state.count > 0 else { return (nil, nil, state.end) }
      let event = state.events[state.head]
      state.head += 1
      if state.head == state.events.count {
        state.events.removeAll(keepingCapacity: true)
        state.head = 0
      }
      defer { state.sender = nil }
      return (event, state.sender, nil)
    }
  }
}
