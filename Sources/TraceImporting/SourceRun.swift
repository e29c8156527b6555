import AgentTrace

/// One run's place in its file, and what was read there.
struct SourceRun {
  /// Its number in the file, from 0; `nil` in formats that hold one run a file.
  var index: Int?
  var content: Result<any EventSource, ImportError>

  /// Reads a run; an error stays with it.
  init(index: Int?, reading read: () throws(ImportError) -> any EventSource) {
    self.index = index
    content = Result { () throws(ImportError) in try read() }
  }

  /// Reads a run by one expression; an error stays with it.
  init(index: Int?, _ read: @autoclosure () throws(ImportError) -> any EventSource) {
    self.index = index
    content = Result { () throws(ImportError) in try read() }
  }

  typealias Reader = (JSONValue, JSONPointer) throws(ImportError) -> any EventSource

  /// A run for each element of a list.
  static func each(_ elements: [JSONValue], _ read: Reader) -> [SourceRun] {
    elements.placed(at: JSONPointer()).enumerated().map { index, entry in
      SourceRun(index: index) { () throws(ImportError) in try read(entry.1, entry.0) }
    }
  }

  /// A run for each line.
  static func each(_ lines: [SourceDocument.Line], _ read: Reader) -> [SourceRun] {
    lines.map { line in
      SourceRun(index: line.index) { () throws(ImportError) in
        try read(try line.content.get(), JSONPointer(tokens: [String(line.index)]))
      }
    }
  }

  /// A run for each conversation of a file, which has no number where it is the only one. What could not be read of the
  /// file is told of the first.
  static func each(
    _ lines: SourceLines, _ read: (JSONValue, JSONPointer) throws(ImportError) -> CallGraph
  ) -> [SourceRun] {
    lines.values.enumerated().map { index, line in
      SourceRun(index: lines.values.count == 1 ? nil : index) { () throws(ImportError) in
        var graph = try read(line.value, line.pointer)
        if index == 0 { graph.unread += lines.unread }
        return graph
      }
    }
  }
}

/// A run that can be told as events.
protocol EventSource {
  /// Hands on the run's events, in order.
  ///
  /// - Throws: what `append` throws, and ``ImportError`` where the run is too large for a log.
  func emitEvents(as identity: RunIdentity, to append: @escaping (Event) throws -> Void) throws

  /// The bytes of the run's own log, where the source carries that; then it is taken as it is.
  var carriedLog: [UInt8]? { get }
}

extension EventSource {
  /// None, unless a source says otherwise.
  var carriedLog: [UInt8]? { nil }
}

extension CallGraph: EventSource {
  func emitEvents(as identity: RunIdentity, to append: @escaping (Event) throws -> Void) throws {
    try GraphEvents.emit(self, as: identity, to: append)
  }
}
