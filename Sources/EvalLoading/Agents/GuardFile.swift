import AgentRuntime
import AgentTrace
import TraceJudging

/// The key `guard` of an agent file: expectations that are enforced while a run goes on.
enum GuardFile {
  static let shape = Shape<any RunGuard>(["$ref": "#/$defs/expected"]) { value, reader in
    guard let expectations = CaseFile.expectations(in: value, reader) else { return nil }
    for tool in expectations.toolsNamed { reader.mention(.guarded(tool)) }
    do throws(ExpectationErrors) {
      return try ExpectationRunGuard(expectations)
    } catch {
      reader.report(error, in: value)
      return nil
    }
  }
}
