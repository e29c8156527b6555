import AgentTrace

/// What a stream of the Responses interface says of calls before its last event, to be held against that: whoever
/// reads the stream may act on either.
struct ToldCalls: Sendable {
  /// What the events of one item said.
  private struct Told: Sendable {
    var place: Int
    var id: String?
    /// As it was when it began.
    var begun: JSONValue?
    /// As it was when it was done.
    var done: JSONValue?
    /// Its arguments, piece by piece.
    var pieces = TextPieces()
    /// As they were when they were done, and the name that was said with them.
    var arguments: JSONValue?
    var name: JSONValue?
    /// Whether one and the same was told twice, and differently.
    var isRetold = false
  }

  /// How many calls are compared: beyond that it is said that they were not.
  private static let limit = 1_000

  private var told: [Told] = []
  private var byPlace: [Int: Int] = [:]
  private var byID: [String: Int] = [:]
  private var hasMore = false

  /// Takes in an event; which place it speaks of where it does not say that itself.
  mutating func take(_ data: JSONValue, _ type: String) {
    switch type {
    case "response.output_item.added", "response.output_item.done":
      guard let item = data["item"], Self.isCall(item),
        let index = index(of: data, id: item["id"]?.stringValue)
      else { return }
      let path = type.hasSuffix(".added") ? \Told.begun : \Told.done
      if let known = told[index][keyPath: path], !Self.isSame(known, item) {
        told[index].isRetold = true
      }
      told[index][keyPath: path] = item
    case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
      guard let index = index(of: data, id: data["item_id"]?.stringValue) else { return }
      told[index].pieces.append(data["delta"])
    case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
      guard let index = index(of: data, id: data["item_id"]?.stringValue) else { return }
      let arguments = data["arguments"] ?? data["input"]
      if let known = told[index].arguments, known != arguments { told[index].isRetold = true }
      told[index].arguments = arguments
      told[index].name = data["name"]
    default: break
    }
  }

  /// Where the item is told that an event speaks of; `nil` where there are too many.
  private mutating func index(of data: JSONValue, id: String?) -> Int? {
    let place = data["output_index"]?.intValue
    if let found = place.map({ byPlace[$0] }) ?? id.flatMap({ byID[$0] }) { return found }
    guard told.count < Self.limit else {
      hasMore = true
      return nil
    }
    byPlace[place ?? told.count] = told.count
    if let id { byID[id] = told.count }
    told.append(Told(place: place ?? told.count, id: id))
    return told.count - 1
  }

  static func isCall(_ item: JSONValue) -> Bool {
    ["function_call", "custom_tool_call"].contains(item["type"]?.stringValue ?? "")
  }

  /// Items that were done and that an output does not hold.
  func missing(from output: [JSONValue]) -> [JSONValue] {
    let calls = output.filter(Self.isCall)
    guard calls.count <= Self.limit else { return [] }
    return told.compactMap(\.done).filter { done in !calls.contains { Self.isSame($0, done) } }
  }

  /// Notes what was said of calls otherwise than an output has it.
  func note(differencesFrom output: [JSONValue], in unread: inout UnreadPlaces) {
    if hasMore { unread.note("a stream of more than \(Self.limit) calls") }
    let calls = output.filter(Self.isCall)
    if !told.isEmpty, calls.count > Self.limit {
      return unread.note("a response of more calls than are compared")
    }
    for told in told {
      let place = "a stream’s output \(told.place)"
      if told.isRetold { unread.note("\(place): a call that is told in several ways") }
      if let begun = told.begun ?? told.done,
        !calls.contains(where: { Self.isOne($0, begun) && Self.isNamed($0, as: begun) })
      {
        unread.note("\(place): a call that the response does not hold so")
        continue
      }
      let call = calls.first { call in
        guard let own = told.done ?? told.begun else { return call["id"]?.stringValue == told.id }
        return Self.isOne(call, own) && Self.isNamed(call, as: own)
      }
      guard let call else {
        unread.note("\(place): arguments of a call that the response does not hold")
        continue
      }
      let final = call["arguments"] ?? call["input"] ?? .null
      var texts = [told.arguments].compactMap { $0 }
      if !told.pieces.isEmpty { texts.append(.string(told.pieces.text)) }
      // Pieces add to what a call begins with.
      if let begun = told.begun?["arguments"] ?? told.begun?["input"], !begun.isNull,
        !["", "{}"].contains(begun)
      {
        texts.append(begun)
      }
      if !texts.allSatisfy({ Self.isSame(input: $0, final) }) {
        unread.note("\(place): other arguments than the response has")
      }
      if let name = told.name, !name.isNull, name != call["name"] {
        unread.note("\(place): another name than the response has")
      }
    }
  }

  /// Whether two items speak of one call, as far as they say which it is.
  private static func isOne(_ left: JSONValue, _ right: JSONValue) -> Bool {
    guard let one = left["call_id"]?.stringValue, let other = right["call_id"]?.stringValue else {
      return true
    }
    return one.hasSameUTF8(as: other)
  }

  /// Whether a call has the name that another item gives it, if it does.
  private static func isNamed(_ call: JSONValue, as other: JSONValue) -> Bool {
    guard let name = other["name"]?.stringValue, !name.isEmpty else { return true }
    return call["name"]?.stringValue?.hasSameUTF8(as: name) ?? false
  }

  private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
    isOne(left, right) && left["type"] == right["type"] && left["name"] == right["name"]
      && isSame(
        input: left["arguments"] ?? left["input"] ?? .null,
        right["arguments"] ?? right["input"] ?? .null)
  }

  /// Whether inputs are the same: as texts, or read as JSON.
  private static func isSame(input left: JSONValue, _ right: JSONValue) -> Bool {
    if left == right { return true }
    func read(_ value: JSONValue) -> JSONValue? {
      guard let text = value.stringValue else { return value }
      return try? JSONValue(parsing: text, options: .init(keepsForeignText: true))
    }
    guard let left = read(left), let right = read(right) else { return false }
    return left.byValue == right.byValue
  }
}
