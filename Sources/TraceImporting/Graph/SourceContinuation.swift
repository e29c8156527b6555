import AgentTrace

/// What a page of an interface says of the pages behind it: of a run that goes on there nobody knows which calls were
/// made.
enum SourceContinuation {
  /// Where a document says that there is more than it holds; none where it does not.
  ///
  /// Looked at are the keys by which interfaces that list things tell of more, at the top and in what stands around a list:
  /// OpenAI's `has_more`, cursors (`next_cursor`, `cursors.next`, `meta.cursor`), page tokens, numbers of pages, and
  /// Tempo's word for a trace that it cut.
  static func places(in document: SourceDocument) -> [MissingPart] {
    guard case .value(let value) = document, let object = value.objectValue else { return [] }
    var found = parts(of: object, at: JSONPointer())
    for key in around {
      guard let inner = object[key]?.objectValue else { continue }
      found += parts(of: inner, at: JSONPointer(tokens: [key]), isAround: true)
    }
    if object["trace"] != nil, object["status"]?.stringValue?.uppercased() == "PARTIAL" {
      found.append(.more(says: "status", at: JSONPointer(tokens: ["status"])))
    }
    return found
  }

  /// What interfaces call the object beside a list that tells of its pages.
  private static let around = [
    "meta", "metadata", "cursors", "pagination", "paging", "page_info", "pageInfo", "links",
    "response_metadata",
  ]
  /// Keys, as ``JSONValue/plainKey(_:)`` writes them, that are true where there is more.
  private static let flags: Set<String> = ["hasmore", "hasnextpage", "istruncated"]
  /// Keys that lead to what comes next.
  private static let ways: Set<String> = [
    "nextcursor", "nextpage", "nextpagetoken", "nexttoken", "nexturl",
  ]

  private static func parts(
    of object: JSONObject, at pointer: JSONPointer, isAround: Bool = false
  ) -> [MissingPart] {
    var found: [MissingPart] = []
    for member in object {
      let key = JSONValue.plainKey(member.key)
      let isWay = ways.contains(key) || isAround && (key == "next" || key == "cursor")
      let saysMore =
        flags.contains(key) && member.value.boolValue == true || isWay && member.value.leadsOn
      if saysMore { found.append(.more(says: member.key, at: pointer.appending(member.key))) }
    }
    if let pages = (object["totalPages"] ?? object["total_pages"])?.intValue,
      let page = object["page"]?.intValue, page < pages
    {
      found.append(.more(says: "page", at: pointer.appending("page")))
    }
    return found
  }
}

extension JSONValue {
  /// Whether it is a text or a number that leads somewhere.
  fileprivate var leadsOn: Bool {
    switch self {
    case .string(let text): !text.isEmpty
    case .number: true
    default: false
    }
  }
}

extension MissingPart {
  /// What stands on the pages behind this one.
  static func more(says key: String, at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "the source says that there is more than it holds (“\(key)”)")
  }

  /// Steps that a source counts and does not hold.
  static func counted(_ count: Int, of total: Int, at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "the source counts \(total) steps and holds \(count)")
  }
}

extension [SourceRun] {
  /// The runs of a document, each with what the document says that it does not hold.
  func notingContinuation(of document: SourceDocument) -> [SourceRun] {
    let missing = SourceContinuation.places(in: document)
    guard !missing.isEmpty else { return self }
    return map { run in
      guard case .success(let content) = run.content else { return run }
      var run = run
      if var graph = content as? CallGraph {
        graph.missing += missing
        // How it ends stands on the last page.
        graph.ending = nil
        run.content = .success(graph)
      }
      return run
    }
  }
}
