import AgentRuntime
import AgentTrace
import EvalLoading
import FuzzSupport
import TraceJudging
import TraceMatching

/// A file, read by everything that reads files.
struct Loading {
  private let bytes: [UInt8]
  private let path: String
  private let cases: [String]
  private let expected: [Expectations]
  private let caseDiagnostics: [Diagnostic]
  private let agent: String?
  private let agentDiagnostics: [Diagnostic]
  private let policy: String?
  private let policyDiagnostics: [Diagnostic]
  private let checked: [Diagnostic]

  /// Writes the bytes under a name and reads them.
  init(_ bytes: [UInt8], _ name: String) {
    self.bytes = bytes
    path = scratch.file(name)
    scratch.write(bytes, to: name)
    let cases = CaseLoader.load([path], areRunsElsewhere: true)
    self.cases = cases.cases.map(Self.words)
    expected = cases.cases.map(\.expected)
    caseDiagnostics = cases.diagnostics
    let agent = AgentLoader.load(path)
    self.agent = agent.value.map(Self.words)
    agentDiagnostics = agent.diagnostics
    let policy = PolicyLoader.load(path)
    self.policy = policy.value.map(Self.words)
    policyDiagnostics = policy.diagnostics
    checked = FileChecker.check([path])
    explain(
      "\(name): \(self.cases.count) cases, \(self.agent == nil ? "no" : "an") agent, "
        + "\(self.policy == nil ? "no" : "a") policy; \(checked.map(\.description))")
    check()
  }

  private func check() {
    require((agent == nil) == agentDiagnostics.hasErrors, "an agent and errors, or neither")
    require((policy == nil) == policyDiagnostics.hasErrors, "a policy and errors, or neither")
    require(
      !cases.isEmpty || caseDiagnostics.hasErrors,
      "a file that was named gives neither case nor error")
    for diagnostics in [caseDiagnostics, agentDiagnostics, policyDiagnostics, checked] {
      require(diagnostics == diagnostics.sorted(), "diagnostics are not sorted")
      diagnostics.forEach(check)
    }
    if bytes.count % 4 == 0 { checkAgain() }
  }

  /// What costs time and holds on every file or on none: on a part of the inputs.
  private func checkAgain() {
    require(FileChecker.check([path]) == checked, "checking twice says two things")
    let again = CaseLoader.load([path], areRunsElsewhere: true)
    require(
      again.diagnostics == caseDiagnostics && again.cases.map(Self.words) == cases,
      "loading twice gives two things")
    let sound = CaseLoader.load([path])
    require(sound.cases.count <= cases.count, "asking for more finds more cases")
    for loaded in again.cases {
      require(loaded.position.line <= lineCount, "a case stands behind the end")
      require(!loaded.caseId.isEmpty && !loaded.expected.isEmpty, "a case that says nothing")
    }
  }

  private func check(_ diagnostic: Diagnostic) {
    require(!diagnostic.message.isEmpty, "a diagnostic without words")
    let text = diagnostic.description
    require(!text.utf8.contains { $0 < 0x20 || $0 == 0x7f }, "a control character in \(text)")
    require(text.utf8.count < 8000, "a diagnostic of \(text.utf8.count) bytes")
    guard diagnostic.path == path else { return }
    if let line = diagnostic.line {
      require(line >= 1 && line <= lineCount + 1, "line \(line) of \(lineCount): \(text)")
    }
    if let column = diagnostic.column {
      require(column >= 1 && column <= bytes.count + 2, "column \(column): \(text)")
    }
  }

  private var lineCount: Int {
    // YAML has more line breaks than JSON: CR, NEL (2 bytes), LS and PS (3 bytes).
    1 + bytes.count { $0 == 0x0a || $0 == 0x0d || $0 == 0x85 || $0 == 0xa8 || $0 == 0xa9 }
  }

  // MARK: Comparing

  /// Where neither reading found an error, both found the same.
  func requireSame(as other: Loading, _ what: String) {
    if !caseDiagnostics.hasErrors, !other.caseDiagnostics.hasErrors {
      require(cases == other.cases, "\(what): cases\n\(cases)\n\(other.cases)")
      require(expected == other.expected, "\(what): expectations\n\(expected)\n\(other.expected)")
    }
    if let agent, let second = other.agent {
      require(agent == second, "\(what): an agent\n\(agent)\n\(second)")
    }
    if let policy, let second = other.policy {
      require(policy == second, "\(what): a policy\n\(policy)\n\(second)")
    }
  }

  /// Both found the same, errors too, but for their places.
  func requireEqual(_ other: Loading, _ what: String) {
    requireSame(as: other, what)
    require(
      Self.words(caseDiagnostics) == Self.words(other.caseDiagnostics), "\(what): diagnostics")
    require((agent == nil) == (other.agent == nil), "\(what): an agent or none")
    require((policy == nil) == (other.policy == nil), "\(what): a policy or none")
  }

  /// Both hold the same cases, or errors.
  func requireCases(of other: Loading, _ what: String) {
    require(cases == other.cases, "\(what)\n\(cases)\n\(other.cases)")
    require(expected == other.expected, "\(what)\n\(expected)\n\(other.expected)")
    require(caseDiagnostics.hasErrors == other.caseDiagnostics.hasErrors, "\(what): errors")
  }

  private static func words(_ diagnostics: [Diagnostic]) -> [String] {
    diagnostics.map { "\($0.severity) \($0.key) \($0.message.filter { !$0.isNumber })" }
      .sorted { $0.precedesByUTF8($1) }
  }

  // MARK: Words

  /// Everything a case says, but for its place and its expectations.
  private static func words(_ loaded: EvalCase) -> String {
    return """
      \(loaded.caseId) | \(loaded.input) | \(loaded.recording ?? "-") | \(loaded.agent ?? "-") | \
      \(loaded.tags) | \(loaded.skip?.reason ?? "-") \(loaded.skip?.until ?? "-") | \
      \(words(loaded.human))
      """
  }

  private static func words(_ agent: AgentDefinition) -> String {
    let tools = agent.tools.map { tool in
      "\(CanonicalJSON.string(.object(tool.definition.encoded))) \(tool.onError) \(tool.maxAttempts) "
        + "\(tool.routes ?? [])"
    }
    return """
      \(agent.name) | \(agent.version ?? "-") | \(agent.systemPrompt ?? "-") | \
      \(agent.goal ?? "-") | \(agent.model.provider) \(agent.model.name) | \(tools) | \
      \(words(agent.policy)) | \(agent.policyContext) | \(agent.limits) | \(agent.context) | \
      \(agent.failures) | \(agent.parallelCalls) | \(agent.memory) | \(words(agent.human))
      """
  }

  private static func words(_ policy: Policy) -> String {
    policy.rules.map { rule in
      "\(rule.id) \((rule.tools ?? []).map(\.text)) \(rule.sideEffects ?? []) "
        + "\((rule.actors ?? []).map(\.text)) \((rule.routes ?? []).map(\.text)) \(rule.verdict) "
        + "\(rule.onDeny) \(rule.reason ?? "-")"
    }.joined(separator: "; ")
  }

  private static func words(_ person: ScriptedPerson?) -> String {
    guard let person else { return "-" }
    let approvals = person.approvals.map { rule in
      "\((rule.tools ?? []).map(\.text)) \(rule.input?.description ?? "-") \(rule.granted) "
        + "\(rule.by) \(rule.reason ?? "-")"
    }
    let answers = person.answers.map { rule in
      "\(rule.question?.description ?? "-") \(rule.text) \(rule.by)"
    }
    return "\(approvals) \(answers)"
  }
}
