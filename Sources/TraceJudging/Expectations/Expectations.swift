public import AgentTrace
public import TraceMatching

/// What a case expects of a run: the parsed `expected` of a case file.
public struct Expectations: Sendable, Hashable {
  /// How the calls of the positive lists must follow each other.
  public enum Order: String, Sendable, Hashable, CaseIterable {
    /// No order.
    case any
    /// A subsequence: other calls may stand between.
    case inOrder = "in_order"
    /// In order, and no other executed call.
    case exact
  }

  /// The run stops, or pauses, for one of these reasons.
  public var stopReasons: [StopReason]?
  /// Each is executed.
  public var toolsCalled: [CallEntry]?
  /// None is executed.
  public var toolsNotCalled: [CallEntry]?
  /// Each is proposed by a decision, whatever became of it.
  public var toolsProposed: [CallEntry]?
  /// None is proposed.
  public var toolsNotProposed: [CallEntry]?
  /// How the calls of ``toolsCalled`` and ``toolsProposed`` must follow each other.
  public var order = Order.any
  /// At most so many steps hold a decision.
  public var maxSteps: Int?
  /// At most so many calls are executed; calls of a simulated user do not count.
  public var maxToolCalls: Int?
  /// What the run's last answer is.
  public var answer: Matcher?

  /// Expects nothing.
  public init() {}

  /// Every key that `expected` may have, in the order in which outcomes are told.
  public static let keyNames = [
    "stopReason", "toolsCalled", "toolsNotCalled", "toolsProposed", "toolsNotProposed", "order",
    "maxSteps", "maxToolCalls", "answer",
  ]

  /// Whether nothing is expected.
  public var isEmpty: Bool {
    stopReasons == nil && toolsCalled == nil && toolsNotCalled == nil && toolsProposed == nil
      && toolsNotProposed == nil && maxSteps == nil && maxToolCalls == nil && answer == nil
  }

  /// The entries of all lists.
  private var entries: [CallEntry] {
    (toolsCalled ?? []) + (toolsNotCalled ?? []) + (toolsProposed ?? []) + (toolsNotProposed ?? [])
  }

  /// Whether the summary of a log can tell all that these expectations ask: tools, their status,
  /// number and order, and the stop.
  public var isAnsweredBySummary: Bool {
    answer == nil && maxSteps == nil
      && entries.allSatisfy { $0.input == nil && $0.result == nil }
  }

  /// Whether judging looks at what a tool returned.
  public var looksAtResults: Bool { entries.contains { $0.result != nil } }
}

/// A call that a case speaks of.
public struct CallEntry: Sendable, Hashable {
  /// How often: from `minimum` to `maximum` times.
  public struct Times: Sendable, Hashable {
    /// At least so many calls.
    public var minimum: Int
    /// At most so many calls; `nil` for any number.
    public var maximum: Int?
    /// Written as `min` and `max`, not as one number.
    public var isRange: Bool

    /// Nothing is checked.
    public init(minimum: Int, maximum: Int?, isRange: Bool = true) {
      self.minimum = minimum
      self.maximum = maximum
      self.isRange = isRange
    }
  }

  /// The tool's name, or a glob of names.
  public var tool: Glob
  /// What the call's input is; `nil` for any.
  public var input: Matcher?
  /// One of these became of it.
  public var statuses: [CallStatus]?
  /// Of its result: the data of one that is ok, else the reason.
  public var result: Matcher?
  /// Without it, an entry needs a call of its own.
  public var times: Times?
  /// Who made it, or a glob; without it every caller but `user`.
  public var caller: Glob?

  /// Nothing is checked. Without conditions, any call of the tool fits that `user` did not make.
  public init(
    tool: Glob, input: Matcher? = nil, statuses: [CallStatus]? = nil, result: Matcher? = nil,
    times: Times? = nil, caller: Glob? = nil
  ) {
    self.tool = tool
    self.input = input
    self.statuses = statuses
    self.result = result
    self.times = times
    self.caller = caller
  }

  /// Every key that an entry may have.
  public static let keyNames = ["tool", "input", "status", "result", "times", "caller"]

  /// The caller whose calls an entry does not speak of unless it says so.
  static let simulatedUser = "user"

  /// Whether the entry speaks of calls by someone.
  func speaks(of caller: String) -> Bool {
    self.caller?.matches(caller) ?? !caller.hasSameUTF8(as: Self.simulatedUser)
  }
}

extension CallEntry: CustomStringConvertible {
  /// The entry in words, a few hundred bytes at most.
  public var description: String {
    var text = tool.text
    if let input { text += " with input \(Self.short(input.description))" }
    if let statuses { text += ", " + statuses.map(\.rawValue).joined(separator: " or ") }
    if let result { text += ", result \(Self.short(result.description))" }
    if let times { text += ", \(times)" }
    if let caller { text += ", by \(caller.text)" }
    return text
  }

  private static func short(_ text: String) -> String {
    let head = text.prefix(utf8Bytes: 200)
    return head.utf8.count < text.utf8.count ? head + "…" : head
  }
}

extension CallEntry.Times: CustomStringConvertible {
  public var description: String {
    switch (minimum, maximum) {
    case (let least, let most?) where least == most:
      least == 1 ? "once" : least == 0 ? "never" : "\(least) times"
    case (0, let most?): "at most \(most) times"
    case (let least, nil): least == 1 ? "at least once" : "at least \(least) times"
    case (let least, let most?): "\(least) to \(most) times"
    }
  }

  /// Whether a number of calls is within.
  func contains(_ count: Int) -> Bool { count >= minimum && count <= maximum ?? .max }
}
