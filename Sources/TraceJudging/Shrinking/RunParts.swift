import AgentTrace

/// A run as a list of parts of which each can be left out, and the run be put together without it.
///
/// A part is a call with all that became of it (verdict, approval, attempts, result, notes), a turn of the
/// model without calls (an answer, a question with its reply, an invalid decision), a pause with the
/// resume behind it, or a single event beside these. A decision, its context and the model's reply stay as
/// long as one of its calls does.
struct RunParts {
  /// Something that is there whole or not at all.
  struct Part {
    /// Which step it belongs to.
    var step: Int
    /// The places of its events, in order.
    var events: [Int]
    /// The decision that proposes it and its place there, where it is a call.
    var call: (decision: Int, place: Int)?
    /// Where it is a call, its id.
    var callId: String?
    /// Whether it is a turn of the model, without calls.
    var isTurn = false
  }

  /// Who an event stays with.
  private enum Owner {
    /// It is always there.
    case run
    case part(Int)
    /// It is there as long as one of the decision's calls is.
    case decision(Int)
  }

  /// The run as it was recorded.
  let events: [Event]
  private(set) var parts: [Part] = []
  private var owners: [Owner]
  private var partsOfDecision: [Int: [Int]] = [:]
  /// The place of the stop that ends the run; `nil` where it has none.
  let lastStop: Int?

  init(_ events: [Event]) {
    self.events = events
    owners = Array(repeating: .run, count: events.count)
    lastStop = events.lastIndex { $0.type == .stop }
    gather()
  }

  private mutating func gather() {
    var partOfCall: [String: Int] = [:]
    // For the decision that comes of them; where none does, they belong to how the run ended.
    var waiting: [Int] = []
    var question: Int?
    for (index, event) in events.enumerated() {
      switch event.type {
      case .runStarted: continue
      case .contextBuilt, .modelResult: waiting.append(index)
      case .decision:
        question = nil
        add(decision: index, waiting, &partOfCall)
        waiting = []
        if event.data["kind"] == "ask_human" { question = parts.count - 1 }
      case .humanReplied:
        if let question { take(index, into: question) } else { add(index) }
        question = nil
      case .stop:
        if index == lastStop { continue }
        let resumed = events[index...].firstIndex { $0.type == .runResumed }
        add(index)
        if let resumed { take(resumed, into: parts.count - 1) }
      case .runResumed:
        if case .run = owners[index] { add(index) }
      default:
        if let callId = event.data["callId"]?.stringValue, let part = partOfCall[callId] {
          take(index, into: part)
        } else {
          add(index)
        }
      }
    }
  }

  private mutating func add(
    decision index: Int, _ before: [Int], _ partOfCall: inout [String: Int]
  ) {
    let step = events[index].step
    let calls = (try? DecisionPayload(decoding: events[index].data))?.decision
    guard case .tool(let proposed)? = calls, !proposed.isEmpty else {
      parts.append(Part(step: step, events: [], isTurn: true))
      for place in before + [index] { take(place, into: parts.count - 1) }
      return
    }
    for (place, call) in proposed.enumerated() {
      partOfCall[call.callId] = parts.count
      partsOfDecision[index, default: []].append(parts.count)
      parts.append(Part(step: step, events: [], call: (index, place), callId: call.callId))
    }
    for place in before + [index] { owners[place] = .decision(index) }
  }

  private mutating func add(_ index: Int) {
    parts.append(Part(step: events[index].step, events: []))
    take(index, into: parts.count - 1)
  }

  private mutating func take(_ index: Int, into part: Int) {
    parts[part].events.append(index)
    owners[index] = .part(part)
  }

  /// How many of these parts are calls.
  func calls(among parts: [Int]) -> Int { parts.count { self.parts[$0].call != nil } }

  /// The run with these parts alone, and where each of its events stood.
  func run(of parts: [Int]) -> (events: [Event], places: [Int]) {
    var isKept = Array(repeating: false, count: self.parts.count)
    for part in parts { isKept[part] = true }
    var (kept, places): ([Event], [Int]) = ([], [])
    for index in events.indices {
      var event = events[index]
      switch owners[index] {
      case .run: break
      case .part(let part): guard isKept[part] else { continue }
      case .decision(let decision):
        let calls = partsOfDecision[decision] ?? []
        guard calls.contains(where: { isKept[$0] }) else { continue }
        if index == decision, let list = event.data["calls"]?.arrayValue {
          event.data["calls"] = .array(
            zip(calls, list).filter { isKept[$0.0] }.map(\.1))
        }
      }
      event.seq = kept.count
      kept.append(event)
      places.append(index)
    }
    return (kept, places)
  }
}
