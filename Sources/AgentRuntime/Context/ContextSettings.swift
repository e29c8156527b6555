/// How much of what was seen is put before the model.
public struct ContextSettings: Sendable, Hashable {
  /// Estimated tokens of a prompt at most; the oldest turns are left out beyond it.
  public var tokenBudget: Int
  /// How many observations a packet lists at most.
  public var observationLimit: Int
  /// What gives way where not everything fits the budget.
  public var strategy = Strategy.truncateOldest
  /// How tokens are counted; `nil` for what the model's provider and name say.
  public var tokenEstimate: TokenEstimate?

  /// What gives way where not everything that was seen fits the budget of a prompt.
  public enum Strategy: String, Sendable, Hashable, CaseIterable {
    /// The oldest turns.
    case truncateOldest = "truncate_oldest"
    /// What tools returned, the oldest first; then the oldest turns.
    case dropToolOutput = "drop_tool_output"
    /// The older turns, of which the model writes a summary; the oldest turns where it gives none.
    case summarize
  }

  /// What is not put before the model though it could be: for runs that ask what one item changes. No
  /// agent file says it.
  public var leftOut: [LeftOut] = []

  /// Whether each result is shown with its id, for the model to cite. An agent says it by having a tool to cite
  /// with (``DecisionTool/answer(schema:)``).
  var citesResults = false

  /// An item that is kept from the model.
  public struct LeftOut: Sendable, Hashable {
    /// See `ContextItem.ref`.
    public var ref: String
    /// Recorded with each packet that leaves it out.
    public var reason: String
    /// Packets behind this event do without it; those before it may hold it.
    public var behind: Int

    /// Events are numbered from 0: with `behind` below 0, each packet of the run does without the item.
    public init(ref: String, reason: String, behind: Int) {
      self.ref = ref
      self.reason = reason
      self.behind = behind
    }
  }

  /// The defaults are those of an agent file that leaves the key out.
  public init(tokenBudget: Int = 32_000, observationLimit: Int = 50) {
    self.tokenBudget = tokenBudget
    self.observationLimit = observationLimit
  }
}
