import AgentTrace

/// Calls that run side by side, and the order in which their results are taken in.
///
/// On a running clock results come as they end. On a fixed one they come by the time they are said to
/// take, then in call order, so that the same script gives the same log: all that run are awaited,
/// and the one that would have ended first is handed out.
struct CallBatch {
  struct Attempt: Sendable {
    var answer: ToolAnswer
    /// From 1.
    var attempt: Int
    /// What ended is the wait behind this attempt, which failed; it took so long. `nil` where the
    /// attempt itself ended.
    var waitMicroseconds: Int?
    /// Whether an attempt before this one left its effect unknown.
    var isEarlierEffectUnknown: Bool

    /// Takes in the result as it may enter the run, the call's attempts taken together: an effect that one of them
    /// left unknown stays so until one succeeds, or the tool itself says that nothing was done.
    mutating func settle(_ result: ToolResult) {
      var saysNoEffect = answer.saysNoEffect
      if case .ok(let data) = answer.result { saysNoEffect = saysNoEffect || data.saysNoEffect }
      answer.result =
        if isEarlierEffectUnknown, !saysNoEffect { result.withEffectUnknown } else { result }
    }

    /// How long what ended has taken.
    var elapsedMicroseconds: Int { waitMicroseconds ?? answer.elapsedMicroseconds }
  }

  enum Turn {
    /// A call may start now.
    case start(Int)
    /// A call ended, or the wait between two of its attempts: begun at one time of the run, ended at
    /// another, which only a fixed clock knows.
    case finish(Int, Attempt, startedAt: Int, endedAt: Int)
  }

  private struct Running {
    var index: Int
    var startedAt: Int
    var task: Task<Attempt, Never>
  }

  private let limit: Int
  private let isFixed: Bool
  /// Indices of the calls that have yet to start, in call order.
  private var waiting: ArraySlice<Int>
  private var running: [Running] = []
  /// Indices of calls as they end.
  private let ended: AsyncStream<Int>
  private let announce: AsyncStream<Int>.Continuation

  /// - Parameter waiting: indices of the calls that have yet to start. Others may be under way already;
  ///   see ``begin(_:at:_:)``.
  init(waiting: [Int], limit: Int, isFixed: Bool) {
    self.waiting = waiting[...]
    self.limit = limit
    self.isFixed = isFixed
    (ended, announce) = AsyncStream.makeStream()
  }

  /// What to do next; `nil` when every call has ended.
  mutating func next() async -> Turn? {
    if running.count < limit, let next = waiting.popFirst() { return .start(next) }
    guard !running.isEmpty else { return nil }
    return await isFixed ? nextByTime() : nextByArrival()
  }

  mutating func begin(
    _ index: Int, at startedAt: Int, _ work: @escaping @Sendable () async -> Attempt
  ) {
    let announce = announce
    let task = Task {
      let attempt = await work()
      announce.yield(index)
      return attempt
    }
    running.append(Running(index: index, startedAt: startedAt, task: task))
  }

  /// Ends what still runs; for a run that cannot go on. Waits for it, so that nothing is left behind.
  mutating func cancel() async {
    for call in running { call.task.cancel() }
    for call in running { _ = await call.task.value }
    running = []
  }

  /// On a clock that stands still, waits for all that runs, and takes nothing in.
  func hearOut() async {
    guard isFixed else { return }
    for call in running { _ = await call.task.value }
  }

  private mutating func nextByArrival() async -> Turn? {
    for await index in ended {
      guard let position = running.firstIndex(where: { $0.index == index }) else { continue }
      let call = running.remove(at: position)
      return .finish(index, await call.task.value, startedAt: call.startedAt, endedAt: 0)
    }
    // Nobody announces ends any more; what runs is waited for all the same.
    guard let call = running.first else { return nil }
    running.removeFirst()
    return .finish(call.index, await call.task.value, startedAt: call.startedAt, endedAt: 0)
  }

  private mutating func nextByTime() async -> Turn? {
    var first: (position: Int, endedAt: Int, attempt: Attempt)?
    for (position, call) in running.enumerated() {
      let attempt = await call.task.value
      let endedAt = call.startedAt + attempt.elapsedMicroseconds
      if let best = first, (best.endedAt, running[best.position].index) <= (endedAt, call.index) {
        continue
      }
      first = (position, endedAt, attempt)
    }
    guard let first else { return nil }
    let call = running.remove(at: first.position)
    return .finish(
      call.index, first.attempt, startedAt: call.startedAt, endedAt: first.endedAt)
  }
}
