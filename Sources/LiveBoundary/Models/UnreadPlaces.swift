import AgentTrace

/// Where a reply holds something that nobody here knows, and that may be a call.
///
/// What the dialects know of a reply is listed beside the code that reads it. Whatever else holds something is
/// noted: a reply of which a part went unread is never taken for one that holds no call.
struct UnreadPlaces: Sendable, Hashable {
  /// The most places that are told.
  private static let limit = 8

  /// The first ones, in the order in which they were met, each once.
  private(set) var places: [String] = []

  var isEmpty: Bool { places.isEmpty }

  /// Notes a place, in the words of a pointer.
  mutating func note(_ place: String) {
    let place = place.prefix(utf8Bytes: 200)
    guard places.count < Self.limit, !places.contains(where: { $0.hasSameUTF8(as: place) }) else {
      return
    }
    places.append(place)
  }

  mutating func note(_ others: UnreadPlaces) { for place in others.places { note(place) } }

  /// Notes what stands under keys that are not known.
  ///
  /// - Parameter texts: whether a text may hold something too; beside the choices of a reply there are many
  ///   that hold nothing.
  mutating func check(
    _ value: JSONValue?, knowing keys: Set<String>, at place: String, texts: Bool = true
  ) {
    guard let object = value?.objectValue else {
      if let value, Self.holdsSomething(value, texts: texts) { note(place) }
      return
    }
    for member in object
    where !keys.contains(member.key) && Self.holdsSomething(member.value, texts: texts) {
      note("\(place)/\(member.key)")
    }
  }

  /// Whether a value may say anything of a call: numbers, truths and what is empty do not.
  private static func holdsSomething(_ value: JSONValue, texts: Bool) -> Bool {
    switch value {
    case .array(let elements): !elements.isEmpty
    case .object(let object): !object.isEmpty
    case .string(let text): texts && !text.isEmpty
    case .null, .bool, .number: false
    default: true
    }
  }
}

/// A call that the provider has run itself before its reply came.
struct RanCall: Sendable {
  var id: String?
  var name: String
  var input: JSONValue
  /// `ok`, `error`, or `nil` where the reply does not say what came of it.
  var status: String?
  /// What it returned, or why it failed.
  var data: JSONValue = .null

  /// As a reply holds it; see ``ModelReply``.
  var value: JSONValue {
    var call: JSONObject = ["name": .string(name), "input": input]
    if let id, !id.isEmpty { call["id"] = .string(id) }
    call["status"] = status.map(JSONValue.string)
    if status != nil, !data.isNull { call["data"] = data }
    return .object(call)
  }
}
