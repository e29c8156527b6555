import AgentTrace
import TraceMatching

/// Where going on stops.
struct Breakpoint {
  /// What makes an event one to stop at.
  enum Condition {
    /// A decision proposes a call of such a tool.
    case tool(Glob)
    /// A verdict of this kind.
    case verdict(VerdictStatus)
    /// An event of such a type.
    case event(Glob)
    /// The first event of this step.
    case step(Int)
    /// The data of an event match.
    case data(Matcher)
    /// An expectation becomes false.
    case expectation(ExpectationWatch)
  }

  var number: Int
  var condition: Condition
  /// As it was asked for.
  var text: String

  /// Whether an event of this type can be one.
  func mayHit(step: Int, type: EventType) -> Bool {
    switch condition {
    case .tool: type == .decision
    case .verdict: type == .policyDecision
    case .event(let glob): glob.matches(type.rawValue)
    case .step(let number): step == number
    case .data: true
    case .expectation: false
    }
  }

  /// Whether an event is one; an expectation is asked elsewhere.
  ///
  /// - Parameter firstSeq: finds the first event of a step.
  func hits(_ event: Event, firstSeq: (Int) -> Int?) -> Bool {
    guard mayHit(step: event.step, type: event.type) else { return false }
    switch condition {
    case .tool(let glob):
      return (event.data["calls"]?.arrayValue ?? []).contains { call in
        call["name"]?.stringValue.map(glob.matches) ?? false
      }
    case .verdict(let status):
      return event.data["status"]?.stringValue?.hasSameUTF8(as: status.rawValue) ?? false
    case .event: return true
    case .step(let number): return firstSeq(number) == event.seq
    case .data(let matcher): return matcher.matches(.object(event.data)) == true
    case .expectation: return false
    }
  }
}
