import AgentRuntime
import ArgumentParser
import EvalLoading
import LiveBoundary
import TraceMatching
import TraceReporting

/// What is withheld from a log that is written for many readers.
struct RedactionOptions: ParsableArguments {
  @Option(
    parsing: .singleValue,
    help: "KIND=PATTERN: what is withheld beside credentials; may be given again.")
  var redact: [String] = []

  /// Withholds credentials, what the environment holds, what the rules of an agent file find, and these patterns.
  func redactor(for agent: String?) throws -> Redactor {
    var settings = RedactionSettings()
    var secrets = RunSecrets.inEnvironment
    if let agent {
      let definition = try Diagnostics.unwrap(AgentLoader.load(agent))
      settings = definition.redaction
      secrets = .inEnvironment(for: definition)
    }
    // A fixture is for many readers, whatever an agent file says of its own runs.
    settings.findsCredentials = true
    settings.patterns += try patterns()
    return Redactor(settings, secrets, values: .recorded)
  }

  /// The patterns as they were given; refuses what is none.
  func patterns() throws -> [RedactionSettings.PatternRule] {
    try redact.map { rule in
      guard let equals = rule.firstIndex(of: "="), equals > rule.startIndex,
        rule[..<equals].allSatisfy({
          $0.isASCII && ($0.isLetter || $0.isNumber || "_-.".contains($0))
        })
      else {
        throw ValidationError(Visible.line("--redact takes KIND=PATTERN, not “\(rule)”."))
      }
      let text = String(rule[rule.index(after: equals)...])
      do {
        return .init(kind: String(rule[..<equals]), pattern: try Pattern(text))
      } catch {
        throw ValidationError(Visible.line("--redact \(rule): \(error)."))
      }
    }
  }
}
