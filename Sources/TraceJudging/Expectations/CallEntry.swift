public import AgentTrace
public import TraceMatching

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

    /// Where `maximum` is below `minimum`, no number of calls will do.
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
  /// Who made it, or a glob; without it every caller but a simulated user.
  public var caller: Glob? { didSet { pattern = caller.map(CallerPattern.init) } }
  /// The same as it is matched.
  private(set) var pattern: CallerPattern?
  /// Which arguments may differ without meaning anything; `nil` where each counts.
  public var arguments: ArgumentRule?

  /// Without conditions, any call of the tool fits that no simulated user made.
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
    pattern = caller.map(CallerPattern.init)
  }

  /// Every key that an entry may have.
  public static let keyNames = [
    "tool", "input", "status", "result", "times", "caller", "defaults", "ignore",
  ]

  /// Whether the entry speaks of calls by whoever made one; of a simulated user's only where it says so.
  func speaks(of call: Trajectory.Call) -> Bool {
    pattern?.matches(call.caller) ?? !call.outline.isOfSimulatedUser
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
    case (0, let most?): most == 1 ? "at most once" : "at most \(most) times"
    case (let least, nil): least == 1 ? "at least once" : "at least \(least) times"
    case (let least, let most?): "\(least) to \(most) times"
    }
  }

  /// Whether a number of calls is within.
  func contains(_ count: Int) -> Bool { count >= minimum && count <= maximum ?? .max }
}

extension [CallEntry] {
  /// What of a trajectory judging these entries looks at.
  var needs: TrajectoryNeeds {
    reduce(into: []) { needs, entry in
      if let input = entry.input {
        needs.formUnion([.body, .inputs])
        if input.usesOrigins { needs.insert(.results) }
      }
      if entry.result != nil { needs.formUnion([.body, .results]) }
    }
  }
}
