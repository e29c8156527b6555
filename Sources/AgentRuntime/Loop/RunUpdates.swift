public import AgentTrace
import Synchronization

/// What a run tells of itself while it goes on.
public enum RunUpdate: Sendable, Hashable {
  /// An event, once it is kept.
  case event(Event)
  /// Something that no log holds, as it happens.
  case progress(RunProgress)
}

/// A part of something that is still coming in: what a model has written so far, what a tool says while
/// it works. It is shown and forgotten; the event that follows holds the whole.
public struct RunProgress: Sendable, Hashable {
  /// Who says it.
  public enum Source: Sendable, Hashable {
    /// The model, asked in this step.
    case model(step: Int)
    /// The tool that runs for this call.
    case tool(callId: String)
  }

  /// Who says it.
  public var source: Source
  /// Whole lines, without secrets; see ``Redactor``.
  public var text: String

  /// Secrets have to be out of the text already.
  public init(source: Source, text: String) {
    self.source = source
    self.text = text
  }

  @TaskLocal static var channel: ProgressChannel?

  /// Says more of what a model or a tool is at. To be called by its implementation, on its task or one
  /// that it began; nothing happens where nobody listens. Parts may be cut anywhere.
  public static func report(_ text: String) { channel?.take(text) }
}

/// Takes the parts of one text, and passes on its lines once nothing more can make secrets of them.
final class ProgressChannel: Sendable {
  /// How much of one text is passed on.
  private static let limitBytes = 256 << 10

  private struct State {
    var text = ""
    var linesTold = 0
  }

  private let source: RunProgress.Source
  private let redactor: Redactor
  private let tell: @Sendable (RunProgress) -> Void
  private let state = Mutex(State())

  init(
    _ source: RunProgress.Source, _ redactor: Redactor,
    tell: @escaping @Sendable (RunProgress) -> Void
  ) {
    self.source = source
    self.redactor = redactor
    self.tell = tell
  }

  func take(_ part: String) { add(part, isEnd: false) }

  /// Passes on what is left.
  func finish() { add("", isEnd: true) }

  private func add(_ part: String, isEnd: Bool) {
    let lines = state.withLock { state -> [Substring] in
      if state.text.utf8.count + part.utf8.count <= Self.limitBytes { state.text += part }
      guard isEnd || part.utf8.contains(UInt8(ascii: "\n")) else { return [] }
      // What is withheld can reach over lines, so that all of the text is looked at again.
      let lines = redactor.redacted(state.text)
        .split(separator: "\n", omittingEmptySubsequences: false)
      let whole = isEnd ? lines.count : lines.count - 1
      guard whole > state.linesTold else { return [] }
      defer { state.linesTold = whole }
      return Array(lines[state.linesTold..<whole])
    }
    for line in lines where !line.isEmpty { tell(RunProgress(source: source, text: String(line))) }
  }
}

/// Whoever listens to a run.
final class RunListeners: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<RunUpdate>.Continuation] = [:]
    var count = 0
    /// How many runs go on.
    var runs = 0
    var hasRun = false
  }

  private let state = Mutex(State())

  /// A run goes on.
  func begin() {
    state.withLock { state in
      state.runs += 1
      state.hasRun = true
    }
  }

  /// Everything from now on until the run ends; nothing where it has ended.
  func listen() -> AsyncStream<RunUpdate> {
    let (stream, continuation) = AsyncStream<RunUpdate>.makeStream()
    let number = state.withLock { state -> Int? in
      if state.hasRun, state.runs == 0 { return nil }
      state.count += 1
      state.listeners[state.count] = continuation
      return state.count
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }
    return stream
  }

  func tell(_ update: RunUpdate) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(update) }
  }

  /// The run has ended or paused.
  func finish() {
    let listeners = state.withLock { state -> [AsyncStream<RunUpdate>.Continuation] in
      state.runs -= 1
      guard state.runs == 0 else { return [] }
      defer { state.listeners = [:] }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }
}
