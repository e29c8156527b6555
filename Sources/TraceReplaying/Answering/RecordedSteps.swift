public import AgentTrace
import Synchronization
import TraceStorage

/// Reads a recorded run step by step, forwards, and keeps the step it is at.
///
/// A run is read session by session: up to its stop, or up to where it was opened again, or up to where a
/// fork goes on from a call of its parent's that has no result. What follows comes after
/// `openNextSession()`; what follows a hole is not given out.
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
  /// Whether secrets were withheld from the log behind its run: digests are of what was said before.
  let isScrubbed: Bool

  private let state: Mutex<State>

  /// Opens a log and reads its first step.
  ///
  /// - Parameters:
  ///   - path: The log; where only `….open` is there, that is read.
  ///   - acrossSessions: Whether a run that was resumed is given out as if it had never stood still: its
  ///     steps hold the events of all sessions.
  ///   - provesStates: Whether what the log says of its run is held against its events; see `contradiction`.
  /// - Throws: `LogError` where the log cannot be read, ``RecordingError`` where it does not begin with
  ///   the start of a run of ours.
  public init(path: String, acrossSessions: Bool = false, provesStates: Bool = false) throws {
    self.path = path
    let options = LogReader.Options(provesStates: provesStates)
    var state = State(
      reader: try LogReader(path: path, options: options), path: path,
      isAcrossSessions: acrossSessions)
    guard let event = try state.next() else { throw RecordingError(code: .empty, path: path) }
    guard event.type == .runStarted else { throw RecordingError(code: .noStart, path: path) }
    let started: RunStarted
    do { started = try RunStarted(decoding: event.data) } catch {
      throw RecordingError(code: .unreadableStart(error), path: path)
    }
    if let source = started.source {
      throw RecordingError(code: .imported(format: source.format), path: path)
    }
    if started.inputs["pipeline"] != nil { throw RecordingError(code: .pipeline, path: path) }
    if !started.recorded.isEmpty { throw RecordingError(code: .imported(format: nil), path: path) }
    self.started = started
    runId = event.runId
    isScrubbed = event.data[RunStarted.scrubbedFromKey] != nil
    state.lookahead = event
    state.lastShared = started.parent.flatMap(Self.lastShared)
    state.breaksAtFork = !(started.parent?.inputs.isEmpty ?? true)
    try state.advance()
    self.state = Mutex(state)
  }

  /// The last event that a fork did not make itself: a result that was put in the place of the parent's
  /// comes behind what both share. `nil` for a run that is no fork.
  static func lastShared(of parent: ParentRun) -> Int? {
    guard parent.relation == "fork", parent.seq < .max else { return nil }
    return parent.edit["result"] == nil ? parent.seq : parent.seq + 1
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

  /// Goes on behind the end of this session, once all of it was read. Its events are given out by the
  /// same means then, numbered on.
  ///
  /// - Returns: what stands between; `nil` where the log ends with this session, or where what follows
  ///   is nothing that may: then ``stray`` has it.
  /// - Throws: `LogError` where the log is damaged there.
  func openNextSession() throws -> SessionBreak? {
    try state.withLock { state in
      let found = try state.takeBreak()
      if found?.goesOn ?? false { try state.beginSession() }
      return found
    }
  }

  /// Reads on to the end of this session without giving it out.
  ///
  /// - Returns: how many events stand before what follows.
  /// - Throws: as ``step(holding:)``.
  func skipSession() throws -> Int {
    try state.withLock { state in
      while state.current != nil { try state.advance() }
      return state.position
    }
  }

  /// An event behind a stop that may not stand there; `nil` while none was found.
  var stray: Event? { state.withLock { $0.stray } }

  /// The first place, as far as the log was read, where it says of its run otherwise than its events;
  /// reading goes on behind it. `nil` where there is none, or nobody asked for it.
  var contradiction: LogReader.Contradiction? { state.withLock { $0.reader.contradiction } }

  /// The number of events before the first one of this session.
  var sessionStart: Int { state.withLock { $0.sessionStart } }

  /// The step that reading has come to; `nil` behind the end.
  public var current: RecordedStep? { state.withLock { $0.current } }

  /// How the recording ends; `nil` while that has not been read.
  public var ending: RecordingEnd? { state.withLock { $0.ending } }
}

extension RecordedSteps {
  private struct State {
    var reader: LogReader
    let path: String
    let isAcrossSessions: Bool
    /// The first event of the next step.
    var lookahead: Event?
    var current: RecordedStep?
    var ending: RecordingEnd?
    var nextSeq = 0
    var stray: Event?
    var sessionStart = 0
    /// Of a fork; see ``RecordedSteps/lastShared(of:)``.
    var lastShared: Int?
    /// Whether a session ends where the fork begins in any case.
    var breaksAtFork = false
    /// How many events stand before the next one that is read.
    var position: Int { nextSeq - (unread == nil ? 0 : 1) }
    /// The calls that were ruled on and have no result so far.
    private var open: Set<String> = []
    /// Whether the session ends where a fork begins.
    private var isAtFork = false
    /// An event that was read and not given out yet.
    private var unread: Event?
    /// The events of the last step that sessions before this one made.
    private var earlier: [Event] = []

    init(reader: LogReader, path: String, isAcrossSessions: Bool) {
      self.reader = reader
      self.path = path
      self.isAcrossSessions = isAcrossSessions
    }

    /// The next event of the log that is in its place; else `nil`, and `ending` says why.
    private mutating func read() throws -> Event? {
      if let event = unread {
        unread = nil
        return event
      }
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
      nextSeq += 1
      note(event)
      return event
    }

    private mutating func note(_ event: Event) {
      guard lastShared.map({ event.seq <= $0 }) ?? false,
        let callId = event.data["callId"]?.stringValue
      else { return }
      switch event.type {
      case .policyDecision: open.insert(callId)
      case .toolResult: open.remove(callId)
      default: break
      }
    }

    /// The next event that may be given out.
    mutating func next() throws -> Event? {
      guard ending == nil, let event = try read() else { return nil }
      guard !isAcrossSessions else {
        guard event.type == .stop else { return event }
        // The last one ends the run; any other was a pause.
        unread = try read()
        if unread == nil { ending = .stop }
        return event
      }
      guard event.type != .runResumed else {
        unread = event
        ending = .resumed(event.seq)
        return nil
      }
      // What both share is what the parent did until then; what the fork makes of a call that it finds
      // open, it makes as a run that goes on.
      if let lastShared, event.seq == lastShared + 1, !open.isEmpty || breaksAtFork {
        (open, breaksAtFork) = ([], false)
        unread = event
        isAtFork = true
        ending = .unfinished(tornAt: nil)
        return nil
      }
      if event.type == .stop { ending = .stop }
      return event
    }

    /// Takes in the next step.
    mutating func advance() throws {
      let start = current.map { $0.start + $0.events.count } ?? sessionStart
      keepForNextSession()
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
        step: first.step, start: start,
        behind: earlier.last?.step == first.step ? earlier : [], events: events,
        ending: lookahead == nil ? ending : nil)
    }

    /// Only what a step that goes on in the next session is told by: its beginning.
    private mutating func keepForNextSession() {
      guard let current else { return }
      if earlier.last?.step != current.step { earlier = [] }
      earlier += current.events.filter {
        [.contextBuilt, .modelResult, .decision, .toolStarted].contains($0.type)
      }
    }

    // MARK: Sessions

    /// What stands between this session and the next one; `nil` where nothing does.
    mutating func takeBreak() throws -> SessionBreak? {
      while current != nil { try advance() }
      if isAtFork {
        isAtFork = false
        return SessionBreak(events: [], isFork: true)
      }
      let events = try takeEvents()
      return events.isEmpty ? nil : SessionBreak(events: events)
    }

    private mutating func takeEvents() throws -> [Event] {
      switch ending {
      case .stop?, .resumed?: break
      default: return []
      }
      let end = ending
      ending = nil
      var events: [Event] = []
      while let event = try read() {
        guard SessionBreak.mayHold(event) else {
          stray = event
          break
        }
        events.append(event)
        if event.type == .runResumed { break }
      }
      // A log that ends with the words of people has not gone on.
      if case .missing? = ending { return stray == nil ? events : [] }
      if events.last?.type != .runResumed { ending = end }
      return stray == nil ? events : []
    }

    mutating func beginSession() throws {
      // An event that was read ahead is the session's first.
      sessionStart = unread?.seq ?? nextSeq
      ending = nil
      current = nil
      lookahead = try next()
      // A session in which nothing happened has no step.
      if lookahead != nil { try advance() }
    }
  }
}

/// Why a log cannot serve as a recording that a run is made again from.
public struct RecordingError: Error, Hashable, Sendable {
  /// What is wrong; cases may be added.
  public enum Code: Hashable, Sendable {
    /// The log holds no event.
    case empty
    /// The log does not begin with `run_started`.
    case noStart
    /// Its `run_started` is not what the format promises.
    case unreadableStart(PayloadError)
    /// It was imported, from this format where it says so: the runtime that made it is not ours.
    case imported(format: String?)
    /// It is a pipeline's, which has no steps.
    case pipeline
    /// A step that holds more than is kept in memory.
    case stepTooLarge(Int)
    /// What a person said in this step is cut or lost, so that nobody can say it again.
    case wordsLost(step: Int)
    /// An event from which a resumed run would have to go on is not what its type promises.
    case unreadable(seq: Int, type: String, PayloadError)
  }

  /// What is wrong.
  public var code: Code
  /// The log, as the caller named it.
  public var path: String
}

extension RecordingError: CustomStringConvertible {
  public var description: String {
    switch code {
    case .empty:
      "\(path): the log holds no event: its process died before the start of the run was in it. "
        + "Move the file away and record the run anew."
    case .noStart:
      "\(path): the log does not begin with the start of a run, so it cannot be run again."
    case .unreadableStart(let fault): "\(path): event 0 (run_started): \(fault)."
    case .imported(let format):
      "\(path): the log was imported\(format.map { " from \($0)" } ?? ""): it holds no context "
        + "packets and replies of this runtime, so it cannot be run again. "
        + (format == "proxy"
          ? "Have its command answered from it with `record --proxy --replay`."
          : "Look at it with replay --step or show.")
    case .pipeline:
      "\(path): the log is a pipeline's, which has no steps of its own: resume goes on with it, rollback goes back in "
        + "it, replay --reexecute makes it again; the log of a task's run beside it has steps (show names it)."
    case .unreadable(let seq, let type, let fault): "\(path): event \(seq) (\(type)): \(fault)."
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
  fileprivate var approximateBytes: Int {
    guard type == .contextBuilt else { return 256 + JSONValue.object(data).roughBytes }
    // The items of a packet are held besides, and mostly those of the one before.
    var (data, items) = (data, 0)
    for pointer in ContextPacket.listPointers {
      items += JSONValue.object(data)[pointer]?.arrayValue?.count ?? 0
    }
    for key in ContextPacket.listPointers.compactMap(\.tokens.first) { data[key] = nil }
    return 256 + 48 * items + JSONValue.object(data).roughBytes
  }
}
