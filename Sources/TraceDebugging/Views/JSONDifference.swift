import AgentTrace
import TraceReporting

/// Where two JSON values differ, place by place.
struct JSONDifference {
  /// One place.
  struct Entry {
    var pointer: JSONPointer
    /// `nil` where there was nothing.
    var old: JSONValue?
    /// `nil` where there is nothing any more.
    var new: JSONValue?
  }

  private(set) var entries: [Entry] = []
  static let limit = 1_000

  init(from old: JSONValue, to new: JSONValue) { compare(old, new, JSONPointer()) }

  private mutating func compare(_ old: JSONValue, _ new: JSONValue, _ place: JSONPointer) {
    guard old != new, entries.count < Self.limit else { return }
    switch (old, new) {
    case (.object(let left), .object(let right)):
      for member in left where right[member.key] == nil {
        add(place.appending(member.key), member.value, nil)
      }
      for member in right {
        guard let other = left[member.key] else {
          add(place.appending(member.key), nil, member.value)
          continue
        }
        compare(other, member.value, place.appending(member.key))
      }
    case (.array(let left), .array(let right)): compare(left, right, place)
    default: add(place, old, new)
    }
  }

  /// Elements that both begin or end with are the same; those between are paired in order.
  private mutating func compare(
    _ left: [JSONValue], _ right: [JSONValue], _ place: JSONPointer
  ) {
    if let gone = Self.gone(left, right) {
      // The oldest went as new ones came.
      for index in 0..<gone { add(place.appending(String(index)), left[index], nil) }
      for index in (left.count - gone)..<right.count {
        add(place.appending(String(index)), nil, right[index])
      }
      return
    }
    let head = zip(left, right).prefix { $0 == $1 }.count
    let room = min(left.count, right.count) - head
    let tail = zip(left.reversed(), right.reversed()).prefix(room).prefix { $0 == $1 }.count
    let (old, new) = (left[head..<(left.count - tail)], right[head..<(right.count - tail)])
    for index in 0..<max(old.count, new.count) {
      let at = place.appending(String(head + index))
      switch (index < old.count, index < new.count) {
      case (true, true) where old.count == new.count:
        compare(old[head + index], new[head + index], at)
      case (true, true): add(at, old[head + index], new[head + index])
      case (true, false): add(at, old[head + index], nil)
      default: add(at, nil, new[head + index])
      }
    }
  }

  /// How many elements went at the beginning, where the others stay and some may follow them.
  private static func gone(_ left: [JSONValue], _ right: [JSONValue]) -> Int? {
    guard let first = right.first, let gone = left.firstIndex(of: first), gone > 0,
      left.count - gone <= right.count,
      left[gone...].elementsEqual(right.prefix(left.count - gone))
    else { return nil }
    return gone
  }

  private mutating func add(_ pointer: JSONPointer, _ old: JSONValue?, _ new: JSONValue?) {
    guard entries.count < Self.limit else { return }
    entries.append(Entry(pointer: pointer, old: old, new: new))
  }
}

extension Page {
  /// Tells where two values differ.
  mutating func add(_ difference: JSONDifference, under root: String) {
    func short(_ value: JSONValue) -> String {
      let head = CanonicalJSON.prefix(of: value, limitBytes: 208)
      return head.utf8.count > 200 ? head.prefix(utf8Bytes: 200) + "…" : head
    }
    if difference.entries.isEmpty { line("  nothing", .faint) }
    for entry in difference.entries {
      let place = root + entry.pointer.description
      let spans: [TextLine.Span] =
        switch (entry.old, entry.new) {
        case (let old?, let new?):
          [.init("~ ", .warning), .init("\(place): \(short(old)) → \(short(new))")]
        case (let old?, nil): [.init("- ", .bad), .init("\(place): \(short(old))")]
        case (nil, let new?): [.init("+ ", .good), .init("\(place): \(short(new))")]
        case (nil, nil): []
        }
      lines.append(TextLine(spans, hanging: 4))
    }
    if difference.entries.count >= JSONDifference.limit { line("  …", .faint) }
  }
}
