public import AgentTrace
public import TraceMatching

/// What is withheld from a run's events; the plain value goes to tools alone.
public struct RedactionSettings: Sendable, Hashable {
  /// Whether credentials are looked for: keys and tokens of known forms, values of keys such as
  /// `password`; see Docs/redaction.md for the list.
  public var findsCredentials: Bool
  /// Patterns whose matches are withheld, wherever text enters the run.
  public var patterns: [PatternRule]
  /// Places whose whole value is withheld.
  public var places: [PlaceRule]

  /// The defaults are those of an agent file that leaves the key out.
  public init(
    findsCredentials: Bool = true, patterns: [PatternRule] = [], places: [PlaceRule] = []
  ) {
    self.findsCredentials = findsCredentials
    self.patterns = patterns
    self.places = places
  }

  /// What a run withholds whose agent has these settings, where a run with others calls it: whatever either of them says.
  /// What the other says of its goal is not about this one's.
  public func adding(parent: RedactionSettings) -> RedactionSettings {
    var settings = self
    settings.findsCredentials = findsCredentials || parent.findsCredentials
    settings.patterns += parent.patterns.filter { !patterns.contains($0) }
    settings.places += parent.places.filter { $0.side != .goal && !places.contains($0) }
    return settings
  }

  /// What an agent file, or a pipeline's, says for these under `redaction`, its places aside; empty for the defaults.
  public var encodedTexts: JSONObject {
    JSONObject(present: [
      ("credentials", findsCredentials ? JSONValue?.none : .bool(false)),
      (
        "patterns",
        patterns.isEmpty
          ? nil
          : .array(
            patterns.map { ["kind": .string($0.kind), "pattern": .string($0.pattern.text)] })
      ),
    ])
  }

  /// A pattern, and what it finds.
  public struct PatternRule: Sendable, Hashable {
    /// See `RedactionToken.kind`.
    public var kind: String
    /// What is withheld: the longest of the leftmost matches.
    public var pattern: Pattern

    /// What the pattern finds becomes a token of this kind.
    public init(kind: String, pattern: Pattern) {
      self.kind = kind
      self.pattern = pattern
    }
  }

  /// A place in what a tool is given or returns.
  public struct PlaceRule: Sendable, Hashable {
    /// Which value the pointer leads into.
    public enum Side: String, Sendable, Hashable, CaseIterable {
      /// What the model gives a tool.
      case input
      /// The data that a tool returns.
      case result
      /// The run's goal.
      case goal
    }

    /// See `RedactionToken.kind`.
    public var kind: String
    /// Which value the pointer leads into.
    public var side: Side
    /// Names or globs of tools; `nil` for every tool. Without meaning for the goal.
    public var tools: [Glob]?
    /// From that value to the part that is withheld; a `*` stands for every key or element.
    public var pointer: JSONPointer

    /// Of every tool, unless some are named.
    public init(kind: String, side: Side, tools: [Glob]? = nil, pointer: JSONPointer) {
      self.kind = kind
      self.side = side
      self.tools = tools
      self.pointer = pointer
    }
  }
}

extension RedactionSettings.PlaceRule {
  /// Whether the rule is about this tool.
  func isAbout(_ tool: String) -> Bool { tools?.contains { $0.matches(tool) } ?? true }
}
