import AgentTrace

/// What a case asks now beside what it asked when it was accepted.
struct AskedComparison {
  private(set) var differences: [Difference] = []
  /// For each name that the judge told an expectation by: the name that it has now.
  private(set) var names: [ByteText: String] = [:]

  private let accepted: [AskedExpectation]
  private let actual: [AskedExpectation]
  /// For each accepted expectation the one of now that is the same or took its place.
  private var partner: [Int?]
  private var isTaken: [Bool]

  init(_ accepted: [AskedExpectation], _ actual: [AskedExpectation]) {
    self.accepted = accepted
    self.actual = actual
    partner = Array(repeating: nil, count: accepted.count)
    isTaken = Array(repeating: false, count: actual.count)
    // From what is surely the same to what only stands at the same place.
    pair { $0.fullName.hasSameUTF8(as: $1.fullName) && Strictness(of: $0, to: $1) == .same }
    pairEqualTexts()
    pair { old, new in
      old.part.hasSameUTF8(as: new.part) && old.list.hasSameUTF8(as: new.list)
        && Strictness(of: old, to: new) != .unknown
    }
    pair { old, new in old.fullName.hasSameUTF8(as: new.fullName) && Self.speakOfSame(old, new) }
    pair { old, new in
      old.list.hasSameUTF8(as: new.list) && Strictness(of: old, to: new) != .unknown
    }
    tell()
  }

  /// Gives each accepted expectation without partner the first that fits among those nobody has.
  private mutating func pair(_ fits: (AskedExpectation, AskedExpectation) -> Bool) {
    let open = actual.indices.filter { !isTaken[$0] }
    guard !open.isEmpty else { return }
    for old in accepted.indices where partner[old] == nil {
      guard let new = open.first(where: { !isTaken[$0] && fits(accepted[old], actual[$0]) }) else {
        continue
      }
      partner[old] = new
      isTaken[new] = true
    }
  }

  /// What is asked in the same words may stand at another place in its list, or in another set.
  private mutating func pairEqualTexts() {
    var places: [[UInt8]: [Int]] = [:]
    func key(_ asked: AskedExpectation) -> [UInt8] {
      Array("\(asked.severity.rawValue)\n\(asked.list)\n\(asked.text)".utf8)
    }
    for (index, asked) in actual.enumerated().reversed() where !isTaken[index] {
      places[key(asked), default: []].append(index)
    }
    for (index, asked) in accepted.enumerated() where partner[index] == nil {
      guard let new = places[key(asked)]?.popLast() else { continue }
      partner[index] = new
      isTaken[new] = true
    }
  }

  /// Whether one took the other's place: not where they speak of different tools.
  private static func speakOfSame(_ old: AskedExpectation, _ new: AskedExpectation) -> Bool {
    guard old.list != old.name else { return true }
    func tool(_ asked: AskedExpectation) -> String? {
      asked.value.flatMap { $0.stringValue ?? $0["tool"]?.stringValue }
    }
    guard let before = tool(old), let after = tool(new) else { return true }
    return before.hasSameUTF8(as: after)
  }

  private mutating func tell() {
    for (index, old) in accepted.enumerated() {
      guard let place = partner[index] else {
        differences.append(
          Difference(
            kind: .expectationDeleted, effect: .regression, place: old.fullName,
            accepted: Self.words(for: old)))
        continue
      }
      let new = actual[place]
      names[ByteText(old.fullName)] = new.fullName
      let kind: Difference.Kind
      switch Strictness(of: old, to: new) {
      case .same: continue
      case .looser: kind = .expectationWeakened
      case .stricter: kind = .expectationStrengthened
      case .unknown: kind = .expectationChanged
      }
      differences.append(
        Difference(
          kind: kind, effect: kind == .expectationWeakened ? .regression : .neutral,
          place: new.fullName, accepted: Self.words(for: old), actual: Self.words(for: new)))
    }
    for (index, new) in actual.enumerated() where !isTaken[index] {
      differences.append(
        Difference(
          kind: .expectationAdded, effect: .neutral, place: new.fullName,
          actual: Self.words(for: new)))
    }
  }

  private static func words(for asked: AskedExpectation) -> String {
    (asked.severity == .warning ? "warning " : "") + asked.text
  }
}
