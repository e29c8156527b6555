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
  /// Without secrets; see ``Redactor``. Whole lines without their ends, or, for whoever listens for words
  /// (``Runtime/events(inWords:)``), all that came since the last, line ends among it.
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

/// Takes the parts of one text, and passes on its lines, or its words, once nothing more can make secrets of them.
final class ProgressChannel: Sendable {
  /// How much of one text is passed on.
  private static let limitBytes = 256 << 10

  private struct State {
    var text = ""
    var linesTold = 0
    var words: WordFlow
  }

  private let source: RunProgress.Source
  private let redactor: Redactor
  private let listeners: ProgressListeners
  private let state: Mutex<State>

  init(_ source: RunProgress.Source, _ redactor: Redactor, to listeners: ProgressListeners) {
    self.source = source
    self.redactor = redactor
    self.listeners = listeners
    state = Mutex(State(words: WordFlow(redactor)))
  }

  func take(_ part: String) { add(part, isEnd: false) }

  /// Passes on what is left.
  func finish() { add("", isEnd: true) }

  private func add(_ part: String, isEnd: Bool) {
    let hearsWords = listeners.hearsWords()
    let lines = state.withLock { state -> [Substring] in
      if state.text.utf8.count + part.utf8.count <= Self.limitBytes { state.text += part }
      if hearsWords {
        let words = state.words.next(of: state.text, isEnd: isEnd)
        // Within the lock, so that they come in order.
        if !words.isEmpty { listeners.tellWords(RunProgress(source: source, text: words)) }
      }
      guard isEnd || part.utf8.contains(UInt8(ascii: "\n")) else { return [] }
      // What is withheld can reach over lines, so that all of the text is looked at again.
      let lines = redactor.redacted(state.text)
        .split(separator: "\n", omittingEmptySubsequences: false)
      let whole = isEnd ? lines.count : lines.count - 1
      guard whole > state.linesTold else { return [] }
      defer { state.linesTold = whole }
      return Array(lines[state.linesTold..<whole])
    }
    for line in lines where !line.isEmpty {
      listeners.tellLine(RunProgress(source: source, text: String(line)))
    }
  }
}

/// Who is told of what is still coming in.
struct ProgressListeners: Sendable {
  /// Told each line.
  var tellLine: @Sendable (RunProgress) -> Void
  /// Whether somebody listens for words.
  var hearsWords: @Sendable () -> Bool
  /// Told the words as they come.
  var tellWords: @Sendable (RunProgress) -> Void
}

/// Whoever listens to a run.
final class RunListeners: Sendable {
  private struct State {
    var listeners: [Int: Listener] = [:]
    var count = 0
    /// How many runs go on.
    var runs = 0
    var hasRun = false
  }

  private struct Listener {
    var continuation: AsyncStream<RunUpdate>.Continuation
    var hearsWords: Bool
  }

  private let state = Mutex(State())

  /// Whether one of them listens for words.
  var hearWords: Bool { state.withLock { $0.listeners.values.contains(where: \.hearsWords) } }

  /// A run goes on.
  func begin() {
    state.withLock { state in
      state.runs += 1
      state.hasRun = true
    }
  }

  /// Everything from now on until the run ends; nothing where it has ended.
  ///
  /// - Parameter inWords: whether what is still coming in is told by the word, not by the line.
  func listen(inWords: Bool) -> AsyncStream<RunUpdate> {
    let (stream, continuation) = AsyncStream<RunUpdate>.makeStream()
    let number = state.withLock { state -> Int? in
      if state.hasRun, state.runs == 0 { return nil }
      state.count += 1
      state.listeners[state.count] = Listener(continuation: continuation, hearsWords: inWords)
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

  func tell(_ event: Event) {
    for listener in state.withLock({ Array($0.listeners.values) }) {
      listener.continuation.yield(.event(event))
    }
  }

  /// - Parameter inWords: whether it is for those who listen for words, or for the others.
  func tell(_ progress: RunProgress, inWords: Bool) {
    for listener in state.withLock({ Array($0.listeners.values) })
    where listener.hearsWords == inWords {
      listener.continuation.yield(.progress(progress))
    }
  }

  /// The run has ended or paused.
  func finish() {
    let listeners = state.withLock { state -> [AsyncStream<RunUpdate>.Continuation] in
      state.runs -= 1
      guard state.runs == 0 else { return [] }
      defer { state.listeners = [:] }
      return state.listeners.values.map(\.continuation)
    }
    for listener in listeners { listener.finish() }
  }
}
