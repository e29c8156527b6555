import AgentTrace

/// A format whose files are the lines of one session, each told by itself. A session that does not say how it ended has no
/// end.
protocol AgentSessions: FormatAdapter {
  /// The format.
  static var format: ImportFormat { get }
  /// The key under which one file may hold the lines.
  static var listKeys: [String] { get }
  /// Whether a line is one that only this format has.
  static func isMark(_ line: JSONValue) -> Bool
  /// Reads the lines of a session; what is not understood is marked.
  static func read(_ lines: SourceLines, into graph: inout CallGraph)
}

extension AgentSessions {
  static var listKeys: [String] { [] }

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: listKeys, with: isMark)
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "a session of \(format.rawValue)")
    return [run(of: document, below: JSONPointer(), index: nil)]
  }

  /// The run of one session.
  ///
  /// - Parameters:
  ///   - document: what holds its lines.
  ///   - pointer: where that stands in its file.
  ///   - index: its number, where the file holds several.
  static func run(
    of document: SourceDocument, below pointer: JSONPointer, index: Int?
  ) -> SourceRun {
    SourceRun(index: index) { () throws(ImportError) in
      var graph = CallGraph(format: format)
      let lines = SourceLines(document, keys: listKeys, below: pointer).withoutRepeats
      graph.unread = lines.unread
      graph.missing = furtherPages(of: document, below: pointer)
      read(lines, into: &graph)
      guard !graph.items.isEmpty else { throw ImportError(.noMessages) }
      graph.tellFates()
      graph.agentName = format.rawValue
      graph.modelName = graph.modelName ?? graph.firstModel
      graph.ending = graph.endingByRefusal ?? graph.ending
      return graph
    }
  }
}

extension AgentSessions {
  /// What an answer of an interface leaves to the next ones.
  private static func furtherPages(
    of document: SourceDocument, below pointer: JSONPointer
  ) -> [MissingPart] {
    guard case .value(let page) = document,
      page["has_more"] == true || page["next_page"]?.saysNothing == false
    else { return [] }
    return [MissingPart(pointer, "further pages of the session are not in the source")]
  }
}

extension CallGraph {
  /// Adds what a line says that is one message.
  mutating func add(_ message: ReadMessage) {
    items += MessageItems.items(of: [message])
  }

  /// Adds a piece of a reply to those of the same response that stand there, or as a reply of its own.
  mutating func addPiece(_ piece: ReadMessage) {
    let place = items.lastIndex { item in
      if case .reply(let reply) = item { reply.responseId == piece.responseId } else { false }
    }
    guard piece.responseId != nil, let place, case .reply(var reply) = items[place] else {
      return add(piece)
    }
    reply.merge(piece)
    items[place] = .reply(reply)
  }
}

extension ReadMessage {
  /// A message that a line says, with its parts or its text.
  init(
    _ role: ReadMessage.Role, _ content: JSONValue?, of line: JSONValue, at pointer: JSONPointer,
    time: Timestamp? = nil
  ) {
    self.init(role: role, roleName: "\(role)", pointer: pointer, raw: line)
    self.time = time
    if let parts = content?.arrayValue {
      PartReader.take(parts, below: pointer.appending("content"), into: &self)
    } else if let content, !content.saysNothing {
      add(text: content)
    }
  }
}

extension JSONValue {
  /// A time in milliseconds since 1970, or in ISO 8601.
  var sessionTime: Timestamp? {
    stringValue.flatMap(Timestamp.init) ?? intValue.flatMap { Timestamp(unix: Double($0) / 1000) }
  }
}
