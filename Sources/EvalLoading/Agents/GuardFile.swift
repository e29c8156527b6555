import AgentRuntime
import AgentTrace
import TraceJudging

/// The key `guard` of an agent file: expectations that are enforced while a run goes on.
enum GuardFile {
  static let shape = Shape<any RunGuard>(["$ref": "#/$defs/expected"]) { value, reader in
    guard let expectations = CaseFile.expectations(in: value, reader) else { return nil }
    do throws(ExpectationErrors) {
      return WatchingGuard(watch: try ExpectationGuard(expectations))
    } catch {
      reader.report(error, in: value)
      return nil
    }
  }
}

/// Lets the judge's guard watch a run.
private struct WatchingGuard: RunGuard {
  var watch: ExpectationGuard

  mutating func observe(_ event: Event) { watch.apply(event) }

  func breach() -> GuardBreach? { Self.breach(watch.breach()) }

  func breach(ifStarted callIds: [String]) -> GuardBreach? {
    Self.breach(watch.breach(ifStarted: callIds))
  }

  func breach(ifDecidingIn step: Int) -> GuardBreach? {
    Self.breach(watch.breach(ifDecidingIn: step))
  }

  func guarding(callsOf tool: String) -> (any RunGuard)? {
    watch.guarding(callsOf: tool).map(WatchingGuard.init)
  }

  private static func breach(_ outcome: ExpectationOutcome?) -> GuardBreach? {
    outcome.map { GuardBreach(expectation: $0.expectation, message: $0.message) }
  }
}
