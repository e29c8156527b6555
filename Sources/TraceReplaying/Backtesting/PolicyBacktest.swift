public import AgentTrace

/// What another policy says of calls that were recorded, beside what was said then.
///
/// Verdicts are compared one by one. What the run would have done after another verdict is not known
/// and not guessed: each is asked for at the moment that was.
public struct PolicyBacktest: Sendable {
  /// One verdict that is another now.
  public struct Change: Sendable, Hashable {
    /// The log, as the caller named it.
    public var log: String
    /// The number of the recorded verdict.
    public var seq: Int
    /// The step that it belongs to.
    public var step: Int
    /// The call that it is about.
    public var callId: String
    /// What is alike in all changes of its kind.
    public var kind: Kind
  }

  /// What is alike in changes that are counted together.
  public struct Kind: Sendable, Hashable {
    /// The tool that was called.
    public var tool: String
    /// What was said then.
    public var from: VerdictStatus
    /// The rule that said it; `nil` for the default.
    public var oldRule: String?
    /// What is said now.
    public var to: VerdictStatus
    /// The rule that says it; `nil` for the default.
    public var newRule: String?
  }

  /// Logs that were read.
  public internal(set) var logs = 0
  /// Recorded verdicts that were asked for again.
  public internal(set) var verdicts = 0
  /// Those that are as they were, by another rule.
  public internal(set) var byOtherRule = 0
  /// Those that a guard of the run denied where policy had allowed: they are compared with `allow`.
  public internal(set) var guarded = 0
  /// Those in which a fork asked again where policy had allowed: they are compared with `allow`.
  public internal(set) var askedByFork = 0
  /// Verdicts whose call cannot be told, because its decision or a part of its input is lost or cut.
  public internal(set) var unclear = 0
  /// Verdicts that an authorizer would give now that was not asked the same then; they are compared with nothing.
  public internal(set) var unanswered = 0
  /// Those of ``unclear`` and ``unanswered`` by which a call was denied or asked about: whether it is allowed now,
  /// nobody knows.
  public internal(set) var undecided = 0
  /// Changes by what they are.
  public internal(set) var changes: [Kind: Int] = [:]
  /// Changes of more kinds than are told apart.
  public internal(set) var otherChanges: [VerdictStatus: Int] = [:]
  /// The first changes to each verdict, in the order of logs and events.
  public internal(set) var examples: [Change] = []
  private var exampleCounts: [VerdictStatus: Int] = [:]
  /// Calls without a recorded verdict, by what the policy says of them.
  public internal(set) var unjudged: [VerdictStatus: Int] = [:]
  /// Tools of which no definition was known, so that they count as writing; the first of them.
  public internal(set) var undefinedTools: Set<[UInt8]> = []

  /// Kinds of changes that are told apart at most.
  public static let kindLimit = 10_000
  /// Undefined tools that are named at most.
  public static let toolLimit = 100

  /// Nothing was read.
  public init() {}

  /// How many verdicts became this one.
  public func count(to status: VerdictStatus) -> Int {
    changes.reduce(otherChanges[status] ?? 0) { $0 + ($1.key.to == status ? $1.value : 0) }
  }

  /// Whether something is allowed now that was denied or asked about.
  public var widens: Bool { count(to: .allow) > 0 }

  /// Verdicts that are another now.
  public var changed: Int { VerdictStatus.allCases.reduce(0) { $0 + count(to: $1) } }

  /// Kinds of changes, the most frequent first, equal ones by tool and rules.
  public var kinds: [(kind: Kind, count: Int)] {
    changes.map { (kind: $0.key, count: $0.value) }.sorted { left, right in
      if left.count != right.count { return left.count > right.count }
      return left.kind.precedes(right.kind)
    }
  }

  /// The names of ``undefinedTools``, sorted.
  public var undefinedToolNames: [String] {
    undefinedTools.sorted { $0.lexicographicallyPrecedes($1) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// Takes in what comes behind: more logs.
  ///
  /// - Parameter limit: examples of each verdict at most.
  mutating func merge(_ other: PolicyBacktest, examples limit: Int) {
    logs += other.logs
    verdicts += other.verdicts
    byOtherRule += other.byOtherRule
    guarded += other.guarded
    askedByFork += other.askedByFork
    unclear += other.unclear
    unanswered += other.unanswered
    undecided += other.undecided
    for (kind, count) in other.kinds { add(kind, count) }
    for (status, count) in other.otherChanges { otherChanges[status, default: 0] += count }
    for example in other.examples { add(example, limit: limit) }
    for (status, count) in other.unjudged { unjudged[status, default: 0] += count }
    for tool in other.undefinedToolNames { add(undefinedTool: tool) }
  }

  mutating func add(_ kind: Kind, _ count: Int = 1) {
    if changes[kind] != nil || changes.count < Self.kindLimit {
      changes[kind, default: 0] += count
    } else {
      otherChanges[kind.to, default: 0] += count
    }
  }

  mutating func add(_ example: Change, limit: Int) {
    guard exampleCounts[example.kind.to, default: 0] < limit else { return }
    exampleCounts[example.kind.to, default: 0] += 1
    examples.append(example)
  }

  mutating func add(undefinedTool name: String) {
    guard undefinedTools.count < Self.toolLimit else { return }
    undefinedTools.insert(Array(name.utf8))
  }
}

extension PolicyBacktest.Kind {
  /// Any one order, the same everywhere.
  func precedes(_ other: PolicyBacktest.Kind) -> Bool {
    func key(_ kind: PolicyBacktest.Kind) -> [UInt8] {
      let parts = [
        kind.tool, kind.from.rawValue, kind.oldRule.map { "=" + $0 } ?? "", kind.to.rawValue,
        kind.newRule.map { "=" + $0 } ?? "",
      ]
      return Array(parts.joined(separator: "\0").utf8)
    }
    return key(self).lexicographicallyPrecedes(key(other))
  }
}

// MARK: - For programs

extension PolicyBacktest {
  /// What a program may read: `agent-eval schema backtest` describes it.
  public var json: JSONValue {
    func counts(_ count: (VerdictStatus) -> Int) -> JSONObject {
      JSONObject(VerdictStatus.allCases.map { ($0.rawValue, JSONValue(count($0))) })
    }
    var object: JSONObject = [
      "schema": "agent-eval/backtest/1", "logs": JSONValue(logs), "verdicts": JSONValue(verdicts),
      "changed": .object(counts(count(to:))), "widens": .bool(widens),
      "byOtherRule": JSONValue(byOtherRule), "guarded": JSONValue(guarded),
      "askedByFork": JSONValue(askedByFork),
      "unclear": JSONValue(unclear), "unanswered": JSONValue(unanswered),
      "undecided": JSONValue(undecided),
      "unjudged": .object(counts { unjudged[$0] ?? 0 }),
      "kinds": .array(
        kinds.map { kind, count in
          var object = kind.encoded
          object["count"] = JSONValue(count)
          return .object(object)
        }),
      "examples": .array(
        examples.map { change in
          var object = change.kind.encoded
          object["log"] = .string(change.log)
          object["seq"] = JSONValue(change.seq)
          object["step"] = JSONValue(change.step)
          object["callId"] = .string(change.callId)
          return .object(object)
        }),
    ]
    if !undefinedTools.isEmpty { object["undefinedTools"] = JSONValue(undefinedToolNames) }
    return .object(object)
  }
}

extension PolicyBacktest.Kind {
  fileprivate var encoded: JSONObject {
    var object: JSONObject = [
      "tool": .string(tool), "from": .string(from.rawValue), "to": .string(to.rawValue),
    ]
    if let oldRule { object["oldRule"] = .string(oldRule) }
    if let newRule { object["newRule"] = .string(newRule) }
    return object
  }
}
