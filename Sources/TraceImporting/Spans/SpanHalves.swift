import AgentTrace

extension SpanSet {
  /// With the beginning and the end of a call told as one where an instrumentation makes a span of each: BeeAI's
  /// `tool.search.start-12`, `tool.search.success-12` and `tool.search.finish-12` tell of one execution.
  func joiningHalves() -> SpanSet {
    var halves: [String: [Int]] = [:]
    for (place, span) in spans.enumerated() {
      if let half = span.half { halves["\(span.trace) \(half.stem)", default: []].append(place) }
    }
    guard !halves.isEmpty else { return self }
    var joined = spans
    var places: [Int: Int] = [:]
    // Where it is not known what belongs together, or what became of it.
    var unclear: [JSONPointer] = []
    for (_, group) in halves.sorted(by: { $0.key.precedesByUTF8($1.key) }) {
      let ordered = group.sorted { SpanRuns.isBefore(spans[$0], spans[$1]) }
      for place in ordered {
        if let half = spans[place].half { joined[place].tellWhole(half.stem) }
      }
      let ends = ordered.filter { !["start", "finish"].contains(spans[$0].half?.word) }
      let finishes = ordered.filter { spans[$0].half?.word == "finish" }
      var open = ordered.filter { spans[$0].half?.word == "start" }
      for end in ends + finishes {
        guard let (begun, isCertain) = beginning(of: end, among: open) else { continue }
        open.removeAll { $0 == begun }
        joined[begun].take(end: joined[end])
        places[end] = begun
        if !isCertain { unclear.append(spans[end].pointer) }
      }
      // Of what has no end nobody saw what became.
      for place in open { joined[place].isOpen = true }
      guard let first = ordered.first(where: { places[$0] == nil && !finishes.contains($0) }) else {
        continue
      }
      // That it is over, behind an end that says how, says nothing of its own; that it failed does.
      let hasFailed = ordered.contains { joined[$0].hasFailed && !finishes.contains($0) }
      for place in finishes where places[place] == nil {
        if joined[place].failure != nil, !hasFailed { unclear.append(spans[place].pointer) }
        places[place] = first
      }
    }
    let ids = places.reduce(into: [String: String]()) { ids, place in
      ids[spans[place.key].key] = spans[place.value].id
    }
    for place in joined.indices {
      guard let parent = joined[place].parent,
        let other = ids[TraceSpan.key(joined[place].trace, parent)]
      else {
        continue
      }
      joined[place].parent = other
    }
    var set = replacing(joined.indices.filter { places[$0] == nil }.map { joined[$0] })
    for (place, whole) in places.sorted(by: { $0.key < $1.key }) {
      guard let told = set.records.removeValue(forKey: spans[place].key) else { continue }
      set.records[spans[whole].key, default: []] += told
    }
    set.unread += unclear
    return set
  }

  /// The beginning that an end belongs to, and whether no other may be meant; `nil` where there is none.
  private func beginning(of end: Int, among open: [Int]) -> (place: Int, isCertain: Bool)? {
    let input = spans[end]["tool.parameters"]
    let before = open.filter { place in
      let begun = spans[place]["tool.parameters"]
      return spans[place].start <= spans[end].start
        && (input == nil || begun == nil || begun == input)
    }
    let same = before.filter { input != nil && spans[$0]["tool.parameters"] == input }
    let candidates = same.isEmpty ? before : same
    let number = spans[end].half?.number
    if let place = candidates.first(where: { spans[$0].half?.number == number }) {
      return (place, true)
    }
    // Of calls that are the same it does not matter which.
    return candidates.first.map { ($0, candidates.count == 1 || !same.isEmpty) }
  }
}

extension TraceSpan {
  private static let halves: Set<Substring> = ["start", "success", "error", "finish"]

  /// What it tells the beginning or the end of, in which word, and how often that was said before; `nil` for most spans.
  fileprivate var half: (stem: String, word: Substring, number: Substring)? {
    guard let dash = name.lastIndex(of: "-"), let dot = name[..<dash].lastIndex(of: ".") else {
      return nil
    }
    let (word, number) = (name[name.index(after: dot)..<dash], name[name.index(after: dash)...])
    guard Self.halves.contains(word), !number.isEmpty,
      number.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      attributes["openinference.span.kind"] != nil, kind == .model || kind == .tool
    else { return nil }
    return (String(name[..<dot]), word, number)
  }

  /// Is called as what it is half of, and has what that was given where a tool's has it.
  fileprivate mutating func tellWhole(_ stem: String) {
    if half?.word == "error" { hasFailed = true }
    if kind == .tool, self["input.value"] == nil, let input = self["tool.parameters"] {
      attributes["input.value"] = input
    }
    name = stem
  }

  /// Takes in how what it began ended.
  fileprivate mutating func take(end other: TraceSpan) {
    end = max(start, other.start)
    for member in other.attributes where self[member.key] == nil {
      attributes[member.key] = member.value
    }
    events += other.events
    hasFailed = hasFailed || other.hasFailed
    statusMessage = statusMessage ?? other.statusMessage
    droppedAttributes += other.droppedAttributes
    droppedEvents += other.droppedEvents
  }
}
