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
    public var holders: [String] { heldBy.elements }
    fileprivate var heldBy = OrderedRow<String>()

    /// Whether the verdict on a call that rests on it has to name it: something is spent, or may be over.
    var isNamed: Bool { left != nil || until != nil }

    fileprivate init(
      callId: String, actionId: String, left: Int? = nil, until: String? = nil
    ) {
      self.callId = callId
      self.actionId = actionId
      self.left = left
      self.until = until
    }

    fileprivate var hasRoom: Bool { left.map { $0 > heldBy.count } ?? true }

    /// Whether it is one for so many calls that another may rest on.
    fileprivate var isOpen: Bool { left != nil && hasRoom }
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
  ///
  /// - Complexity: linear where some before the last are used up.
  public var grants: [Grant] { row.elements }

  private var row = OrderedRow<Grant>()
  // Beside the grants, so that none is looked for among very many. All follow from them.
  /// What each call holds, in the order of the grants.
  private var holds: [TextBytes: [Hold]] = [:]
  /// Those for the rest of the run.
  private var ofInputs: [RunWide: [Int]] = [:]
  /// Those that another call may rest on, by the call that they were given to.
  private var open: [TextBytes: [Int]] = [:]

  /// A grant, and the call's place among those that hold it.
  private struct Hold: Sendable {
    var grant: Int
    var place: Int
  }

  private struct RunWide: Hashable, Sendable {
    var actionId: TextBytes
    var until: String?

    init(_ grant: Grant) {
      actionId = TextBytes(grant.actionId)
      until = grant.until
    }
  }

  /// Nobody has granted anything.
  public init() {}

  /// Somebody has granted these tools and inputs for the rest of the run.
  public init(ofActions actionIds: [String]) {
    for actionId in actionIds { append(Grant(callId: "", actionId: actionId)) }
  }

  /// Whether nothing is left of what was granted.
  public var isEmpty: Bool { row.isEmpty }

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
    let held = Set((holds[TextBytes(callId)] ?? []).map(\.grant))
    let candidates = zip(row.places, row.elements).filter { place, grant in
      (grant.actionId.hasSameUTF8(as: actionId)
        || olderActionId.map { grant.actionId.hasSameUTF8(as: $0) } ?? false)
        && (held.contains(place) || grant.hasRoom) && fits(grant)
    }
    let free = candidates.filter { !held.contains($0.0) }.map(\.1)
    let ranked =
      candidates.filter { held.contains($0.0) }.map(\.1)
      + free.filter { $0.left == nil } + free.filter { $0.left != nil }
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
      grant.left = count
      grant.heldBy.append(approval.callId)
    case .input?, nil:
      // What is said again for the run says no more than before.
      for same in ofInputs[RunWide(grant)] ?? [] { remove(same) }
    }
    append(grant)
    if row.count > Self.limit, let oldest = row.first { remove(oldest) }
  }

  /// A verdict let a call through on the approval that was given to another, or to itself.
  public mutating func hold(_ callId: String, onThatOf grantedTo: String) {
    guard holds[TextBytes(callId)] == nil, let grant = open[TextBytes(grantedTo)]?.first else {
      return
    }
    var place = 0
    change(grant) { place = $0.heldBy.append(callId) }
    holds[TextBytes(callId)] = [Hold(grant: grant, place: place)]
  }

  /// A call begins: what it holds is spent.
  public mutating func begin(_ callId: String) {
    guard !holds.isEmpty, let grant = holds[TextBytes(callId)]?.first?.grant else { return }
    release(grant, heldBy: callId)
    spend(grant)
  }

  /// A call is over: what it holds and did not spend is free again; what was its own has lapsed.
  public mutating func end(_ callId: String) {
    guard !holds.isEmpty else { return }
    while let grant = holds[TextBytes(callId)]?.last?.grant {
      release(grant, heldBy: callId)
      if row[grant]?.callId.hasSameUTF8(as: callId) ?? false { spend(grant) }
    }
  }

  private mutating func spend(_ grant: Int) {
    guard let left = row[grant]?.left else { return }
    if left <= 1 { remove(grant) } else { change(grant) { $0.left = left - 1 } }
  }

  // MARK: Grants by number

  /// Puts a grant behind the others.
  private mutating func append(_ grant: Grant) {
    let number = row.append(grant)
    for place in grant.heldBy.places {
      guard let callId = grant.heldBy[place] else { continue }
      holds[TextBytes(callId), default: []].append(Hold(grant: number, place: place))
    }
    if grant.left == nil { ofInputs[RunWide(grant), default: []].append(number) }
    if grant.isOpen { open[TextBytes(grant.callId), default: []].append(number) }
  }

  /// Takes a grant out, whoever holds it.
  private mutating func remove(_ number: Int) {
    guard let grant = row.remove(number) else { return }
    for callId in grant.holders { forget(number, heldBy: TextBytes(callId)) }
    if grant.left == nil { Self.take(number, outOf: &ofInputs, RunWide(grant)) }
    if grant.isOpen { Self.take(number, outOf: &open, TextBytes(grant.callId)) }
  }

  /// Lets a call hold a grant no more.
  private mutating func release(_ number: Int, heldBy callId: String) {
    let places = (holds[TextBytes(callId)] ?? []).filter { $0.grant == number }.map(\.place)
    change(number) { grant in
      for place in places { grant.heldBy.remove(place) }
    }
    forget(number, heldBy: TextBytes(callId))
  }

  private mutating func forget(_ number: Int, heldBy callId: TextBytes) {
    holds[callId]?.removeAll { $0.grant == number }
    if holds[callId]?.isEmpty ?? false { holds[callId] = nil }
  }

  /// Changes what a grant has left, or who holds it.
  private mutating func change(_ number: Int, _ body: (inout Grant) -> Void) {
    var (wasOpen, isOpen, callId) = (false, false, "")
    row.change(number) { grant in
      wasOpen = grant.isOpen
      body(&grant)
      (isOpen, callId) = (grant.isOpen, grant.callId)
    }
    guard wasOpen != isOpen else { return }
    let key = TextBytes(callId)
    guard isOpen else { return Self.take(number, outOf: &open, key) }
    let place = open[key]?.firstPlace(notBelow: number) ?? 0
    open[key, default: []].insert(number, at: place)
  }

  private static func take<Key>(
    _ number: Int, outOf numbers: inout [Key: [Int]], _ key: Key
  ) {
    guard let all = numbers[key] else { return }
    guard all.count > 1 else {
      numbers[key] = nil
      return
    }
    let place = all.firstPlace(notBelow: number)
    guard place < all.count, all[place] == number else { return }
    numbers[key]?.remove(at: place)
  }
}

extension Approvals {
  // Everything beside the grants follows from them.
  /// Whether both have the same grants, in the same order.
  public static func == (left: Approvals, right: Approvals) -> Bool { left.row == right.row }

  /// Hashes the grants.
  public func hash(into hasher: inout Hasher) { hasher.combine(row) }
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
    var approvals = Approvals()
    for var grant in grants {
      grant.actionId = grant.older.id ?? grant.actionId
      approvals.append(grant)
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
            ("holders", grant.heldBy.isEmpty ? .null : JSONValue(grant.holders)),
          ]))
      })
  }

  init(readers: [PayloadReader]) throws(PayloadError) {
    for reader in readers {
      var grant = Grant(
        callId: try reader.string("callId"), actionId: try reader.string("actionId"),
        left: try reader.optionalInt("left"), until: try reader.optionalString("until"))
      if grant.left != nil {
        for callId in try reader.strings("holders") { grant.heldBy.append(callId) }
      }
      append(grant)
    }
  }
}
