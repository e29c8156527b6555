/// What of an agent's runtime is in place and what is missing, primitive by primitive: the seed of a review before an
/// agent is let loose. Says nothing of how well the agent does its work.
public struct ReadinessRecord: Sendable, Hashable {
  /// What an agent's runtime is made of.
  public enum Primitive: String, Sendable, Hashable, CaseIterable {
    case state, tools, policy, context, memory, trace, evals, people
  }

  /// How much something that is missing weighs.
  public enum Weight: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Worth knowing.
    case note
    /// It should be closed before the agent meets people.
    case gap
    /// Harm can come of it that nothing stops.
    case risk

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    private var rank: Int {
      switch self {
      case .note: 0
      case .gap: 1
      case .risk: 2
      }
    }
  }

  /// How far an agent is.
  public enum Level: String, Sendable, Hashable, CaseIterable {
    /// Its file can be read.
    case draft
    /// No risk is left.
    case guarded
    /// Neither a risk nor a gap is left.
    case ready
  }

  /// Something that is missing.
  public struct Finding: Sendable, Hashable {
    /// How much it weighs.
    public var weight: Weight
    /// What is missing, and of what.
    public var message: String
    /// What to do about it.
    public var advice: String

    /// One thing that is missing.
    public init(_ weight: Weight, _ message: String, advice: String) {
      self.weight = weight
      self.message = message
      self.advice = advice
    }
  }

  /// One primitive.
  public struct Entry: Sendable, Hashable {
    /// Which.
    public var primitive: Primitive
    /// Who looks after it.
    public var owner: String
    /// What is in place.
    public var inPlace: [String] = []
    /// What is missing, in the order in which it was found.
    public var missing: [Finding] = []

    /// Nothing is in place, and nothing is missing.
    public init(_ primitive: Primitive, owner: String) {
      self.primitive = primitive
      self.owner = owner
    }
  }

  /// The agent's name.
  public var agent: String
  /// Its file.
  public var path: String
  /// One for each primitive, in their order.
  public var entries: [Entry]

  /// A record of an agent.
  public init(agent: String, path: String, entries: [Entry]) {
    self.agent = agent
    self.path = path
    self.entries = entries
  }

  /// How far the agent is, by what is missing.
  public var level: Level {
    switch entries.flatMap(\.missing).map(\.weight).max() {
    case .risk?: .draft
    case .gap?: .guarded
    case .note?, nil: .ready
    }
  }

  /// How many findings have a weight.
  public func count(_ weight: Weight) -> Int {
    entries.flatMap(\.missing).count { $0.weight == weight }
  }
}

extension ReadinessRecord.Level {
  /// Whether an agent that is so far has reached another level.
  public func reaches(_ level: Self) -> Bool {
    let order = Self.allCases
    return (order.firstIndex(of: self) ?? 0) >= (order.firstIndex(of: level) ?? 0)
  }
}
