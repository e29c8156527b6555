/// Something of a run that a template may name between `${` and `}`.
public enum PromptVariable: Sendable, Hashable {
  /// What the run was started with, or what a path leads to in it: `input`, `input.order.id`.
  case input([String])
  /// `policyContext.actorId`, `policyContext.tenantId`, `policyContext.route`.
  case policyContext(String)
  /// `policyContext.attributes.tier`; a path leads further.
  case attribute([String])
  /// A note that the agent file names: `memory.actor.language`.
  case memory(scope: String, key: String)
  /// The day on which the run was started, in UTC: `2026-11-25`.
  case date
  /// The agent's name: `agent.name`.
  case agentName

  /// The variable of a name; `nil` where it names none.
  public init?(_ name: String) {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard !parts.contains("") else { return nil }
    switch (parts[0], parts.count) {
    case ("input", _): self = .input(Array(parts.dropFirst()))
    case ("policyContext", 2) where ["actorId", "tenantId", "route"].contains(parts[1]):
      self = .policyContext(parts[1])
    case ("policyContext", 3...) where parts[1] == "attributes":
      self = .attribute(Array(parts.dropFirst(2)))
    case ("memory", 3...):
      // A key may have dots of its own.
      self = .memory(scope: parts[1], key: parts.dropFirst(2).joined(separator: "."))
    case ("date", 1): self = .date
    case ("agent", 2) where parts[1] == "name": self = .agentName
    default: return nil
    }
  }

  /// Whether its value is there before a run begins: whom it acts for, and what the agent is called.
  public var isKnownBeforeStart: Bool {
    switch self {
    case .policyContext, .attribute, .agentName: true
    case .input, .memory, .date: false
    }
  }
}

/// A text in which `${name}` stands for something of the run, put in as data: what it holds is no template again.
public struct PromptTemplate: Sendable, Hashable {
  /// The text with its names.
  public let text: PlaceholderText

  /// Reads a template; what names no ``PromptVariable`` stays as it is written. `$${` is a plain `${`.
  public init(_ text: String) { self.text = PlaceholderText(text) }

  private init(_ text: PlaceholderText) { self.text = text }

  /// The variables in it, in order, each once.
  public var variables: [PromptVariable] {
    var found: [PromptVariable] = []
    for variable in text.names.compactMap(PromptVariable.init) where !found.contains(variable) {
      found.append(variable)
    }
    return found
  }

  /// The text as it stands where it names nothing; `nil` where it does.
  public var plain: String? { text.names.isEmpty ? text.filled { _ in nil } : nil }

  /// The text as it was written.
  public var written: String {
    text.pieces.map { piece in
      switch piece {
      case .text(let plain): PlaceholderText.escaped(plain)
      case .name(let name): "${\(name)}"
      }
    }.joined()
  }

  /// The template with every plain piece changed.
  func mapPlain(_ change: (String) -> String) -> PromptTemplate {
    PromptTemplate(
      PlaceholderText(
        pieces: text.pieces.map { piece in
          if case .text(let plain) = piece { .text(change(plain)) } else { piece }
        }))
  }
}

/// A part of an agent's instructions.
public struct PromptPart: Sendable {
  /// What packets name it by: `system:<id>`.
  public var id: String
  /// What it says.
  public var template: PromptTemplate
  /// The file that it stands in, and SHA-256 of its bytes; `nil` where it stands in the agent file.
  public var file: (path: String, digest: String)?
  /// When it is said; always where it is left out.
  public var rule: DisclosureRule?

  /// A part that stands in the agent file and is always said.
  public init(id: String, template: PromptTemplate) {
    self.id = id
    self.template = template
  }
}

/// A turn that shows the model how it is done.
public struct ExampleTurn: Sendable, Hashable {
  /// What a user says.
  public var user: String
  /// What the model is to have answered.
  public var assistant: String

  /// What a user says, and what the model is to have answered.
  public init(user: String, assistant: String) {
    self.user = user
    self.assistant = assistant
  }
}

/// Why an agent's instructions cannot be written for a run.
public struct PromptFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// In words.
  public var description: String
}
