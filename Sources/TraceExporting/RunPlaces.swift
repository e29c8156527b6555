import AgentTrace
import TraceStorage

/// Where the spans of a run stand that a call of another is: in the trace of the run at the top, below the span of the call.
public struct SpanPlace: Sendable, Hashable {
  /// The trace of the run at the top.
  var trace: [UInt8]
  /// The span of the call.
  var parent: [UInt8]

  /// - Parameters:
  ///   - callId: the call.
  ///   - runId: the run whose call it is.
  ///   - trace: that run's own.
  init(below callId: String, of runId: String, in trace: [UInt8]) {
    self.trace = trace
    parent = ExportSpan.identifier(["agent-eval", "call", runId, callId], bytes: 8)
  }
}

/// The places of runs that are exported together: what calls another, and what is called, are one trace, and so are a
/// pipeline and the runs of its tasks.
///
/// A run whose caller is not among them is a trace of its own. So is one whose identifier, or whose caller's, several of
/// them have.
public struct RunPlaces: Sendable {
  private struct Call {
    var runId: String
    var callId: String
  }

  /// How deep calls and tasks are followed upwards.
  private static let depthLimit = 64

  /// The runs that were exported, and the call that each of them is; by its identifier.
  private var calls: [String: Call] = [:]

  /// No run has a place but its own.
  public init() {}

  /// Looks for calls among runs; what cannot be read names none.
  ///
  /// - Complexity: reads the first event of each log, and of those that called another among them all.
  public init(of logs: [String]) {
    var paths: [String: String] = [:]
    var counts: [String: Int] = [:]
    var callers: [String: String] = [:]
    for log in logs {
      guard var reader = try? LogReader(path: log, options: .init(keepsLines: false)),
        let first = try? reader.next()
      else { continue }
      counts[first.runId, default: 0] += 1
      paths[first.runId] = log
      let parent = first.data["parent"]
      if ParentRun.isPart(parent) { callers[first.runId] = parent?["runId"]?.stringValue }
    }
    for caller in Set(callers.values) where counts[caller] == 1 {
      guard let path = paths[caller], let parts = try? LogFiles.parts(ofLog: path) else { continue }
      for part in parts where counts[part.runId] == 1 && callers[part.runId] == caller {
        calls[part.runId] = Call(runId: caller, callId: part.callId)
      }
    }
  }

  /// Where the spans of a run stand; `nil` for a trace of its own.
  func place(of runId: String) -> SpanPlace? {
    guard let call = calls[runId] else { return nil }
    var top = call.runId
    for _ in 0..<Self.depthLimit {
      guard let above = calls[top] else { break }
      top = above.runId
    }
    return SpanPlace(below: call.callId, of: call.runId, in: ExportSpan.trace(of: top))
  }
}

extension ExportSpan {
  /// The trace of a run that nothing else called.
  static func trace(of identity: String) -> [UInt8] {
    identifier(["agent-eval", "trace", identity], bytes: 16)
  }
}
