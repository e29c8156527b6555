/// The spans of a run as a tree, looked at once.
struct SpanTree {
  /// What each span is, in their order.
  let kinds: [SpanKind]
  private let placeByID: [String: Int]
  private let parents: [Int?]
  private let ids: [String]
  private let agentsThatAsk: Set<Int>

  /// How deep a tree is followed; a damaged one ends nowhere.
  private static let depthLimit = 200

  init(of spans: [TraceSpan]) {
    var placeByID: [String: Int] = [:]
    for (place, span) in spans.enumerated() where placeByID[span.id] == nil {
      placeByID[span.id] = place
    }
    let kinds = spans.map(\.kind)
    let parents = spans.map { span in span.parent.flatMap { placeByID[$0] } }
    var asking: Set<Int> = []
    for place in spans.indices where kinds[place] == .model {
      let above = Self.above(parents[place], parents)
      if let agent = above.first(where: { kinds[$0] == .agent }) { asking.insert(agent) }
    }
    (self.placeByID, self.kinds, self.parents, ids) = (placeByID, kinds, parents, spans.map(\.id))
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
    Self.above(span.parent.flatMap { placeByID[$0] }, parents)
  }

  /// The ids of the spans above one.
  func idsAbove(_ span: TraceSpan) -> Set<String> { Set(above(span).map { ids[$0] }) }

  /// Whether an agent asks a model itself, rather than by an agent below it.
  func asksModels(_ place: Int) -> Bool { agentsThatAsk.contains(place) }
}

/// Finds, of what was read, what another span may tell again, without looking at all of it.
struct SpanTwins {
  private typealias Places = [String: [Int]]

  /// By their names, then by who told them.
  private var byName: [String: Places] = [:]
  private var byID: Places = [:]
  private var byIDAbove: Places = [:]
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
    for id in above { found.formUnion(byID[id] ?? []) }
    found.formUnion(byIDAbove[span.id] ?? [])
    for (scope, places) in bySide[span.parent ?? ""] ?? [:] where scope != span.scope {
      found.formUnion(places)
    }
    return found.sorted()
  }

  /// - Parameter above: the ids of what stands above it, which may tell it again although it comes later.
  mutating func add(
    _ span: TraceSpan, named name: String?, below above: Set<String>, at place: Int
  ) {
    if let name { Self.append(place, to: &byName[name, default: [:]][span.scope, default: []]) }
    Self.append(place, to: &byID[span.id, default: []])
    for id in above { Self.append(place, to: &byIDAbove[id, default: []]) }
    Self.append(place, to: &bySide[span.parent ?? "", default: [:]][span.scope, default: []])
  }

  /// Each once: what was told many times stands at one place.
  private static func append(_ place: Int, to places: inout [Int]) {
    if places.last != place { places.append(place) }
  }
}
