public import AgentRuntime
import AgentTrace
import Glibc

extension RunSecrets {
  /// The variable that holds the key of redaction tokens.
  public static let keyVariable = "AGENT_EVAL_REDACTION_KEY"

  /// The key of redaction tokens, and what the variables of this process hold whose names say that they
  /// hold a credential.
  public static var inEnvironment: RunSecrets {
    var secrets = RunSecrets()
    for (name, value) in ProcessVariables.variables where !value.isEmpty {
      if name == keyVariable { secrets.key = Array(value.utf8) }
      let isNamed = isCredential(name) && !value.utf8.starts(with: "/".utf8)
      let texts =
        OTLPHeaders.variables.contains(name)
        ? OTLPHeaders.secrets(in: value).sorted { $0.precedesByUTF8($1) }
        : isNamed ? [value] : Redactor.secrets(in: value, ofVariable: name)
      for text in texts
      where text.utf8.count >= 8 {
        secrets.known.append(Redactor.Secret(kind: "environment", text: text))
      }
    }
    return secrets
  }

  /// The same, and whatever the variables hold that an agent names for its model, its servers and its
  /// requests: whoever names one there does not want its value in a log.
  public static func inEnvironment(for agent: AgentDefinition) -> RunSecrets {
    let named = Set(
      agent.sources.flatMap(\.variables) + agent.tools.flatMap(\.variables)
        + agent.policy.authorizers.flatMap(\.variables)
        + (agent.command?.environment.pass ?? []))
    var secrets = inEnvironment
    for (_, variable) in agent.modelVariables {
      guard let value = ProcessVariables[variable], !value.isEmpty else { continue }
      secrets.known.append(Redactor.Secret(kind: "environment", text: value))
    }
    secrets.add(valuesOf: named)
    return secrets
  }

  /// What the environment holds, and the values of the variables that these programs are passed by name.
  public static func inEnvironment(forPrograms programs: [CommandDefinition]) -> RunSecrets {
    inEnvironment(naming: Set(programs.flatMap(\.environment.pass)))
  }

  /// What the environment holds, and the values of these variables.
  public static func inEnvironment(naming variables: Set<String>) -> RunSecrets {
    var secrets = inEnvironment
    secrets.add(valuesOf: variables)
    return secrets
  }

  private mutating func add(valuesOf named: Set<String>) {
    for name in named.sorted(by: { $0.precedesByUTF8($1) }) {
      // Paths and short words stand everywhere by chance.
      guard let value = ProcessVariables[name], value.utf8.count >= 8,
        !value.utf8.starts(with: "/".utf8),
        !known.contains(where: { $0.text.hasSameUTF8(as: value) })
      else { continue }
      known.append(Redactor.Secret(kind: "environment", text: value))
    }
  }

  private static let words = [
    "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
  ]

  /// Whether the last word of a variable's name is that of a credential, as in `SERVICE_API_KEY`.
  static func isCredential(_ name: String) -> Bool {
    guard let last = name.split(separator: "_").last else { return false }
    return words.contains(last.uppercased())
  }
}

/// The variables of this process.
enum ProcessVariables {
  /// The value of a variable; `nil` where it is not set.
  static subscript(name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Sorted by name.
  static var variables: [(name: String, value: String)] {
    var variables: [(name: String, value: String)] = []
    var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      if let equals = text.firstIndex(of: "=") {
        variables.append((String(text[..<equals]), String(text[text.index(after: equals)...])))
      }
      next = next.advanced(by: 1)
    }
    return variables.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }
}
