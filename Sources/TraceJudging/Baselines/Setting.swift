public import AgentTrace

/// What a case says beside what it expects: what goes into its run, and which run is judged.
public struct CaseSetting: Sendable, Hashable {
  /// The key of a case that a fact stands under. Raw values are the words of the text, in its order.
  public enum Key: String, Sendable, Hashable, CaseIterable {
    /// What the agent is asked to do.
    case input
    /// The agent file, as a path from the case's folder.
    case agent
    /// What that file says, as a digest of its values: comments and layout are no part of it.
    case agentFile
    /// The person who is written down.
    case human
    /// What else the case says of its run: whom it is for, its policy, limits and notes.
    case conditions
    /// How many trials are made, how many have to pass, and whether it is a safety case; see ``TrialPlan``.
    case trials
    /// The recorded run, as a path from the case's folder.
    case recording
  }

  private var values: [Key: String] = [:]

  /// A case that says nothing.
  public init() {}

  /// A fact as ``AcceptedText`` writes values; `nil` where the case does not say it.
  public internal(set) subscript(key: Key) -> String? {
    get { values[key] }
    set { values[key] = newValue }
  }

  /// Says a fact.
  public mutating func say(_ key: Key, _ value: JSONValue) { self[key] = AcceptedText.value(value) }

  /// What is not as it was accepted. What goes in and which run is judged is for a person to look at; what an
  /// agent's file says is seen by what its run does.
  func differences(from accepted: CaseSetting) -> [Difference] {
    Key.allCases.compactMap { key in
      let (old, new) = (accepted[key], self[key])
      guard old.map(ByteText.init) != new.map(ByteText.init) else { return nil }
      // A file that nobody could read, then or now, says nothing.
      if key == .agentFile, old == nil || new == nil { return nil }
      let isNeutral = key == .agentFile || key == .trials && !Self.asksForLess(new, than: old)
      return Difference(
        kind: key.kind, effect: isNeutral ? .neutral : .regression, place: key.rawValue,
        accepted: old, actual: new)
    }
  }
}

extension CaseSetting {
  /// Whether fewer trials are made, fewer or a smaller part of them have to pass, or one that fails is excused now; also
  /// where nobody can tell. A case that says nothing of trials makes one, which has to pass.
  private static func asksForLess(_ new: String?, than old: String?) -> Bool {
    func read(_ text: String?) -> (trials: Int, passes: Int, isSafety: Bool, rates: JSONValue?)? {
      guard let text else { return (1, 1, false, nil) }
      guard let value = try? JSONValue(parsing: text), let trials = value["trials"]?.intValue,
        let passes = value["passThreshold"]?.intValue
      else { return nil }
      return (trials, passes, value["safety"] == true, value["rates"])
    }
    guard let old = read(old), let new = read(new) else { return true }
    let isFewer = new.trials < old.trials || new.passes < old.passes
    let (share, _) = new.passes.multipliedReportingOverflow(by: old.trials)
    let (before, _) = old.passes.multipliedReportingOverflow(by: new.trials)
    return isFewer || share < before || old.isSafety && !new.isSafety || old.rates != new.rates
  }
}

extension CaseSetting.Key {
  fileprivate var kind: Difference.Kind {
    switch self {
    case .input: .input
    case .agent: .agent
    case .agentFile: .agentFile
    case .human: .human
    case .conditions: .conditions
    case .trials: .trials
    case .recording: .recording
    }
  }
}

/// What a run was made with, as its log says.
public struct RunSetting: Sendable, Hashable {
  /// What is known of it. Raw values are the words of the text, in its order.
  public enum Key: String, Sendable, Hashable, CaseIterable {
    /// Provider and name of the model.
    case model
    /// The digest of the policy's file, shortened; more than one where a run went on under another.
    case policy
    /// What the run may use at most.
    case limits
    /// Whom it acts for.
    case policyContext
  }

  private var values: [Key: String] = [:]

  /// Nothing is known.
  public init() {}

  /// A fact as ``AcceptedText`` writes values; `nil` where it was not recorded.
  public internal(set) subscript(key: Key) -> String? {
    get { values[key] }
    set { values[key] = newValue }
  }

  /// What the data of a `run_started` say, key by key.
  init(started data: JSONObject) {
    let model = [data["model"]?["provider"], data["model"]?["name"]].compactMap {
      $0?.stringValue
    }
    if !model.isEmpty { say(.model, .string(model.joined(separator: "/"))) }
    if let digest = data["policyDigest"]?.stringValue { say(.policy, Self.shortened(digest)) }
    if let limits = data["limits"], limits.objectValue != nil { say(.limits, limits.byValue) }
    if let context = data["policyContext"], context.objectValue != nil {
      say(.policyContext, context.byValue)
    }
  }

  /// What was said of one more run of the same caller: of limits the loosest, of all else what any of them was made
  /// with.
  mutating func join(_ other: RunSetting) {
    for key in Key.allCases {
      guard let own = self[key], let its = other[key] else {
        self[key] = key == .limits ? nil : self[key] ?? other[key]
        continue
      }
      if own.hasSameUTF8(as: its) { continue }
      guard let one = try? JSONValue(parsing: own), let two = try? JSONValue(parsing: its) else {
        // A digest tells nothing of what it is of.
        self[key] = own.precedesByUTF8(its) ? own : its
        continue
      }
      if key == .limits {
        say(key, Self.loosest(one, two))
      } else {
        let all = Set((one.arrayValue ?? [one]) + (two.arrayValue ?? [two]))
        say(key, .array(all.sorted { $0.description.precedesByUTF8($1.description) }))
      }
    }
  }

  /// Each limit that both have, and of each the higher one.
  private static func loosest(_ one: JSONValue, _ two: JSONValue) -> JSONValue {
    .object(
      JSONObject(
        (one.objectValue ?? [:]).compactMap { limit in
          guard let other = two[limit.key] else { return nil }
          let isHigher = limit.value.doubleValue ?? .infinity > other.doubleValue ?? .infinity
          return (limit.key, isHigher ? limit.value : other)
        }))
  }

  /// What the data of a `run_started` of a run below the root say.
  ///
  /// Of its limits those of its own file: what its parent had left is another number each time.
  init(startedBelow data: JSONObject) {
    var own = data
    let given = data["origins"]?.objectValue ?? [:]
    own["limits"] = (data["limits"]?.objectValue).map { limits in
      .object(
        JSONObject(
          limits.filter { given["limits.\($0.key)"] != "parent" }.map { ($0.key, $0.value) }))
    }
    self.init(started: own)
  }

  /// Takes in under which policy a run went on.
  mutating func goOn(resumed data: JSONObject) {
    guard let digest = data["policyDigest"]?.stringValue else { return }
    let before = self[.policy].flatMap { try? JSONValue(parsing: $0) }
    let all = (before?.arrayValue ?? before.map { [$0] } ?? []) + [Self.shortened(digest)]
    say(.policy, all.count == 1 ? all[0] : .array(all))
  }

  private mutating func say(_ key: Key, _ value: JSONValue) {
    self[key] = AcceptedText.value(value)
  }

  /// As many digits of a digest as tell it from every other.
  private static func shortened(_ digest: String) -> JSONValue {
    .string(String(digest.prefix(32)))
  }
}

/// What a run was made with beside what the accepted one was made with.
struct SettingComparison {
  private(set) var differences: [Difference] = []
  /// Why the two cannot be compared.
  private(set) var reason: String?

  /// - Parameter caller: whose runs they are of; `nil` for the root.
  init(_ accepted: RunSetting, _ actual: RunSetting, of caller: String? = nil) {
    for key in RunSetting.Key.allCases {
      let place = caller.map { "\(key.rawValue) of \($0)" } ?? key.rawValue
      compare(key, accepted[key], actual[key], place)
    }
  }

  private mutating func compare(
    _ key: RunSetting.Key, _ old: String?, _ new: String?, _ place: String
  ) {
    guard old.map(ByteText.init) != new.map(ByteText.init) else { return }
    var effect = Difference.Effect.neutral
    switch key {
    case .limits, .policyContext:
      // What was not recorded then was not accepted either; what is not recorded now may be anything.
      guard let old else { return }
      guard let new else {
        reason =
          reason ?? "\(place) of the run were accepted, and its log does not say them now"
        return
      }
      if key == .policyContext || Self.isLooser(old, new) { effect = .regression }
    case .model, .policy: break
    }
    differences.append(
      Difference(
        kind: key.kind, effect: effect, place: place, accepted: old, actual: new))
  }

  /// Whether a limit is higher, or gone; also where nobody can tell.
  private static func isLooser(_ old: String, _ new: String) -> Bool {
    guard let before = try? JSONValue(parsing: old).objectValue,
      let after = try? JSONValue(parsing: new).objectValue
    else { return true }
    return before.contains { limit in
      guard let old = limit.value.doubleValue, let new = after[limit.key]?.doubleValue else {
        return true
      }
      return new > old
    }
  }
}

extension RunSetting.Key {
  fileprivate var kind: Difference.Kind {
    switch self {
    case .model: .model
    case .policy: .policy
    case .limits: .limits
    case .policyContext: .policyContext
    }
  }
}
