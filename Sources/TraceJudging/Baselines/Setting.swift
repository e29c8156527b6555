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
      return Difference(
        kind: key.kind, effect: key == .agentFile ? .neutral : .regression, place: key.rawValue,
        accepted: old, actual: new)
    }
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

  init(_ accepted: RunSetting, _ actual: RunSetting) {
    for key in RunSetting.Key.allCases { compare(key, accepted[key], actual[key]) }
  }

  private mutating func compare(_ key: RunSetting.Key, _ old: String?, _ new: String?) {
    guard old.map(ByteText.init) != new.map(ByteText.init) else { return }
    var effect = Difference.Effect.neutral
    switch key {
    case .limits, .policyContext:
      // What was not recorded then was not accepted either; what is not recorded now may be anything.
      guard let old else { return }
      guard let new else {
        reason =
          reason ?? "\(key.rawValue) of the run were accepted, and its log does not say them now"
        return
      }
      if key == .policyContext || Self.isLooser(old, new) { effect = .regression }
    case .model, .policy: break
    }
    differences.append(
      Difference(
        kind: key.kind, effect: effect, place: key.rawValue, accepted: old, actual: new))
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
