import AgentTrace
public import TraceJudging
import TraceStorage

extension RunFacts {
  /// Reads what the log of a run says beyond its outcome: of a closed log its ends alone. `nil` where
  /// the log cannot be read whole.
  public init?(log path: String) {
    let run = IndexedRun.read(path, at: path, fromSummary: true)
    guard run.status != .damaged, run.status != .unreadable else { return nil }
    self.init()
    totals = run.totals
    elapsedMicroseconds = run.elapsedMicroseconds
    agent = run.start.agent
    model = run.start.model
    guard let head = try? LogHead(path: path, withOnly: Self.subjectKeys) else { return }
    let data = head.started.data
    var parts = ["agent", "model", "policyDigest", "tools", "limits"].map { data[$0] ?? .null }
    // Logs of before they were recorded stay the subject that they are in histories.
    if let models = data["models"] { parts.append(models) }
    subject = Digest(of: .array(parts)).hex
  }

  private static let subjectKeys: [StaticString] = [
    "agent", "limits", "model", "models", "policyDigest", "tools",
  ]
}
