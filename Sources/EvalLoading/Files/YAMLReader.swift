import AgentTrace
import CYaml

/// Reads YAML as JSON values with the place of each.
///
/// Drives libyaml's event parser itself: what makes trees of its events elsewhere recurses as deep as the
/// file nests and expands aliases before anybody can count them. Here the stack is an array, and every
/// limit is checked before a value is made. What an alias repeats is shared, not copied.
///
/// Why: Docs/decisions/0022-yaml-with-places.md
struct YAMLReader {
  /// One document of a file.
  struct Document: Sendable {
    var value: JSONValue
    var tree: PositionTree
  }

  private let path: String
  private let limits: SourceLimits
  private(set) var documents: [Document] = []
  private(set) var diagnostics: [Diagnostic] = []

  private var stack: [Frame] = []
  private var anchors: [String: Node] = [:]
  private var values = 0
  private var textBytes = 0

  /// Reads all documents of a file. What could be read is there even where there are errors.
  init(_ bytes: [UInt8], path: String, limits: SourceLimits) {
    self.path = path
    self.limits = limits
    // libyaml would count a byte order mark as a column, and so as indentation.
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(3)) : bytes
    do {
      try refuseDirectiveFlood(bytes)
      try refuseOtherLineBreaks(bytes)
      try bytes.withUnsafeBufferPointer { buffer throws(Diagnostic) in try read(buffer) }
    } catch {
      diagnostics.append(error)
    }
  }

  /// A finished value.
  private struct Node {
    var value: JSONValue
    var tree: PositionTree
    /// What it counts against the limits when an alias repeats it.
    var values: Int
    var textBytes: Int
    var depth: Int
    /// Whether it is a plain `<<`: as a key, it merges.
    var isMerge = false
  }

  /// A collection that is being read.
  private struct Frame {
    var isMapping: Bool
    var start: TextPosition
    var anchor: String?
    var elements: [Node] = []
    var members: [(name: String, key: TextPosition, node: Node)] = []
    var merges: [Node] = []
    var key: Key?
    var valuesBefore: Int
    var textBytesBefore: Int
    /// How deep its deepest value nests.
    var innerDepth = 0

    enum Key {
      case name(String, TextPosition)
      case merge
    }
  }
}

// MARK: - Events

extension YAMLReader {
  /// libyaml compares each `%TAG` line with all before it; nobody writes more than a few.
  private func refuseDirectiveFlood(_ bytes: [UInt8]) throws(Diagnostic) {
    var directives = 0
    var isLineStart = true
    var line = 1
    for byte in bytes {
      if isLineStart, byte == UInt8(ascii: "%") {
        directives += 1
        if directives > 1_000 {
          throw Diagnostic(
            .error, path: path, line: line, column: 1, message: "more than 1,000 directives")
        }
      }
      isLineStart = byte == 0x0a || byte == 0x0d
      if byte == 0x0a { line += 1 }
    }
  }

  /// NEL, LS and PS end a line for libyaml as in YAML 1.1: it would fold them in quoted text, and
  /// behind one in a comment could stand a key that no editor shows as one. In YAML 1.2 they are
  /// characters like any other (§5.4), so neither meaning is safe.
  private func refuseOtherLineBreaks(_ bytes: [UInt8]) throws(Diagnostic) {
    for (index, byte) in bytes.enumerated() where byte == 0xc2 || byte == 0xe2 {
      let number: String
      switch bytes[index...].prefix(3) {
      case let slice where slice.starts(with: [0xc2, 0x85]): number = "0085"
      case [0xe2, 0x80, 0xa8]: number = "2028"
      case [0xe2, 0x80, 0xa9]: number = "2029"
      default: continue
      }
      let place = bytes.withUnsafeBufferPointer { TextPosition(ofByte: index, in: $0) }
      throw error(
        "U+\(number), which ends a line in YAML 1.1", at: place,
        hint: "leave it out, or write it as “\\u\(number)” in double quotes")
    }
  }

  private mutating func read(_ buffer: UnsafeBufferPointer<UInt8>) throws(Diagnostic) {
    let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    defer { parser.deallocate() }
    guard yaml_parser_initialize(parser) == 1 else {
      throw Diagnostic(.error, path: path, message: "no memory for a YAML parser")
    }
    defer { yaml_parser_delete(parser) }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, buffer.baseAddress, buffer.count)
    var event = yaml_event_t()
    while true {
      guard yaml_parser_parse(parser, &event) == 1 else {
        throw syntaxError(parser.pointee, in: buffer)
      }
      defer { yaml_event_delete(&event) }
      if event.type == YAML_STREAM_END_EVENT || event.type == YAML_NO_EVENT { return }
      try take(event)
    }
  }

  private mutating func take(_ event: yaml_event_t) throws(Diagnostic) {
    let start = TextPosition(event.start_mark)
    switch event.type {
    case YAML_DOCUMENT_START_EVENT: anchors = [:]
    case YAML_ALIAS_EVENT:
      try add(repeated(Self.text(event.data.alias.anchor) ?? "", at: start), anchor: nil)
    case YAML_SCALAR_EVENT:
      try add(scalar(event), anchor: Self.text(event.data.scalar.anchor))
    case YAML_SEQUENCE_START_EVENT:
      let data = event.data.sequence_start
      try checkTag(Self.text(data.tag), is: "seq", "a list", at: start)
      try open(isMapping: false, anchor: Self.text(data.anchor), at: start)
    case YAML_MAPPING_START_EVENT:
      let data = event.data.mapping_start
      try checkTag(Self.text(data.tag), is: "map", "a mapping", at: start)
      try open(isMapping: true, anchor: Self.text(data.anchor), at: start)
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: try close()
    default: break
    }
  }

  private static func text(_ pointer: UnsafeMutablePointer<UInt8>?) -> String? {
    pointer.map { String(cString: $0) }
  }
}

// MARK: - Building

extension YAMLReader {
  private mutating func open(
    isMapping: Bool, anchor: String?, at start: TextPosition
  ) throws(Diagnostic) {
    guard stack.count < limits.depth else {
      throw error("nesting deeper than \(limits.depth)", at: start)
    }
    if let last = stack.last, last.isMapping, last.key == nil {
      throw error(
        "a key that is a list or a mapping", at: start, hint: "keys are text, put quotes around it")
    }
    try count(values: 1, textBytes: 0, at: start)
    stack.append(
      Frame(
        isMapping: isMapping, start: start, anchor: anchor, valuesBefore: values - 1,
        textBytesBefore: textBytes))
  }

  private mutating func close() throws(Diagnostic) {
    guard let frame = stack.popLast() else { return }
    var tree = PositionTree(start: frame.start)
    let value: JSONValue
    if frame.isMapping {
      let members = merged(frame)
      tree.members = members.map {
        PositionTree.Member(name: $0.name, key: $0.key, value: $0.node.tree)
      }
      // Sorted first, because putting a key into the middle of an object is linear.
      let sorted = members.sorted { $0.name.precedesByUTF8($1.name) }
      value = .object(JSONObject(sorted.map { ($0.name, $0.node.value) }))
    } else {
      tree.elements = frame.elements.map(\.tree)
      value = .array(frame.elements.map(\.value))
    }
    try add(
      Node(
        value: value, tree: tree, values: values - frame.valuesBefore,
        textBytes: textBytes - frame.textBytesBefore, depth: frame.innerDepth + 1),
      anchor: frame.anchor)
  }

  /// Puts a finished value where it belongs: into the collection around it, or at the root.
  private mutating func add(_ node: Node, anchor: String?) throws(Diagnostic) {
    if let anchor { anchors[anchor] = node }
    guard let last = stack.indices.last else {
      documents.append(Document(value: node.value, tree: node.tree))
      return
    }
    guard stack.count + node.depth <= limits.depth else {
      throw error("nesting deeper than \(limits.depth)", at: node.tree.start)
    }
    stack[last].innerDepth = max(stack[last].innerDepth, node.depth)
    guard stack[last].isMapping else {
      stack[last].elements.append(node)
      return
    }
    switch stack[last].key {
    case .name(let name, let key):
      stack[last].members.append((name, key, node))
      stack[last].key = nil
    case .merge:
      stack[last].key = nil
      try merge(node, into: last)
    case nil:
      stack[last].key = try key(from: node)
    }
  }

  private func key(from node: Node) throws(Diagnostic) -> Frame.Key {
    if node.isMerge { return .merge }
    switch node.value {
    case .string(let text): return .name(text, node.tree.start)
    case .number(let number): return .name(number.token, node.tree.start)
    case .bool(let value): return .name(value ? "true" : "false", node.tree.start)
    case .null: throw error("an empty key", at: node.tree.start, hint: "quote it if it is meant")
    default:
      throw error(
        "a key that is a list or a mapping", at: node.tree.start,
        hint: "keys are text, put quotes around it")
    }
  }

  /// `<<: *anchor` or `<<: [*a, *b]` (https://yaml.org/type/merge.html).
  private mutating func merge(_ node: Node, into frame: Int) throws(Diagnostic) {
    switch node.value {
    case .object: stack[frame].merges.append(node)
    case .array(let elements):
      for (element, tree) in zip(elements, node.tree.elements) {
        guard case .object = element else {
          throw error("“<<” merges mappings, not \(element.phrase)", at: tree.start)
        }
        stack[frame].merges.append(
          Node(value: element, tree: tree, values: 0, textBytes: 0, depth: 0))
      }
    default:
      throw error("“<<” merges mappings, not \(node.value.phrase)", at: node.tree.start)
    }
  }

  /// The members of a mapping with those that it merges in; a mapping's own keys go first, then
  /// those of the first that is merged. A key that stands twice is told, and its first value stays.
  private mutating func merged(
    _ frame: Frame
  ) -> [(name: String, key: TextPosition, node: Node)] {
    var kept: [(name: String, key: TextPosition, node: Node)] = []
    var seen: [[UInt8]: TextPosition] = [:]
    for member in frame.members {
      let bytes = Array(member.name.utf8)
      if let first = seen[bytes] {
        guard diagnostics.count < FieldReader.findingLimit else { continue }
        diagnostics.append(
          error(
            "the key \(member.name.quoted) stands twice, first on line \(first.line)",
            at: member.key))
      } else {
        seen[bytes] = member.key
        kept.append(member)
      }
    }
    for source in frame.merges {
      for member in source.tree.members {
        let bytes = Array(member.name.utf8)
        guard seen[bytes] == nil, let value = source.value[member.name] else { continue }
        seen[bytes] = member.key
        kept.append(
          (
            member.name, member.key,
            Node(value: value, tree: member.value, values: 0, textBytes: 0, depth: 0)
          ))
      }
    }
    return kept
  }
}

// MARK: - Scalars and aliases

extension YAMLReader {
  private mutating func scalar(_ event: yaml_event_t) throws(Diagnostic) -> Node {
    let data = event.data.scalar
    let start = TextPosition(event.start_mark)
    let text = String(
      decoding: UnsafeBufferPointer(start: data.value, count: data.length), as: UTF8.self)
    try count(values: 1, textBytes: data.length, at: start)
    let isPlain = data.style == YAML_PLAIN_SCALAR_STYLE
    let tag = Self.text(data.tag)
    let value: JSONValue
    if tag == nil, !isPlain {
      value = .string(text)
    } else {
      switch tag.map(Self.shortTag) {
      case "str"?, "!"?: value = .string(text)
      case nil, "int"?, "float"?, "bool"?, "null"?:
        value = try plain(text, tag: tag.map(Self.shortTag), at: start)
      case let other?:
        throw error(
          "the tag \(other.quoted) is not supported", at: start, hint: "leave the tag out")
      }
    }
    return Node(
      value: value, tree: PositionTree(start: start), values: 1, textBytes: data.length, depth: 0,
      isMerge: isPlain && tag == nil && text == "<<")
  }

  private func plain(
    _ text: String, tag: String?, at start: TextPosition
  ) throws(Diagnostic) -> JSONValue {
    switch YAMLScalar.meaning(of: text) {
    case .fault(let message, let hint): throw error(message, at: start, hint: hint)
    case .value(let value):
      let fits =
        switch (tag, value) {
        case (nil, _), ("int", .number), ("float", .number), ("bool", .bool), ("null", .null): true
        default: false
        }
      guard fits else {
        throw error("\(text.quoted) is no \(tag ?? "")", at: start, hint: "leave the tag out")
      }
      return value
    }
  }

  private static func shortTag(_ tag: String) -> String {
    let prefix = "tag:yaml.org,2002:"
    return tag.hasPrefix(prefix) ? String(tag.dropFirst(prefix.count)) : tag
  }

  private func checkTag(
    _ tag: String?, is name: String, _ noun: String, at start: TextPosition
  ) throws(Diagnostic) {
    guard let tag, tag != "!", Self.shortTag(tag) != name else { return }
    throw error(
      "the tag \(Self.shortTag(tag).quoted) on \(noun) is not supported", at: start,
      hint: "leave the tag out")
  }

  private mutating func repeated(
    _ anchor: String, at start: TextPosition
  ) throws(Diagnostic) -> Node {
    guard let node = anchors[anchor] else {
      throw error(
        "the alias “*\(anchor.prefix(utf8Bytes: 80))” names no finished value above it", at: start)
    }
    try count(values: node.values, textBytes: node.textBytes, at: start)
    return node
  }

  private mutating func count(
    values more: Int, textBytes moreText: Int, at start: TextPosition
  ) throws(Diagnostic) {
    values += more
    textBytes += moreText
    guard values <= limits.values else {
      throw error("more than \(limits.values) values, aliases written out", at: start)
    }
    guard textBytes <= limits.textBytes else {
      throw error("more than \(limits.textBytes) bytes of text, aliases written out", at: start)
    }
  }
}

// MARK: - Errors

extension YAMLReader {
  private func error(_ message: String, at place: TextPosition, hint: String? = nil) -> Diagnostic {
    Diagnostic(
      .error, path: path, line: place.line, column: place.column, message: message, hint: hint)
  }

  /// What libyaml stumbled over, in its own words.
  private func syntaxError(
    _ parser: yaml_parser_t, in bytes: UnsafeBufferPointer<UInt8>
  ) -> Diagnostic {
    let problem = parser.problem.map { String(cString: $0) } ?? "no more is known"
    if parser.error == YAML_READER_ERROR {
      let place = TextPosition(ofByte: parser.problem_offset, in: bytes)
      return error(
        "bytes that no YAML file may hold: \(problem)", at: place,
        hint: Diagnostic.hint(onEncodingOf: bytes))
    }
    var message = "not valid YAML: \(problem)"
    if let context = parser.context {
      message += ", \(String(cString: context))"
      if parser.context_mark.line != parser.problem_mark.line {
        message += " that begins on line \(parser.context_mark.line + 1)"
      }
    }
    let hint = problem.contains("cannot start any token") ? "quote it, and indent by spaces" : nil
    return error(message, at: TextPosition(parser.problem_mark), hint: hint)
  }
}

extension TextPosition {
  init(_ mark: yaml_mark_t) { self.init(line: mark.line + 1, column: mark.column + 1) }

  /// The place of a byte: lines end at `\n`, columns count Unicode scalars.
  init(ofByte offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
    var (line, column) = (1, 1)
    for byte in bytes.prefix(max(0, offset)) {
      if byte == 0x0a {
        (line, column) = (line + 1, 1)
      } else if byte & 0b1100_0000 != 0b1000_0000 {
        column += 1
      }
    }
    self.init(line: line, column: column)
  }
}

extension JSONValue {
  /// What the value is, as a message says it: `a list`, `the text “yes”`.
  var phrase: String {
    switch self {
    case .null: "empty"
    case .bool(let value): value ? "true" : "false"
    case .number(let number): "the number \(number.token.prefix(utf8Bytes: 40))"
    case .string(let text): "the text \(text.quoted)"
    case .array: "a list"
    case .object: "a mapping"
    case .bytes, .cut, .lost: "no JSON"
    }
  }
}
