import AgentTrace

/// The calls that were read of a run, to hold sightings against.
struct ReadCalls {
  private struct Inputs {
    var known: Set<String> = []
    /// Whether a call of the name has an input that nobody knows: then it may be any.
    var hasUnknown = false
  }

  private var inputs: [String: Inputs] = [:]

  init(_ graph: CallGraph) {
    for case .reply(let reply) in graph.items {
      for call in reply.calls { add(call.name, call.input.value) }
      // A call that is the answer.
      if let call = reply.extra["finalAnswerCall"], let name = call["name"]?.stringValue {
        add(name, nil)
      }
    }
    for case .result(let result) in graph.items {
      guard let tool = result.tool else { continue }
      // What came back of a call that was read says nothing of other calls of its tool.
      if result.input != nil || inputs[ToolWord.plain(tool)] == nil { add(tool, result.input) }
    }
  }

  private mutating func add(_ name: String, _ input: JSONValue?) {
    let name = ToolWord.plain(name)
    guard let input = input.flatMap(CallSightings.whole) else {
      inputs[name, default: Inputs()].hasUnknown = true
      return
    }
    inputs[name, default: Inputs()].known.insert(Self.canonical(input))
  }

  /// Whether a call of this name was read, with these arguments where they are known.
  func hold(_ call: CallSightings.Call) -> Bool {
    let name = ToolWord.plain(call.name)
    let input = call.input.flatMap {
      $0.objectValue?.isEmpty == false ? Self.canonical($0) : nil
    }
    let fits = { (inputs: Inputs) in
      input.map { inputs.hasUnknown || inputs.known.contains($0) } ?? true
    }
    if let same = inputs[name], fits(same) { return true }
    return inputs.contains { ToolWord.isSame($0.key, name) && fits($0.value) }
  }

  private static func canonical(_ input: JSONValue) -> String {
    CanonicalJSON.string(input, form: .plain)
  }
}

extension CallGraph {
  /// The most places that are marked for what was seen and not read.
  private static let markLimit = 100

  /// Marks the replies that say that they ended with calls, and of which none was read; and those whose usage counts more
  /// calls of a server's tools than were read of them.
  mutating func markRepliesWithoutTheirCalls() {
    for case .reply(let reply) in items {
      guard let count = reply.serverCalls, count > reply.calls.count(where: \.mayBeOfServer) else {
        continue
      }
      unread += reply.pointers.prefix(1)
    }
    for case .reply(let reply) in items where reply.calls.isEmpty {
      guard let finish = reply.finish, Self.endsWithCalls.contains(JSONValue.plainKey(finish)),
        reply.extra["finalAnswerCall"] == nil
      else { continue }
      unread += reply.pointers.prefix(1)
    }
  }

  /// Marks the replies that call several tools at once by a tool that no program offers: models of OpenAI make such calls
  /// up, and which of the tools in them a program ran, no result says.
  mutating func markCallsWithinCalls() {
    for case .reply(let reply) in items
    where reply.calls.contains(where: { Self.wrapper == JSONValue.plainKey($0.name) }) {
      unread += reply.pointers.prefix(1)
    }
  }

  /// `multi_tool_use.parallel`, as ``JSONValue/plainKey(_:)`` writes it.
  private static let wrapper = JSONValue.plainKey("multi_tool_use.parallel")

  /// Words for how a reply ended, as ``JSONValue/plainKey(_:)`` writes them: with calls, or with some that its interface
  /// could not make out.
  static let endsWithCalls: Set<String> = [
    "finishreasontoolcalls", "functioncall", "malformedfunctioncall", "malformedmodeloutput",
    "malformedtooluse", "toolcall", "toolcalls",
    "toomanytoolcalls", "tooluse", "unexpectedtoolcall",
  ]

  /// Marks the calls, and the results of calls that nobody asked for, whose tool has no name that can be one.
  mutating func markCallsWithoutName() {
    for index in items.indices {
      switch items[index] {
      case .reply(var reply):
        guard reply.calls.contains(where: { ToolWord.isOdd($0.name) }) else { continue }
        reply.unread += reply.pointers.prefix(1)
        items[index] = .reply(reply)
      case .result(var result):
        guard let tool = result.tool, ToolWord.isOdd(tool) else { continue }
        result.unread.append(result.pointer)
        items[index] = .result(result)
      case .message: break
      }
    }
  }

  /// Marks what has the form of a call and was read nowhere in the run.
  mutating func markCallsNotRead(among sightings: [CallSightings.Sighting]) {
    guard !sightings.isEmpty else { return }
    let read = ReadCalls(self)
    // Most are calls that are told again and again.
    var verdicts: [CallSightings.Call: Bool] = [:]
    var marked = Set(unread + items.flatMap(\.unread))
    for sighting in sightings where unread.count < Self.markLimit {
      let isRead = verdicts[sighting.call] ?? read.hold(sighting.call)
      verdicts[sighting.call] = isRead
      if !isRead, !sighting.pointer.isBelow(marked), !sighting.pointer.isBelow(leftOut) {
        marked.insert(sighting.pointer)
        unread.append(sighting.pointer)
      }
    }
  }

  /// Where the items of the run stand.
  fileprivate var places: [JSONPointer] {
    items.flatMap { item -> [JSONPointer] in
      switch item {
      case .message(let message): [message.pointer]
      case .reply(let reply): reply.pointers
      case .result(let result): [result.pointer]
      }
    }
  }
}

extension GraphCall {
  /// Whether it may be of a tool that the provider's servers run; Anthropic's ids say so.
  fileprivate var mayBeOfServer: Bool { id?.hasPrefix("srvtoolu_") ?? true }
}

extension JSONPointer {
  /// Whether it leads to one of some places, or to something in one.
  fileprivate func isBelow(_ places: Set<JSONPointer>) -> Bool {
    var tokens = self.tokens
    while !places.contains(JSONPointer(tokens: tokens)) {
      guard tokens.popLast() != nil else { return false }
    }
    return true
  }
}

extension [SourceRun] {
  /// The runs of a file, with what has the form of a call in it and was read in none of them marked: in the run whose items
  /// stand nearest, or in all that are as near.
  func markingCallsNotRead(in document: SourceDocument) -> [SourceRun] {
    let graphs = indices.filter { index in
      guard case .success(let content) = self[index].content, let graph = content as? CallGraph
      else {
        return false
      }
      // Theirs are looked for span by span, and sample by sample.
      return ![.otlp, .jaeger, .phoenix, .inspect].contains(graph.format)
    }
    guard let first = graphs.first, let graph = (try? self[first].content.get()) as? CallGraph
    else {
      return self
    }
    let sightings = CallSightings.all(in: document, format: graph.format)
    var runs = self
    var shares: [Int: [CallSightings.Sighting]] = [:]
    if graphs.count == 1 {
      shares[graphs[0]] = sightings
    } else {
      let places = SightingPlaces(graphs.map { ($0, (try? self[$0].content.get()) as? CallGraph) })
      for sighting in sightings {
        for index in places.nearest(to: sighting.pointer) {
          shares[index, default: []].append(sighting)
        }
      }
    }
    for (index, share) in shares {
      guard var graph = (try? runs[index].content.get()) as? CallGraph else { continue }
      graph.markCallsNotRead(among: share)
      runs[index].content = .success(graph)
    }
    return runs
  }
}

/// Which runs have items at or below a place of a file.
private struct SightingPlaces {
  private var runs: [JSONPointer: Set<Int>] = [:]
  private let all: [Int]

  init(_ graphs: [(index: Int, graph: CallGraph?)]) {
    all = graphs.map(\.index)
    for (index, graph) in graphs {
      for place in graph?.places ?? [] {
        var tokens = place.tokens
        while !tokens.isEmpty, runs[JSONPointer(tokens: tokens), default: []].insert(index).inserted
        {
          tokens.removeLast()
        }
      }
    }
  }

  /// The runs with an item in the smallest part of the file that holds the place and any item.
  func nearest(to place: JSONPointer) -> [Int] {
    var tokens = place.tokens
    while !tokens.isEmpty {
      if let found = runs[JSONPointer(tokens: tokens)] { return found.sorted() }
      tokens.removeLast()
    }
    return all
  }
}

extension CallSightings {
  /// What went into a model, a tool or a program.
  private static let shown: Set<String> = [
    "input", "inputs", "mlflowspaninputs", "mlflowtraceinputs", "prompt", "request",
  ]

  /// Everything in a file that has the form of a call.
  fileprivate static func all(in document: SourceDocument, format: ImportFormat) -> [Sighting] {
    let isOfSpans = format.adapter is any SpanFormatAdapter.Type
    return all(in: document, passing: isOfSpans ? shown : [])
  }

  private static func all(in document: SourceDocument, passing: Set<String>) -> [Sighting] {
    switch document {
    case .value(let value): return all(in: value, at: JSONPointer(), passing: passing)
    case .lines(let lines):
      return lines.flatMap { line -> [Sighting] in
        guard case .success(let value) = line.content else { return [] }
        return all(in: value, at: JSONPointer(tokens: [String(line.index)]), passing: passing)
      }
    case .parts(let parts):
      return parts.flatMap { part in
        all(in: part.content, passing: passing).map { sighting in
          var sighting = sighting
          sighting.pointer = JSONPointer(tokens: [part.name] + sighting.pointer.tokens)
          return sighting
        }
      }
    }
  }
}
