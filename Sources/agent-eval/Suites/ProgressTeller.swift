import Synchronization
import TraceJudging
import TraceReporting

/// Tells how far a suite is: on a terminal in its last line, elsewhere with a line on standard error every while.
final class ProgressTeller: Sendable {
  private struct State {
    var progress: SuiteProgress
    /// What the run that said something last is at.
    var detail = ""
    var lastShown: ContinuousClock.Instant?
    /// When the last line of those was due that stand where there is no terminal.
    var lastLine: ContinuousClock.Instant
  }

  private let state: Mutex<State>
  private let start = ContinuousClock.now
  /// Whether each case is told as it ends: runs that are made take long.
  private let tellsEach: Bool
  private let timer: Task<Void, Never>?

  /// Seconds between two lines where there is no terminal.
  private static let interval: Double =
    Screen.variable("AGENT_EVAL_PROGRESS_SECONDS").flatMap { Double($0) }
    .map { min(max($0, 0.01), 1e6) } ?? 30

  init(total: Int, tellsEach: Bool) {
    state = Mutex(State(progress: SuiteProgress(total: total), lastLine: start))
    self.tellsEach = tellsEach
    // Where nothing is run a result comes often enough, and a task of its own would cost more than judging some cases.
    guard !Screen.canReplaceLines, tellsEach else {
      timer = nil
      return
    }
    let (shared, start) = (Weak(), start)
    timer = Task.detached {
      let pause = Duration.seconds(Self.interval)
      while (try? await Task.sleep(for: pause)) != nil {
        guard let teller = shared.value.withLock({ $0.teller }) else { return }
        let seconds = Self.seconds(since: start)
        teller.tell(teller.state.withLock { $0.progress.line(after: seconds) })
      }
    }
    shared.value.withLock { $0.teller = self }
  }

  /// What the timer looks at, which does not keep it alive.
  private final class Weak: Sendable {
    struct Box: Sendable { weak var teller: ProgressTeller? }
    let value = Mutex(Box())
  }

  /// Takes in a result.
  func take(_ result: CaseResult) {
    let outcome = result.outcome
    let line: String? = state.withLock { state in
      state.progress.take(outcome)
      return isDue(&state, always: tellsEach) ? text(state) : nil
    }
    guard Screen.canReplaceLines else { return tellIfDue() }
    if tellsEach || (outcome != .pass && ContinuousClock.now - start > .seconds(1)) {
      Output.progress("")
      Output.error("\(outcome.word)  \(Visible.line(result.caseId, width: 120))")
    }
    if let line { Output.progress(line) }
  }

  private func tell(_ line: String) { Output.error("run    " + line) }

  /// Tells how far it is where that is due and no timer does.
  private func tellIfDue() {
    guard timer == nil else { return }
    let now = ContinuousClock.now
    let line: String? = state.withLock { state in
      guard now - state.lastLine >= .seconds(Self.interval) else { return nil }
      state.lastLine = now
      return state.progress.line(after: Self.seconds(since: start))
    }
    if let line { tell(line) }
  }

  /// Takes in what a run is at.
  func note(_ detail: String) {
    guard Screen.canReplaceLines else { return }
    let line: String? = state.withLock { state in
      state.detail = detail
      return isDue(&state, always: false) ? text(state) : nil
    }
    if let line { Output.progress(line) }
  }

  /// Ends telling, and clears the line.
  func end() {
    timer?.cancel()
    Output.progress("")
  }

  /// A terminal is written to twenty times a second at most.
  private func isDue(_ state: inout State, always: Bool) -> Bool {
    let now = ContinuousClock.now
    if !always, let last = state.lastShown, now - last < .milliseconds(50) { return false }
    state.lastShown = now
    return true
  }

  private func text(_ state: State) -> String {
    let progress = state.progress.line(after: Self.seconds(since: start))
    let text = state.detail.isEmpty ? progress : "\(progress)  \(state.detail)"
    return Visible.line(text, width: max(20, Screen.columns - 1))
  }

  private static func seconds(since start: ContinuousClock.Instant) -> Double {
    let parts = (ContinuousClock.now - start).components
    return Double(parts.seconds) + Double(parts.attoseconds) / 1e18
  }
}

extension CaseOutcome {
  /// As the report of results has it.
  fileprivate var word: String {
    switch self {
    case .pass: "pass "
    case .fail: "FAIL "
    case .error: "ERROR"
    case .inconclusive: "open "
    }
  }
}
