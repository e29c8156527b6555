/// The spans of a run as a tree, looked at once.
struct SpanTree {
  /// What each span is, in their order.
  let kinds: [SpanKind]
  private let placeByKey: [String: Int]
  private let parents: [Int?]
  private let keys: [String]
  private let agentsThatAsk: Set<Int>

  /// How deep a tree is followed; a damaged one ends nowhere.
  private static let depthLimit = 200

  init(of spans: [TraceSpan]) {
    var placeByKey: [String: Int] = [:]
    for (place, span) in spans.enumerated() where placeByKey[span.key] == nil {
      placeByKey[span.key] = place
    }
    let kinds = spans.map(\.kind)
    let parents = spans.map { Self.parent(of: $0, in: placeByKey) }
    var asking: Set<Int> = []
    for place in spans.indices where kinds[place] == .model {
      let above = Self.above(parents[place], parents)
      if let agent = above.first(where: { kinds[$0] == .agent }) { asking.insert(agent) }
    }
    (self.placeByKey, self.kinds, self.parents, keys) = (
      placeByKey, kinds, parents, spans.map(\.key)
    )
    agentsThatAsk = asking
  }

  private static func above(_ first: Int?, _ parents: [Int?]) -> [Int] {
    var found: [Int] = []
    var next = first
    while let place = next, found.count < depthLimit {
      found.append(place)
      next = parents[place]
    }
    return found
  }

  /// The places of the spans above one, the nearest first.
  func above(_ span: TraceSpan) -> [Int] {
    Self.above(Self.parent(of: span, in: placeByKey), parents)
  }

  private static func parent(of span: TraceSpan, in places: [String: Int]) -> Int? {
    span.parentKeys.lazy.compactMap { places[$0] }.first
  }

  /// The keys of the spans above one.
  func keysAbove(_ span: TraceSpan) -> Set<String> { Set(above(span).map { keys[$0] }) }

  /// Whether an agent asks a model itself, rather than by an agent below it.
  func asksModels(_ place: Int) -> Bool { agentsThatAsk.contains(place) }
}

/// Finds, of what was read, what another span may tell again, without looking at all of it.
struct SpanTwins {
  private typealias Places = [String: [Int]]

  /// By their names, then by who told them.
  private var byName: [String: Places] = [:]
  private var byKey: Places = [:]
  private var byKeyAbove: Places = [:]
  /// By their parents, then by who told them.
  private var bySide: [String: Places] = [:]

  /// Those that stand above or below a span, or have the same name or stand beside it and are told by others; in their order.
  /// One teller that gives all the same name tells of several, so that they need not be looked at.
  func candidates(for span: TraceSpan, named name: String?, below above: Set<String>) -> [Int] {
    var found: Set<Int> = []
    for (scope, places) in name.flatMap({ byName[$0] }) ?? [:]
    where scope != span.scope {
      found.formUnion(places)
    }
    for key in above { found.formUnion(byKey[key] ?? []) }
    found.formUnion(byKeyAbove[span.key] ?? [])
    for (scope, places) in bySide[span.side] ?? [:] where scope != span.scope {
      found.formUnion(places)
    }
    return found.sorted()
  }

  /// - Parameter above: the keys of what stands above it, which may tell it again although it comes later.
  mutating func add(
    _ span: TraceSpan, named name: String?, below above: Set<String>, at place: Int
  ) {
    if let name { Self.append(place, to: &byName[name, default: [:]][span.scope, default: []]) }
    Self.append(place, to: &byKey[span.key, default: []])
    for key in above { Self.append(place, to: &byKeyAbove[key, default: []]) }
    Self.append(place, to: &bySide[span.side, default: [:]][span.scope, default: []])
  }

  /// Each once: what was told many times stands at one place.
  private static func append(_ place: Int, to places: inout [Int]) {
    if places.last != place { places.append(place) }
  }
}

extension TraceSpan {
  /// What spans beside it have in common with it; roots of all traces stand side by side.
  var side: String { parent.map { Self.key(trace, $0) } ?? "" }
}
