/// The calls that have not entered the state yet, in call order.
///
/// A few are looked for one by one; of many an index is kept beside them, so that a call whose result comes
/// late costs no more than one whose result comes at once.
struct PendingCalls: Sendable {
  private var row = OrderedRow<PendingCall>()
  /// `nil` while there are few.
  private var index: Index?

  /// So many are looked for one by one.
  private static let plainCount = 32

  /// Where calls stand, by number.
  private struct Index: Sendable {
    /// The first of each id is there; one behind it may have gone.
    var byId: [TextBytes: ArraySlice<Int>] = [:]
    var byConversation: [Int?: ArraySlice<Int>] = [:]

    mutating func add(_ call: PendingCall, _ place: Int) {
      byId[TextBytes(call.callId), default: []].append(place)
      byConversation[call.conversation, default: []].append(place)
    }

    /// A call has gone from a row that was the first of its conversation. Ids may be those of many calls: what stands
    /// behind others is left until those have gone.
    mutating func remove(_ call: PendingCall, from row: OrderedRow<PendingCall>) {
      let id = TextBytes(call.callId)
      while let first = byId[id]?.first, row[first] == nil { _ = byId[id]?.popFirst() }
      if byId[id]?.isEmpty ?? false { byId[id] = nil }
      if byConversation[call.conversation]?.count == 1 {
        byConversation[call.conversation] = nil
      } else {
        _ = byConversation[call.conversation]?.popFirst()
      }
    }
  }

  var count: Int { row.count }

  /// In call order.
  ///
  /// - Complexity: linear where calls before the last have gone.
  var calls: [PendingCall] { row.elements }

  /// The first call of an id, by its number.
  func place(ofCall callId: String) -> Int? {
    guard let index else { return row.first { $0.callId.hasSameUTF8(as: callId) } }
    return index.byId[TextBytes(callId)]?.first
  }

  /// The first call of an id.
  func call(_ callId: String) -> PendingCall? { place(ofCall: callId).flatMap { row[$0] } }

  /// The call of a number; `nil` where it has gone.
  subscript(place: Int) -> PendingCall? { row[place] }

  /// The first call of a conversation, by its number.
  func first(of conversation: Int?) -> Int? {
    guard let index else { return row.first { $0.conversation == conversation } }
    return index.byConversation[conversation]?.first
  }

  mutating func append(_ call: PendingCall) {
    let place = row.append(call)
    index?.add(call, place)
    if index == nil, row.count > Self.plainCount { makeIndex() }
  }

  /// Changes a call, but neither its id nor its conversation.
  mutating func change(_ place: Int, _ body: (inout PendingCall) -> Void) {
    row.change(place, body)
  }

  /// The first call of all goes.
  mutating func removeFirst() -> PendingCall? { row.first.flatMap { remove($0) } }

  /// The first call of a conversation goes.
  mutating func removeFirst(of conversation: Int?) -> PendingCall? {
    first(of: conversation).flatMap { remove($0) }
  }

  /// - Parameter place: of the first call of its conversation.
  private mutating func remove(_ place: Int) -> PendingCall? {
    guard let call = row.remove(place) else { return nil }
    index?.remove(call, from: row)
    if row.count <= Self.plainCount / 2 { index = nil }
    return call
  }

  private mutating func makeIndex() {
    var made = Index()
    for place in row.places { if let call = row[place] { made.add(call, place) } }
    index = made
  }
}

extension PendingCalls: Hashable {
  // The index follows from the calls.
  static func == (left: PendingCalls, right: PendingCalls) -> Bool { left.row == right.row }

  func hash(into hasher: inout Hasher) { hasher.combine(row) }
}

extension PendingCalls {
  /// The calls as an older program named their actions.
  var withOlderActionIds: PendingCalls? {
    guard row.first(where: { $0.older.id != nil }) != nil else { return nil }
    var calls = self
    for place in row.places {
      calls.change(place) { $0.actionId = $0.older.id ?? $0.actionId }
    }
    return calls
  }
}
