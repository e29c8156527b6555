public import AgentTrace
import FilePaths
import Glibc
import TraceReplaying
public import TraceStorage

/// A place in a recorded run: one event is selected, and one can go on from there in either direction.
///
/// Holds a window of events around the selected one and a few states within it. What is outside is
/// read again from the checkpoint before it, so that memory does not grow with the log. Follows a log
/// that is still being written. Where a log is damaged or torn, the run ends before that place, and
/// ``note`` says so.
///
/// Not for several threads at once.
public final class RunCursor {
  /// One event of the window.
  struct Slot {
    var seq: Int
    var step: Int
    var type: EventType
    /// What of the event fits into one row; kept when the event itself is not.
    var row: EventRow
    /// Bytes of the event in memory, roughly.
    var bytes: Int
    var event: Event?
  }

  /// The log, as it was asked for.
  public let path: String
  /// How many events around the selected one are wanted in the window, for a screen to show.
  public private(set) var margin = 0
  /// Events of a window in memory take about so much together; the selected one is kept in any case.
  private let budgetBytes = 3 << 20
  private let slotLimit = 512
  /// A state is kept after every so many events of the window.
  private let stateInterval = 16

  private var reader: LogReader?
  private(set) var slots: [Slot] = []
  /// What the events that the slots hold take together: asked behind each event that is read.
  private var heldBytes = 0
  private var index = 0
  /// States after some events of the window, in the order of their numbers.
  private var states: [(seq: Int, state: AgentState)] = []
  /// The state that was asked for last: the next one asked for is often not far behind it.
  private var recent: (seq: Int, state: AgentState)?
  /// The state behind the last slot.
  private var readState = AgentState()
  /// What keeps the reader from going on; `nil` where nothing did.
  private var fault: LogError?
  /// Whether the last event was selected when a file that had changed could not be read yet.
  private var wasAtEnd = false
  /// How the log ends, once that was seen.
  public private(set) var ending: LogReader.Ending?
  private var stamp: LogFileState?
  private var end: (seq: Int, step: Int)?
  /// Where a pipeline stood behind some of its events, in their order.
  var pipelineStates: [(seq: Int, state: PipelineState)] = []
  /// Whether the log is a pipeline's.
  private(set) lazy var isPipeline = (try? event(at: 0))?.beginsPipeline ?? false
  /// First events of steps that had to be looked for.
  private var stepStarts: [Int: Int] = [:]
  /// The path of the file that is read: the one asked for, or with `.open`.
  private var filePath: String

  /// Opens a log at its first event.
  ///
  /// - Throws: `LogError` where the file is not there or holds no event that can be read.
  public init(path: String) throws(LogError) {
    self.path = path
    filePath = path
    stamp = LogFileState(path: path)
    try fill(around: 0)
    guard !slots.isEmpty else {
      throw fault
        ?? LogError(.badLine("the log holds no event"), path: path, offset: 0, intactEvents: 0)
    }
  }

  // MARK: What is selected

  private var slot: Slot { slots[index] }

  /// The number of the selected event.
  public var seq: Int { slot.seq }

  /// The step of the selected event.
  public var step: Int { slot.step }

  /// The selected event.
  public var event: Event {
    if let event = slot.event { return event }
    // The window gave it up for larger ones.
    _ = try? load(around: seq)
    return slot.event
      ?? Event(seq: slot.seq, step: slot.step, type: slot.type, runId: "", data: [:])
  }

  /// The state after the selected event.
  ///
  /// - Complexity: a few events to fold, or what stands between it and the checkpoint before it.
  public var state: AgentState {
    if let state = stateInWindow() { return state }
    _ = try? load(around: seq)
    return stateInWindow() ?? readState
  }

  private func stateInWindow() -> AgentState? {
    var known = states.last { $0.seq <= seq }
    if let recent, recent.seq <= seq, recent.seq > known?.seq ?? -2 { known = recent }
    guard var known else { return nil }
    for slot in slots[...index] where slot.seq > known.seq {
      guard let event = slot.event else { return nil }
      known.state.apply(event)
    }
    recent = (seq, known.state)
    return known.state
  }

  /// What there is to be said of the log's end; `nil` for a log that is whole, as far as is known.
  public var note: String? {
    if let fault { return "\(fault)" }
    switch ending {
    case .unfinished: return "the log is unfinished: a writer holds it or left it behind"
    case .torn(let offset): return "the log is unfinished and its end is torn at byte \(offset)"
    case .closed, nil: return nil
    }
  }

  /// Whether damage ends the run before the log does.
  public var isDamaged: Bool { fault != nil }

  /// Whether the selected event is the last that could be read when the end was last seen.
  public var isAtEnd: Bool {
    index == slots.count - 1 && (ending != nil || fault != nil || wasAtEnd)
  }

  // MARK: Going

  /// Goes to the next event; false at the last.
  public func next() throws -> Bool {
    if index + 1 >= slots.count { try readOn() }
    guard index + 1 < slots.count else { return false }
    index += 1
    if slots.count - index <= margin { try readOn(margin) }
    trim()
    return true
  }

  /// Goes to the event before; false at the first.
  public func back() throws -> Bool {
    if index == 0, slots[0].seq > 0 { try load(around: slots[0].seq) }
    guard index > 0 else { return false }
    index -= 1
    if index < margin, slots[0].seq > 0 { try load(around: seq) }
    return true
  }

  /// Goes to an event. Where the log has a hole there, to the first event behind it.
  ///
  /// - Throws: `ReplayError` where the log does not hold it; the selected event stays then.
  public func go(to seq: Int) throws {
    if let place = slots.firstIndex(where: { $0.seq >= seq }), slots[0].seq <= seq || place > 0,
      slots[place].event != nil,
      place >= margin || slots[0].seq == 0
    {
      index = place
      if slots.count - index <= margin { try readOn(margin) }
      return
    }
    let here = self.seq
    guard seq >= 0, try load(around: seq), let last = slots.last, last.seq >= seq else {
      if self.seq != here { try load(around: here) }
      throw ReplayError(code: .noSuchEvent(seq, last: try last().seq), path: path)
    }
  }

  /// Has so many events around the selected one in the window from now on, where the log holds them.
  public func widen(to margin: Int) {
    let grows = margin > self.margin
    self.margin = margin
    if grows { _ = try? load(around: seq) }
  }

  /// Goes to the first event of a step.
  ///
  /// - Throws: `ReplayError` where the log does not hold the step; the selected event stays then.
  public func go(toStep step: Int) throws {
    guard let seq = try firstSeq(ofStep: step) else {
      throw ReplayError(code: .noSuchStep(step, last: try last().step), path: path)
    }
    try go(to: seq)
  }

  /// Goes to the last event that can be read.
  public func goToEnd() throws { try go(to: last().seq) }

  /// Goes to the first event of the next step that has any; false where there is none.
  public func nextStep() throws -> Bool {
    let (seq, step) = (self.seq, self.step)
    // A step is rarely longer than the window; beyond that its end is searched for.
    for _ in 0..<slotLimit {
      guard try next() else {
        try go(to: seq)
        return false
      }
      if self.step > step { return true }
    }
    var reader = try self.reader(before: self.seq)
    while let head = try head(of: &reader) {
      guard case .event(let found, let number, _) = head, number > step, found > seq else {
        continue
      }
      try go(to: found)
      return true
    }
    try go(to: seq)
    return false
  }

  /// Goes to the first event of this step, or from there to that of the step before; false at the
  /// first event of all.
  public func previousStep() throws -> Bool {
    let (here, step) = (seq, step)
    if let first = try firstSeq(ofStep: step), first < here {
      try go(to: first)
      return true
    }
    guard try back() else { return false }
    if let first = try firstSeq(ofStep: self.step), first < seq { try go(to: first) }
    return true
  }

  /// The number and the step of the last event that can be read.
  ///
  /// - Complexity: for a closed log a small read for each of its blocks, and what stands behind the
  ///   last checkpoint; known from then on.
  public func last() throws -> (seq: Int, step: Int) {
    if let end { return end }
    var found = (seq: seq, step: step)
    var reader = try self.reader(before: .max)
    while let head = try head(of: &reader) {
      if case .event(let seq, let step, _) = head { found = (seq, step) }
    }
    end = found
    return found
  }

  /// The first event of a step; `nil` where there is none.
  func firstSeq(ofStep step: Int) throws -> Int? {
    if slots[0].step < step || slots[0].seq == 0,
      let slot = slots.first(where: { $0.step >= step })
    {
      return slot.step == step ? slot.seq : nil
    }
    if let known = stepStarts[step] { return known }
    var reader = try self.reader(beforeStep: step)
    while let head = try head(of: &reader) {
      guard case .event(let seq, let number, _) = head, number >= step else { continue }
      guard number == step else { return nil }
      if stepStarts.count >= 1_000 { stepStarts = [:] }
      stepStarts[step] = seq
      return seq
    }
    return nil
  }

  // MARK: A log that is being written

  /// Looks whether the log has changed, and takes up what came; true where it has.
  ///
  /// - Complexity: nothing but a look at the file where it has not changed.
  public func refresh() -> Bool {
    let now = LogFileState(path: path)
    guard now != stamp else { return false }
    stamp = now
    end = nil
    stepStarts = [:]
    let old = slots[index]
    // What follows the end goes on to do so once the file has settled.
    let wasAtEnd = isAtEnd
    if (try? load(around: old.seq)) == true, seq == old.seq { return true }
    self.wasAtEnd = wasAtEnd
    // A writer is between two names, or cuts a torn end: what was seen stays until it has settled.
    if !slots.contains(where: { $0.seq == old.seq }) {
      hold([old])
      (index, reader) = (0, nil)
    }
    stamp = nil
    return false
  }

  /// Whether the log may still grow: it was not closed when its end was last seen.
  public var mayGrow: Bool {
    ending.map { $0 != .closed } ?? filePath.hasSuffix(LogFormat.openSuffix)
  }

  // MARK: The window

  /// Reads another window. Where the log ends before the event, the last one is selected; where nothing
  /// near it can be read, the one that was selected stays.
  ///
  /// The window before is given up first: two of them would take twice the memory.
  ///
  /// - Returns: Whether something near the event could be read.
  @discardableResult
  private func load(around seq: Int) throws(LogError) -> Bool {
    let old = slots.indices.contains(index) ? slots[index] : nil
    do { try fill(around: seq) } catch {
      try restore(old)
      throw error
    }
    guard slots.isEmpty else { return true }
    try restore(old)
    return false
  }

  /// Goes back to an event that was read before; it alone is left where it cannot be read again.
  private func restore(_ old: Slot?) throws(LogError) {
    guard let old else { return }
    do { try fill(around: old.seq) } catch {
      if slots.isEmpty { hold([old]) }
      throw error
    }
    if slots.isEmpty { hold([old]) }
  }

  /// Has these slots in the window and no others.
  private func hold(_ kept: [Slot]) {
    slots = kept
    heldBytes = kept.reduce(0) { $0 + ($1.event == nil ? 0 : $1.bytes) }
  }

  private func fill(around seq: Int) throws(LogError) {
    let before = max(margin, 64)
    let first = max(0, seq - before)
    self.reader = nil
    hold([])
    states = []
    recent = nil
    index = 0
    var reader = try self.reader(before: first)
    filePath = reader.path
    readState = reader.startState
    fault = nil
    ending = nil
    wasAtEnd = false
    while let head = try step(&reader) {
      guard case .event(let number, _, _) = head else { continue }
      guard number >= first else {
        guard read({ () throws(LogError) in try reader.fold(into: &readState) }) else { break }
        continue
      }
      // The state before the window is the one to begin with.
      if slots.isEmpty { states.append((number - 1, readState)) }
      guard take(&reader) else { break }
      if number < seq {
        index = slots.count
      } else if slots.count == index + 1 {
        keepState()
      }
      shrink()
      if number >= seq + margin { break }
    }
    index = max(0, min(index, slots.count - 1))
    self.reader = ending == nil && fault == nil ? reader : nil
  }

  /// Reads further events behind the window; at most so many.
  private func readOn(_ count: Int = 1) throws(LogError) {
    guard ending == nil, fault == nil, let last = slots.last else { return }
    guard var reader else {
      try load(around: last.seq)
      return
    }
    var left = count
    while left > 0, let head = try step(&reader) {
      guard case .event = head else { continue }
      guard take(&reader) else { break }
      left -= 1
      shrink()
    }
    self.reader = ending == nil && fault == nil ? reader : nil
  }

  /// Steps a reader on; `nil` at the end of what can be read, of which it takes note.
  private func step(_ reader: inout LogReader) throws(LogError) -> LineHead? {
    do {
      let head = try reader.advance()
      if head == nil { ending = reader.ending }
      return head
    } catch {
      guard error.isDamage else { throw error }
      fault = error
      return nil
    }
  }

  /// Whether reading a line went well; takes note of what is wrong with it.
  private func read(_ body: () throws(LogError) -> Void) -> Bool {
    do {
      try body()
      return true
    } catch {
      fault = error
      return false
    }
  }

  /// Takes in the event that the reader stands on; false where it cannot be read.
  private func take(_ reader: inout LogReader) -> Bool {
    var event: Event?
    guard
      read({ () throws(LogError) in
        guard case .event(let found) = try reader.line() else { return }
        try reader.fold(into: &readState)
        event = found
      }), let event
    else { return false }
    let bytes = event.approximateBytes
    slots.append(
      Slot(
        seq: event.seq, step: event.step, type: event.type, row: EventRow(event), bytes: bytes,
        event: event))
    heldBytes += bytes
    if event.seq.isMultiple(of: stateInterval) { keepState() }
    return true
  }

  private func keepState() {
    guard let seq = slots.last?.seq, states.last.map({ $0.seq < seq }) ?? true else { return }
    states.append((seq, readState))
  }

  /// Gives up events beyond the budget, those first that are farthest from the selected one.
  private func shrink() {
    guard heldBytes > budgetBytes else { return }
    for place in slots.indices where heldBytes > budgetBytes && place != index {
      guard place < index || place > index + 1, place < slots.count - 1,
        slots[place].event != nil
      else { continue }
      slots[place].event = nil
      heldBytes -= slots[place].bytes
    }
  }

  /// Forgets what stands far before the selected event.
  private func trim() {
    guard slots.count > slotLimit else { return }
    let count = min(slots.count - slotLimit / 2, max(0, index - slotLimit / 4))
    guard count > 0, let place = states.lastIndex(where: { $0.seq < slots[count].seq }) else {
      return
    }
    // The states that stay begin with one that stands before the first event that stays.
    let kept = slots.firstIndex { $0.seq > states[place].seq } ?? 0
    guard kept > 0 else { return }
    hold(Array(slots.dropFirst(kept)))
    index -= kept
    states.removeFirst(place)
  }

  // MARK: Reading beside the window

  /// A reader at the checkpoint before an event; where that cannot be had, at the beginning.
  func reader(before seq: Int) throws(LogError) -> LogReader {
    do {
      return try LogReader(
        path: path, startingAtCheckpointBefore: max(0, seq), options: Self.reading)
    } catch {
      guard error.isDamage else { throw error }
      return try LogReader(path: path, options: Self.reading)
    }
  }

  private func reader(beforeStep step: Int) throws(LogError) -> LogReader {
    do {
      return try LogReader(
        path: path, startingAtCheckpointBeforeStep: step, options: Self.reading)
    } catch {
      guard error.isDamage else { throw error }
      return try LogReader(path: path, options: Self.reading)
    }
  }

  /// There are two readers at times, one for the window and one beside it.
  private static let reading = LogReader.Options(cacheBytes: 2 << 20)

  /// The next line's head; damage ends the reading like the end of the log.
  func head(of reader: inout LogReader) throws(LogError) -> LineHead? {
    do { return try reader.advance() } catch {
      guard error.isDamage else { throw error }
      return nil
    }
  }
}

/// What changes when a log does: also its name, from `.open` to the plain one.
struct LogFileState: Equatable {
  var device, inode: UInt64
  var size, seconds, nanoseconds: Int

  init?(path: String) {
    var found = fileStatus(path)
    if found == nil, path.hasSuffix(LogFormat.suffix) {
      found = fileStatus(path + LogFormat.openSuffix)
    }
    guard let status = found else { return nil }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int(status.st_size)
    seconds = status.st_mtim.tv_sec
    nanoseconds = status.st_mtim.tv_nsec
  }
}
