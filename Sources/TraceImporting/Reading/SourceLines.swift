import AgentTrace

/// The values of a file of lines, or of the list that a file holds, each with its place.
struct SourceLines {
  var values: [(pointer: JSONPointer, value: JSONValue)] = []
  /// Where lines stand that are no JSON, or nothing but a text.
  var unread: [JSONPointer] = []

  /// The most lines that are read.
  static let limit = 500_000

  /// Lines of a file, or elements of a list at one of some keys. A line that is no JSON is named, and the others go
  /// on: sessions are written while they run.
  init(_ document: SourceDocument, keys: [String] = [], below: JSONPointer = JSONPointer()) {
    switch document {
    case .lines(let lines):
      for line in lines.prefix(Self.limit) {
        let place = below.appending(String(line.index))
        switch line.content {
        // A text may hold a line in turn.
        case .success(.string(let text)) where !text.isEmpty: unread.append(place)
        case .success(let value): values.append((place, value))
        case .failure: unread.append(place)
        }
      }
    case .value(let value):
      if let elements = value.arrayValue {
        add(elements, at: below)
      } else if let key = keys.first(where: { value[$0]?.arrayValue != nil }) {
        add(value[key]?.arrayValue ?? [], at: below.appending(key))
      } else {
        values = [(below, value)]
      }
    case .parts(let parts):
      for part in parts {
        let inner = SourceLines(part.content, keys: keys, below: below.appending(part.name))
        values += inner.values
        unread += inner.unread
      }
    }
  }

  private mutating func add(_ elements: [JSONValue], at pointer: JSONPointer) {
    for (index, element) in elements.prefix(Self.limit).enumerated() {
      values.append((pointer.appending(String(index)), element))
    }
  }

  /// These without the lines that stand there again, as they do after a session was resumed or a file copied onto its
  /// own end: a line that says when it was written, or has an id, is one however often it stands there.
  var withoutRepeats: SourceLines {
    var seen: Set<JSONValue> = []
    var once = self
    once.values = values.filter { _, value in
      let isNamed = Self.identities.contains { value[$0]?.saysNothing == false }
      return !isNamed || seen.insert(value).inserted
    }
    return once
  }

  private static let identities = ["uuid", "id", "timestamp"]

  /// Whether one of the first values is what a format begins with.
  static func begin(
    _ document: SourceDocument, keys: [String] = [], with isOne: (JSONValue) -> Bool
  ) -> Bool {
    switch document {
    case .lines(let lines):
      return lines.prefix(30).contains { line in
        (try? line.content.get()).map(isOne) ?? false
      }
    case .value(let value):
      if let elements = value.arrayValue { return elements.prefix(30).contains(where: isOne) }
      if let key = keys.first(where: { value[$0]?.arrayValue != nil }) {
        return value[key]?.arrayValue?.prefix(30).contains(where: isOne) ?? false
      }
      return isOne(value)
    case .parts(let parts):
      return !parts.isEmpty && parts.contains { begin($0.content, keys: keys, with: isOne) }
    }
  }
}
