/// The approvals of a run that are not used up: a fold over answers of people, verdicts and starts.
///
/// An approval is given to one call, which holds it until it begins or is over. One that covers more calls
/// is held by each that a verdict lets through on it, so that calls of one decision cannot all begin on
/// what is left for one. What is held by a call is spent when that call begins, once, however often it is
/// tried again.
///
/// Why: Docs/decisions/0015-one-approval-lets-one-call-run.md
public struct Approvals: Sendable, Hashable {
  /// The most approvals that are kept track of; beyond them the oldest count as used up.
  public static let limit = 10_000

  /// An approval that is not used up.
  public struct Grant: Sendable, Hashable {
    /// The call that it was given to.
    public internal(set) var callId: String
    /// The tool and the input that it covers.
    public internal(set) var actionId: String
    var older = OlderActionId()
    /// How many calls may begin on it; `nil` for any number.
    public internal(set) var left: Int?
    /// When it runs out, as UTC; `nil` for never.
    public internal(set) var until: String?
    /// The calls that may begin on it and have not.
    public internal(set) var holders: [String] = []

    /// Whether the verdict on a call that rests on it has to name it: something is spent, or may be over.
    var isNamed: Bool { left != nil || until != nil }

    fileprivate func isHeld(by callId: String) -> Bool {
      holders.contains { $0.hasSameUTF8(as: callId) }
    }

    fileprivate var hasRoom: Bool { left.map { $0 > holders.count } ?? true }
  }

  /// What there is for a call.
  public enum Finding: Sendable, Hashable {
    /// No approval covers it.
    case none
    /// This one does.
    case covered(by: Grant)
    /// This one would, had it not run out.
    case over(Grant)
  }

  /// Those that are not used up, oldest first.
  public private(set) var grants: [Grant] = []

  /// Nobody has granted anything.
  public init() {}

  /// Somebody has granted these tools and inputs for the rest of the run.
  public init(ofActions actionIds: [String]) {
    grants = actionIds.map { Grant(callId: "", actionId: $0) }
  }

  /// Whether nothing is left of what was granted.
  public var isEmpty: Bool { grants.isEmpty }

  /// The tools and inputs that they cover, oldest first, each once.
  public var actionIds: [String] {
    var seen: Set<String> = []
    return grants.compactMap { seen.insert($0.actionId).inserted ? $0.actionId : nil }
  }

  /// What there is for a call: first what it holds, then what covers any number of calls, then what has
  /// room for one more, the oldest first.
  ///
  /// - Parameters:
  ///   - callId: of the call, by which approvals say who holds them.
  ///   - actionId: of the call.
  ///   - olderActionId: what an older program called it, where that is another: a state that was read from
  ///     its log may know it by nothing else.
  ///   - isOver: whether a time has passed.
  ///   - fits: which approvals count at all.
  public func finding(
    for callId: String, actionId: String, olderActionId: String? = nil,
    isOver: (String) -> Bool, among fits: (Grant) -> Bool = { _ in true }
  ) -> Finding {
    let candidates = grants.filter { grant in
      (grant.actionId.hasSameUTF8(as: actionId)
        || olderActionId.map { grant.actionId.hasSameUTF8(as: $0) } ?? false)
        && (grant.isHeld(by: callId) || grant.hasRoom) && fits(grant)
    }
    let ranked =
      candidates.filter { $0.isHeld(by: callId) }
      + candidates.filter { !$0.isHeld(by: callId) && $0.left == nil }
      + candidates.filter { !$0.isHeld(by: callId) && $0.left != nil }
    if let good = ranked.first(where: { !($0.until.map(isOver) ?? false) }) {
      return .covered(by: good)
    }
    return ranked.last.map(Finding.over) ?? .none
  }

  /// Takes in what a person said of a call. It stands in the place of what they said of it before.
  ///
  /// - Parameters:
  ///   - approval: what they said; a no only ends what was granted to the call before.
  ///   - olderActionId: what the approval itself calls the action, where an older program wrote it.
  public mutating func take(_ approval: Approval, olderActionId: String? = nil) {
    end(approval.callId)
    guard approval.granted else { return }
    var grant = Grant(
      callId: approval.callId, actionId: approval.actionId, until: approval.until)
    grant.older.id = olderActionId
    switch approval.scope {
    case .calls(let count)?:
      guard count > 0 else { return }
      (grant.left, grant.holders) = (count, [approval.callId])
    case .input?, nil:
      // What is said again for the run says no more than before.
      grants.removeAll {
        $0.left == nil && $0.until == grant.until && $0.actionId.hasSameUTF8(as: grant.actionId)
      }
    }
    grants.append(grant)
    if grants.count > Self.limit { grants.removeFirst() }
  }

  /// A verdict let a call through on the approval that was given to another, or to itself.
  public mutating func hold(_ callId: String, onThatOf grantedTo: String) {
    let index = grants.firstIndex {
      $0.left != nil && $0.hasRoom && $0.callId.hasSameUTF8(as: grantedTo)
    }
    guard let index, !grants.contains(where: { $0.isHeld(by: callId) }) else { return }
    grants[index].holders.append(callId)
  }

  /// A call begins: what it holds is spent.
  public mutating func begin(_ callId: String) {
    guard let index = grants.firstIndex(where: { $0.isHeld(by: callId) }) else { return }
    grants[index].holders.removeAll { $0.hasSameUTF8(as: callId) }
    spend(index)
  }

  /// A call is over: what it holds and did not spend is free again; what was its own has lapsed.
  public mutating func end(_ callId: String) {
    for index in grants.indices.reversed() where grants[index].isHeld(by: callId) {
      grants[index].holders.removeAll { $0.hasSameUTF8(as: callId) }
      if grants[index].callId.hasSameUTF8(as: callId) { spend(index) }
    }
  }

  private mutating func spend(_ index: Int) {
    guard let left = grants[index].left else { return }
    grants[index].left = left - 1
    if left <= 1 { grants.remove(at: index) }
  }
}

extension Approvals.Finding {
  /// Whether the call may rest on an approval.
  public var isCovered: Bool { if case .covered = self { true } else { false } }

  /// What a verdict's `context` says of it: nothing of an approval that neither is spent nor runs out.
  public var recorded: JSONValue? {
    switch self {
    case .none: nil
    case .covered(let grant):
      grant.isNamed
        ? .object(
          JSONObject(present: [
            ("callId", .string(grant.callId)), ("until", grant.until.map(JSONValue.string)),
          ])) : nil
    case .over(let grant):
      .object(
        JSONObject(present: [
          ("callId", .string(grant.callId)), ("until", grant.until.map(JSONValue.string)),
          ("expired", true),
        ]))
    }
  }
}

/// What the `context` of a recorded verdict says of the approval that it rests on.
public struct RecordedFinding: Sendable, Hashable {
  /// The tool and input of the call, where an approval covered it.
  public var actionId: String?
  /// The call that the approval was given to, where the verdict names it.
  public var grantedTo: String?
  /// Whether that approval had run out.
  public var isExpired: Bool

  /// Reads a verdict's `context`; what is missing or of another kind says nothing.
  public init(context: JSONValue?) {
    let approval = context?["approval"]
    actionId = context?["approvedActionIds"]?[0]?.stringValue
    grantedTo = approval?["callId"]?.stringValue
    isExpired = approval?["expired"]?.boolValue ?? false
  }

  /// Whether an approval covered the call.
  public var isCovered: Bool { actionId != nil }
}

extension Approvals {
  /// The same with actions named as older programs named them; `nil` where that is no difference.
  var withOlderActionIds: Approvals? {
    guard grants.contains(where: { $0.older.id != nil }) else { return nil }
    var approvals = self
    for index in grants.indices {
      approvals.grants[index].actionId = grants[index].older.id ?? grants[index].actionId
    }
    return approvals
  }
}

// MARK: - Wire form

extension Approvals {
  var encoded: JSONValue {
    .array(
      grants.map { grant in
        .object(
          JSONObject(present: [
            ("callId", .string(grant.callId)), ("actionId", .string(grant.actionId)),
            ("left", grant.left.map { JSONValue($0) }),
            ("until", grant.until.map(JSONValue.string)),
            ("holders", grant.holders.isEmpty ? nil : JSONValue(grant.holders)),
          ]))
      })
  }

  init(readers: [PayloadReader]) throws(PayloadError) {
    for reader in readers {
      var grant = Grant(
        callId: try reader.string("callId"), actionId: try reader.string("actionId"),
        left: try reader.optionalInt("left"), until: try reader.optionalString("until"))
      if grant.left != nil { grant.holders = try reader.strings("holders") }
      grants.append(grant)
    }
  }
}
