import AgentTrace

/// Batches of requests to models, and what came of them, a line each: OpenAI's `{"custom_id","method","url","body"}` and
/// `{"custom_id","response":{"status_code","body"},"error"}`, Anthropic's `{"custom_id","params"}` and
/// `{"custom_id","result":{"type","message"}}`.
///
/// Shapes: https://platform.openai.com/docs/guides/batch,
/// https://docs.anthropic.com/en/api/retrieving-message-batch-results
///
/// A request and what came of it, told apart by `custom_id`, are one run of one model's call.
enum Batches: FormatAdapter {
  static let summary = FormatSummary(
    reads: "requests of OpenAI's and Anthropic's batches, and what came of them",
    tells: "calls, usage, failures; requests only where they stand in the same file")

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
    var order: [String] = []
    var groups: [String: [(pointer: JSONPointer, value: JSONValue)]] = [:]
    for (index, line) in lines.values.enumerated() where !line.value.saysNothing {
      // What names no request is told by itself.
      let name = line.value["custom_id"]?.stringValue.map { "id \($0)" } ?? "line \(index)"
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

  private static func graph(
    of lines: [(pointer: JSONPointer, value: JSONValue)]
  ) throws(ImportError) -> CallGraph {
    var graph = CallGraph(format: .batch)
    var seen: Set<JSONValue> = []
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
        if !graph.items.isEmpty { graph.unread.append(pointer.appending(key)) }
        graph.take(asked)
        graph.modelName = body["model"]?.stringValue
      }
      if let answer = answer(in: line) { answers.append((pointer, line, answer)) }
    }
    for (number, entry) in answers.enumerated() {
      if number > 0 { graph.unread.append(entry.pointer) }
      try take(entry.answer, of: entry.value, at: entry.pointer, into: &graph)
    }
    // What came of it stands in another file.
    if answers.isEmpty { graph.mayGoOn = true }
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
        reason: word == "canceled" ? .cancelled : .modelFailure, detail: StopDetail.error,
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
      word, (message ?? error)?.stringValue ?? error?.description ?? "\(word) status \(status)"
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
