public import AgentTrace
import Synchronization
import TraceStorage

/// Reads a recorded run step by step, forwards, and keeps the step it is at.
///
/// A run is read up to its stop. What follows a `run_resumed` or a hole is not given out.
///
/// Memory: one step, ``stepLimitBytes`` at most. May be asked from any task.
public final class RecordedSteps: Sendable {
  /// About how many bytes the events of one step may hold.
  public static let stepLimitBytes = 256 << 20
  /// How many events one step may hold.
  public static let stepLimitEvents = 1_000_000

  /// The log, as the caller named it.
  public let path: String
  /// How the run was started, as its log says.
  public let started: RunStarted
  /// The recorded run's identifier.
  public let runId: String

  private let state: Mutex<State>

  /// Opens a log and reads its first step.
  ///
  /// - Throws: `LogError` where the log cannot be read, ``RecordingError`` where it does not begin with
  ///   the start of a run of ours.
  public init(path: String) throws {
    self.path = path
    var state = State(reader: try LogReader(path: path), path: path)
    guard let event = try state.next(), event.type == .runStarted else {
      throw RecordingError(code: .noStart, path: path)
    }
    let started: RunStarted
    do { started = try RunStarted(decoding: event.data) } catch {
      throw RecordingError(code: .unreadableStart(error), path: path)
    }
    if let source = started.source {
      throw RecordingError(code: .imported(format: source.format), path: path)
    }
    if !started.recorded.isEmpty { throw RecordingError(code: .imported(format: nil), path: path) }
    self.started = started
    runId = event.runId
    state.lookahead = event
    try state.advance()
    self.state = Mutex(state)
  }

  /// The step that holds the event with so many before it; `nil` behind the end of the recording.
  ///
  /// - Throws: `LogError` where the log is damaged, ``RecordingError`` where a step is too large.
  public func step(holding position: Int) throws -> RecordedStep? {
    try state.withLock { state in
      while let step = state.current {
        if position < step.start + step.events.count { return step }
        try state.advance()
      }
      return nil
    }
  }

  /// A step by its number; `nil` where the recording ends before it, or has gone past it already.
  ///
  /// - Throws: as ``step(holding:)``.
  public func step(_ number: Int) throws -> RecordedStep? {
    try state.withLock { state in
      while let step = state.current, step.step < number { try state.advance() }
      guard let step = state.current, step.step == number else { return nil }
      return step
    }
  }

  /// The event behind the run's stop, read only now; `nil` where the log ends there.
  ///
  /// - Throws: `LogError` where the log is damaged there.
  func eventBehindStop() throws -> Event? {
    try state.withLock { state in
      guard state.ending == .stop else { return nil }
      return try state.reader.next()
    }
  }

  /// The step that reading has come to; `nil` behind the end.
  public var current: RecordedStep? { state.withLock { $0.current } }

  /// How the recording ends; `nil` while that has not been read.
  public var ending: RecordingEnd? { state.withLock { $0.ending } }
}

extension RecordedSteps {
  private struct State {
    var reader: LogReader
    let path: String
    /// The first event of the next step.
    var lookahead: Event?
    var current: RecordedStep?
    var ending: RecordingEnd?
    var nextSeq = 0

    /// The next event that may be given out.
    mutating func next() throws -> Event? {
      guard ending == nil else { return nil }
      guard let event = try reader.next() else {
        switch reader.ending {
        case .torn(let offset)?: ending = .unfinished(tornAt: offset)
        default: ending = .unfinished(tornAt: nil)
        }
        return nil
      }
      guard event.seq == nextSeq else {
        ending = .missing(from: nextSeq)
        return nil
      }
      guard event.type != .runResumed else {
        ending = .resumed(event.seq)
        return nil
      }
      nextSeq += 1
      if event.type == .stop { ending = .stop }
      return event
    }

    /// Takes in the next step.
    mutating func advance() throws {
      let start = current.map { $0.start + $0.events.count } ?? 0
      current = nil
      guard let first = lookahead else { return }
      lookahead = nil
      var events = [first]
      var bytes = first.approximateBytes
      while ending == nil, let event = try next() {
        guard event.step == first.step else {
          lookahead = event
          break
        }
        bytes += event.approximateBytes
        guard bytes <= RecordedSteps.stepLimitBytes, events.count < RecordedSteps.stepLimitEvents
        else { throw RecordingError(code: .stepTooLarge(first.step), path: path) }
        events.append(event)
      }
      current = RecordedStep(
        step: first.step, start: start, events: events, ending: lookahead == nil ? ending : nil)
    }
  }
}

/// Why a log cannot serve as a recording that a run is made again from.
public struct RecordingError: Error, Hashable, Sendable {
  /// What is wrong; cases may be added.
  public enum Code: Hashable, Sendable {
    /// The log does not begin with `run_started`.
    case noStart
    /// Its `run_started` is not what the format promises.
    case unreadableStart(PayloadError)
    /// It was imported, from this format where it says so: the runtime that made it is not ours.
    case imported(format: String?)
    /// A step that holds more than is kept in memory.
    case stepTooLarge(Int)
    /// What a person said in this step is cut or lost, so that nobody can say it again.
    case wordsLost(step: Int)
  }

  /// What is wrong.
  public var code: Code
  /// The log, as the caller named it.
  public var path: String
}

extension RecordingError: CustomStringConvertible {
  public var description: String {
    switch code {
    case .noStart:
      "\(path): the log does not begin with the start of a run, so it cannot be run again."
    case .unreadableStart(let fault): "\(path): event 0 (run_started): \(fault)."
    case .imported(let format):
      "\(path): the log was imported\(format.map { " from \($0)" } ?? ""): it holds no context "
        + "packets and replies of this runtime, so it cannot be run again. "
        + "Look at it with replay --step or show."
    case .wordsLost(let step):
      "\(path): step \(step): what a person said there is not whole in the log, so the run cannot be "
        + "made again from there on."
    case .stepTooLarge(let step):
      "\(path): step \(step) holds more than \(RecordedSteps.stepLimitBytes >> 20) MiB or "
        + "\(RecordedSteps.stepLimitEvents) events; a step is kept in memory while it is run again."
    }
  }
}

extension Event {
  /// About how much memory the event takes: what its texts hold, and something for each value.
  fileprivate var approximateBytes: Int { 256 + JSONValue.object(data).approximateBytes }
}

extension JSONValue {
  fileprivate var approximateBytes: Int {
    switch self {
    case .string(let text), .lost(let text): 32 + text.utf8.count
    case .bytes(let bytes): 32 + bytes.count
    case .cut(_, let head): 48 + head.utf8.count
    case .array(let elements): elements.reduce(32) { $0 + $1.approximateBytes }
    case .object(let object):
      object.reduce(32) { $0 + 32 + $1.key.utf8.count + $1.value.approximateBytes }
    default: 32
    }
  }
}
