import AgentTrace

/// Batches of requests to models, and what came of them, a line each: OpenAI's `{"custom_id","method","url","body"}` and
/// `{"custom_id","response":{"status_code","body"},"error"}`, Anthropic's `{"custom_id","params"}` and
/// `{"custom_id","result":{"type","message"}}`.
///
/// Shapes: https://platform.openai.com/docs/guides/batch,
/// https://docs.anthropic.com/en/api/retrieving-message-batch-results
///
/// A request and what came of it, told apart by `custom_id`, are one run of one model's call; ``BatchFiles`` puts together
/// the files in which they stand.
enum Batches: FormatAdapter {
  static let summary = FormatSummary(
    reads: "requests of OpenAI's and Anthropic's batches, and what came of them",
    tells: "calls, usage, failures; requests where they are imported in the same call or folder")

  private static let keys = ["requests", "data"]
  /// What a line may hold.
  private static let known = [
    "id", "custom_id", "method", "url", "body", "params", "response", "result", "error",
  ]
  /// What an answer may hold beside its body.
  private static let knownOfAnswer = [
    "status_code", "request_id", "body", "type", "message", "error",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys, with: isLine)
  }

  private static func isLine(_ value: JSONValue) -> Bool {
    guard value["custom_id"]?.stringValue != nil else { return false }
    return request(in: value) != nil || answer(in: value) != nil
  }

  private typealias Place = (key: String, value: JSONValue)

  private static func request(in line: JSONValue) -> Place? {
    ["body", "params"].lazy.compactMap { key in
      line[key].flatMap { $0.objectValue == nil ? nil : (key, $0) }
    }.first
  }

  /// What came of a request, where a line says that.
  private static func answer(in line: JSONValue) -> Place? {
    if let result = line["result"], result["type"]?.stringValue != nil { return ("result", result) }
    if let response = line["response"], response.objectValue != nil {
      return ("response", response)
    }
    guard let error = line["error"], !error.saysNothing, request(in: line) == nil else {
      return nil
    }
    return ("error", error)
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "lines with a `custom_id`, and a request or what came of it")
    let lines = SourceLines(document, keys: keys)
    var order: [[UInt8]] = []
    var groups: [[UInt8]: [(pointer: JSONPointer, value: JSONValue)]] = [:]
    for (index, line) in lines.values.enumerated() where !line.value.saysNothing {
      // What names no request is told by itself.
      let id = line.value["custom_id"]?.stringValue
      let name = Array((id.map { "id \($0)" } ?? "line \(index)").utf8)
      if groups[name] == nil { order.append(name) }
      groups[name, default: []].append(line)
    }
    return order.enumerated().map { index, name in
      SourceRun(index: order.count == 1 ? nil : index) { () throws(ImportError) in
        var graph = try graph(of: groups[name] ?? [])
        if index == 0 { graph.unread += lines.unread }
        return graph
      }
    }
  }

  /// What lines of a batch are called by, each with its interface before it.
  struct Names {
    var requests: Set<[UInt8]> = []
    var answers: Set<[UInt8]> = []
  }

  /// What is asked for in a document, and what is answered.
  static func names(in document: SourceDocument) -> Names {
    var names = Names()
    for (_, line) in SourceLines(document, keys: keys).values {
      guard let id = line["custom_id"]?.stringValue else { continue }
      let (request, answer) = (request(in: line), answer(in: line))
      if let request { names.requests.insert(Array("\(request.key == "params") \(id)".utf8)) }
      if let answer { names.answers.insert(Array("\(answer.key == "result") \(id)".utf8)) }
    }
    return names
  }

  private static func graph(
    of lines: [(pointer: JSONPointer, value: JSONValue)]
  ) throws(ImportError) -> CallGraph {
    var graph = CallGraph(format: .batch)
    var seen: Set<JSONValue> = []
    var isAsked = false
    var answers: [(pointer: JSONPointer, value: JSONValue, answer: Place)] = []
    for (pointer, line) in lines where seen.insert(line).inserted {
      guard isLine(line), let object = line.objectValue else {
        throw ImportError(.wrongShape(expected: "a request or what came of it"), at: pointer)
      }
      graph.labels["custom_id"] = line["custom_id"]
      graph.unread += UnknownMember.places(in: object, besides: known, quiet: [], at: pointer)
      if let (key, body) = request(in: line) {
        let asked = try MessageLists.run(body, at: pointer.appending(key))
        // Of two requests of one name nobody knows which was answered.
        if isAsked { graph.unread.append(pointer.appending(key)) }
        isAsked = true
        graph.take(asked)
        graph.modelName = body["model"]?.stringValue
      }
      if let answer = answer(in: line) { answers.append((pointer, line, answer)) }
    }
    for (number, entry) in answers.enumerated() {
      if number > 0 { graph.unread.append(entry.pointer) }
      try take(entry.answer, of: entry.value, at: entry.pointer, into: &graph)
    }
    // The other half stands elsewhere: calls that were made before, or those that were asked for.
    if let place = lines.first?.pointer, answers.isEmpty || !isAsked {
      graph.missing.append(answers.isEmpty ? .answer(at: place) : .request(at: place))
    }
    guard !graph.items.isEmpty else { throw ImportError(.noMessages, at: lines.first?.pointer) }
    return graph
  }

  private static func take(
    _ answer: Place, of line: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph
  ) throws(ImportError) {
    let place = pointer.appending(answer.key)
    if answer.key != "error", let object = answer.value.objectValue {
      graph.unread += UnknownMember.places(
        in: object, besides: knownOfAnswer, quiet: [], at: place)
    }
    if let (word, error) = failure(answer, of: line) {
      var reply = GraphReply(pointers: [place], raw: answer.value)
      reply.error = error
      graph.items.append(.reply(reply))
      graph.ending = ParsedEnding(
        reason: cancelled.contains(word) ? .cancelled : .modelFailure, detail: StopDetail.error,
        field: place)
      return
    }
    let key = answer.key == "result" ? "message" : "body"
    guard let body = answer.value[key] else {
      throw ImportError(.wrongShape(expected: "an answer with `\(key)`"), at: place)
    }
    let answered = try MessageLists.run(body, at: place.appending(key))
    graph.take(answered)
    graph.ending = answered.ending
    graph.modelName = graph.firstModel ?? graph.modelName
  }

  /// The words of a result and of an error for a batch that was cancelled before it came to a request.
  private static let cancelled: Set<String> = ["canceled", "batch_cancelled"]

  /// The word for what became of a request that was not answered, and what is said of it.
  private static func failure(_ answer: Place, of line: JSONValue) -> (String, String)? {
    let value = answer.value
    let word = answer.key == "result" ? value["type"]?.stringValue ?? "" : ""
    let error = [
      line["error"], value["error"], value["body"]?["error"], answer.key == "error" ? value : nil,
    ].lazy.compactMap { $0 }.first { !$0.saysNothing }
    let status = value["status_code"]?.intValue ?? 200
    guard error != nil || status >= 400 || !["", "succeeded"].contains(word) else { return nil }
    let message = error?["message"] ?? error?["error"]?["message"]
    return (
      word.isEmpty ? error?["code"]?.stringValue ?? "" : word,
      (message ?? error)?.stringValue ?? error?.description ?? "\(word) status \(status)"
    )
  }
}

extension CallGraph {
  /// Takes in what another list of the same run holds.
  fileprivate mutating func take(_ other: CallGraph) {
    items += other.items
    unread += other.unread
    missing += other.missing
    for member in other.extra { extra[member.key] = member.value }
    if other.mayHideInnerCalls { mayHideInnerCalls = true }
  }
}
