import AgentTrace
import TraceJudging
import TraceStorage

/// The row of a tree of runs of which some went side by side, and the other rows that it may as well have been.
///
/// What is known is when what began and ended by the logs: each run's own events keep their order, and those of a run
/// that another began stand behind the event that began it and before the one that ended it. Everything else may have
/// been in any order.
struct SideBySideRuns {
  /// The ways in which the events may stand that something hangs on.
  enum Orders {
    /// All are one.
    case alike
    /// Each, as the places of the events in the row.
    case each([[Int32]])
    /// More than are tried, or some of the events may be missing; with the runs of which, and of those below, that may
    /// be so.
    case unknown(Set<String>)
  }

  /// How many events a row may have, in how many ways it is told, and how many events all of these hold: beyond that
  /// nobody tries.
  private static let (eventLimit, orderLimit, workLimit) = (20_000, 2_048, 500_000)
  /// How many events are kept, and how often a run is looked at, to find these ways.
  private static let (keptLimit, lookLimit) = (4_000_000, 20_000_000)

  private struct Run {
    var runId = ""
    /// The places of its events in the row.
    var events: [Int] = []
    /// Where in its parent the event stands that began it; `nil` for the root.
    var parent: (run: Int, place: Int)?
    /// The runs that have to be over before one of its events, by the place of that among its own.
    var waits: [Int: [Int]] = [:]
    /// The runs that it began and whose end is not told yet, by what names them.
    var open: [String: [Int]] = [:]
    /// Where in it the last event stands that began something, by what names that.
    var begun: [String: Int] = [:]
    /// It, and all runs below it.
    var tree: [Int] = []
    /// Tells what its own log says; `nil` for the root.
    var below: RunBelow?
  }

  private var events: [Event] = []
  private var runs: [Run] = []
  private var numbers: [String: Int] = [:]
  private var calls = RowCalls()
  private var lacksEvents = false

  /// Reads a tree; `nil` where it is too large to be told in other ways.
  ///
  /// - Throws: `LogError` where a log of it is damaged.
  init?(path: String) throws(LogError) {
    var reader = try RunTreeReader(path: path)
    while let event = try reader.next()?.event {
      guard events.count < Self.eventLimit else { return nil }
      put(event)
    }
    for run in runs.indices.reversed() {
      runs[run].tree.append(run)
      if let parent = runs[run].parent { runs[parent.run].tree += runs[run].tree }
    }
  }

  /// Adds the next event of the row.
  private mutating func put(_ event: Event) {
    var event = event
    lacksEvents = lacksEvents || event.seq != events.count || event.type == .unseen
    calls.apply(event)
    let below = RunBelow(beginningWith: event)
    guard let run = numbers[event.runId] ?? begin(below, event) else {
      lacksEvents = true
      return
    }
    let place = runs[run].events.count
    runs[run].events.append(events.count)
    note(event, at: place, of: run)
    // No order is one of what a model was shown.
    if event.type == .contextBuilt || event.type == .modelResult { event.data = [:] }
    events.append(event)
  }

  /// Adds the run that begins with an event; `nil` where nobody knows what began it.
  private mutating func begin(_ below: RunBelow?, _ event: Event) -> Int? {
    let number = runs.count
    guard let below else {
      guard runs.isEmpty else { return nil }
      numbers[event.runId] = number
      runs.append(Run(runId: event.runId))
      return number
    }
    // A call is named by its id, an attempt at a task by its run.
    let name = event.data[TreeEvents.callKey]?.stringValue.map(Self.name(ofCall:))
    let key = name ?? Self.name(ofRun: event.runId)
    guard let parent = numbers[below.parentRunId], let place = runs[parent].begun[key] else {
      return nil
    }
    numbers[event.runId] = number
    runs.append(Run(runId: event.runId, parent: (parent, place), below: below))
    if runs[parent].open[key] != nil {
      runs[parent].open[key]?.append(number)
    } else {
      // Its end is told already.
      runs[parent].waits[runs[parent].events.count, default: []].append(number)
    }
    return number
  }

  private static func name(ofCall callId: String) -> String { "call \(callId)" }
  private static func name(ofRun runId: String) -> String { "run \(runId)" }
  private static func name(ofTask event: Event) -> String? {
    (event.data["task"]?.stringValue).map {
      "task \(TaskNode($0, element: event.data["element"]?.intValue))"
    }
  }

  /// Takes in what an event of a run says of the beginning or the end of another.
  private mutating func note(_ event: Event, at place: Int, of run: Int) {
    if event.type == .toolStarted || event.type == .toolResult,
      let callId = event.data["callId"]?.stringValue
    {
      let name = Self.name(ofCall: callId)
      end(name, at: place, of: run)
      if event.type == .toolStarted { begin(name, at: place, of: run) }
    }
    // In the row of a greater tree what a pipeline says stands under another type.
    let isHidden = event.type == TreeEvents.ownType
    let own = isHidden ? runs[run].below?.event(event) ?? event : event
    switch own.type {
    case .taskStarted:
      guard let runId = event.data["run"]?["runId"]?.stringValue,
        let task = Self.name(ofTask: event)
      else { return }
      let name = Self.name(ofRun: runId)
      begin(name, at: place, of: run)
      runs[run].begun[task] = place
      namesOfTasks[Key(run: run, task: task)] = name
    case .taskFinished, .taskFailed:
      guard let task = Self.name(ofTask: event),
        let name = namesOfTasks.removeValue(forKey: Key(run: run, task: task))
      else { return }
      end(name, at: place, of: run)
    default: break
    }
  }

  private struct Key: Hashable {
    var run: Int
    var task: String
  }

  /// The runs that attempts at tasks are which are under way.
  private var namesOfTasks: [Key: String] = [:]

  private mutating func begin(_ name: String, at place: Int, of run: Int) {
    runs[run].begun[name] = place
    runs[run].open[name] = []
  }

  private mutating func end(_ name: String, at place: Int, of run: Int) {
    guard let over = runs[run].open.removeValue(forKey: name), !over.isEmpty else { return }
    runs[run].waits[place, default: []] += over
  }

  // MARK: Orders

  /// What is told of a row that is on its way.
  private struct Told {
    /// How many events of each run.
    var counts: [Int]
    var order: [Int32] = []
  }

  /// The ways in which the events may stand that something expected speaks of.
  func orders(of expectation: OrderedExpectation) -> Orders {
    let isPlaced = events.map { expectation.isPlaced($0, in: calls) }
    guard isPlaced.contains(true) else { return .alike }
    var found: [[Int32]] = []
    var left = [Told(counts: runs.map { _ in 0 })]
    var (kept, looks) = (0, 0)
    while var told = left.popLast() {
      let next = advance(&told, Array(runs.indices), isPlaced, &looks)
      if next.isEmpty { found.append(told.order) }
      kept += next.count * told.order.count
      guard found.count + left.count + next.count <= Self.orderLimit, kept <= Self.keptLimit,
        looks <= Self.lookLimit
      else { return .unknown(unordered(isPlaced)) }
      for run in next {
        var other = told
        tell(run, &other)
        left.append(other)
      }
    }
    if found.count < 2 { return .alike }
    guard found.count * events.count <= Self.workLimit, !lacksEvents else {
      return .unknown(unordered(isPlaced))
    }
    return .each(found)
  }

  /// The runs that have, with those below them, more than one order.
  private func unordered(_ isPlaced: [Bool]) -> Set<String> {
    guard !lacksEvents else { return Set(runs.map(\.runId)) }
    var looks = 0
    return Set(
      runs.filter { run in
        var told = Told(counts: runs.map(\.events.count))
        for one in run.tree { told.counts[one] = 0 }
        if let parent = run.parent { told.counts[parent.run] = runs[parent.run].events.count }
        let next = advance(&told, run.tree.sorted(), isPlaced, &looks)
        return !next.isEmpty || looks > Self.lookLimit
      }.map(\.runId))
  }

  /// Tells whatever comes next in each row; the runs of which an event may come next whose order matters, where there
  /// are several.
  private func advance(
    _ told: inout Told, _ some: [Int], _ isPlaced: [Bool], _ looks: inout Int
  ) -> [Int] {
    while true {
      looks += some.count
      guard looks <= Self.lookLimit else { return [] }
      var (isStill, next): (Bool, [Int]) = (true, [])
      for run in some {
        while mayTell(run, told) {
          if isPlaced[runs[run].events[told.counts[run]]] {
            next.append(run)
            break
          }
          tell(run, &told)
          isStill = false
        }
      }
      guard isStill else { continue }
      guard next.count == 1 else { return next }
      tell(next[0], &told)
    }
  }

  private func tell(_ run: Int, _ told: inout Told) {
    told.order.append(Int32(runs[run].events[told.counts[run]]))
    told.counts[run] += 1
  }

  /// Whether the next event of a run may be the row's next.
  private func mayTell(_ run: Int, _ told: Told) -> Bool {
    let place = told.counts[run]
    guard place < runs[run].events.count else { return false }
    if place == 0, let parent = runs[run].parent, told.counts[parent.run] <= parent.place {
      return false
    }
    return runs[run].waits[place]?.allSatisfy { child in
      runs[child].tree.allSatisfy { told.counts[$0] == runs[$0].events.count }
    } ?? true
  }

  // MARK: Rows

  /// The row in which the events stand in an order.
  func row(_ order: [Int32]) -> [Event] {
    var row: [Event] = []
    row.reserveCapacity(order.count)
    for index in order {
      var event = events[Int(index)]
      // Nobody who judges an order looks at them.
      if event.type == .contextBuilt || event.type == .modelResult { continue }
      event.seq = row.count
      row.append(event)
    }
    return row
  }
}
