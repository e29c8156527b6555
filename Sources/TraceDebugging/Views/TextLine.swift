public import AgentTrace
public import TraceReporting

/// A line that the debugger tells: pieces of text that are safe for a terminal, and what each is.
public struct TextLine: Sendable, Hashable {
  /// A piece of a line.
  public struct Span: Sendable, Hashable {
    /// Safe for a terminal.
    public let text: String
    /// What it is; `nil` for plain text.
    public let role: Painter.Role?

    /// Makes hidden characters visible.
    init(_ text: String, _ role: Painter.Role? = nil) {
      self.text = Visible.line(text)
      self.role = role
    }
  }

  /// In the order they stand.
  public private(set) var spans: [Span]
  /// Columns by which the line is indented where it goes on in the next.
  var hanging: Int

  init(_ spans: [Span] = [], hanging: Int = 0) {
    self.spans = spans
    self.hanging = hanging
  }

  init(_ text: String, _ role: Painter.Role? = nil, hanging: Int = 0) {
    self.init([Span(text, role)], hanging: hanging)
  }

  /// The columns of all of it.
  var columns: Int { spans.reduce(0) { $0 + CellWidth.of($1.text) } }

  /// The text without its colours.
  var plain: String { spans.map(\.text).joined() }

  /// The line as a terminal takes it.
  public func painted(by painter: Painter) -> String {
    spans.map { span in span.role.map { painter.paint(span.text, $0) } ?? span.text }.joined()
  }

  /// The line in at most so many columns, an ellipsis where it was cut.
  func cut(columns: Int) -> TextLine {
    var left = columns
    var kept: [Span] = []
    for span in spans {
      let piece = CellWidth.prefix(of: span.text, columns: left)
      guard !piece.isWhole else {
        kept.append(span)
        left -= piece.columns
        continue
      }
      // The ellipsis takes the place of a column, perhaps of the piece before.
      if left > 0 {
        kept.append(Span(CellWidth.cut(span.text, columns: left), span.role))
      } else {
        Self.endInEllipsis(&kept)
      }
      break
    }
    return TextLine(kept, hanging: hanging)
  }

  /// Puts an ellipsis in the place of the last column that is taken; a piece may take none.
  private static func endInEllipsis(_ spans: inout [Span]) {
    while let last = spans.popLast() {
      let columns = CellWidth.of(last.text)
      guard columns > 0 else { continue }
      let text = CellWidth.prefix(of: last.text, columns: columns - 1).text
      return spans.append(Span(text + "…", last.role))
    }
  }

  /// The line in as many lines of a width as it takes, broken at spaces where there are any.
  public func wrapped(columns: Int) -> [TextLine] {
    var lines: [TextLine] = []
    var current = TextLine(hanging: hanging)
    var used = 0
    let columns = max(columns, 8)
    let lead = min(hanging, columns / 2)
    for span in spans {
      var rest = span.text[...]
      while !rest.isEmpty {
        let (piece, width) = Self.piece(of: rest, room: columns - used, isFresh: used <= lead)
        if piece.isEmpty {
          lines.append(current)
          current = TextLine(
            lead > 0 ? [Span(String(repeating: " ", count: lead))] : [], hanging: hanging)
          used = lead
          if rest.first == " " { rest = rest.dropFirst() }
          continue
        }
        current.spans.append(Span(String(piece), span.role))
        used += width
        rest = rest[piece.endIndex...]
      }
    }
    return lines + [current]
  }

  /// What of a text still fits: up to a space where the whole does not; nothing where the next line
  /// has more room.
  private static func piece(
    of text: Substring, room: Int, isFresh: Bool
  ) -> (Substring, columns: Int) {
    let scalars = text.unicodeScalars
    var (used, end) = (0, scalars.startIndex)
    var space: (end: Substring.Index, used: Int)?
    while end < scalars.endIndex {
      let width = CellWidth.of(scalars[end])
      guard used + width <= room else {
        if let space, space.end > scalars.startIndex || !isFresh {
          return (text[..<space.end], space.used)
        }
        // A word longer than a line is broken; one that fits into the next is moved there.
        return isFresh
          ? (text[..<max(end, scalars.index(after: scalars.startIndex))], used)
          : (text[..<scalars.startIndex], 0)
      }
      if scalars[end] == " " { space = (end, used) }
      used += width
      end = scalars.index(after: end)
    }
    return (text, used)
  }
}

/// Lines under construction.
struct Page {
  var lines: [TextLine] = []
  /// The columns of a label and the space behind it.
  static let labelColumns = 11
  /// Bytes of one text that are shown; what is beyond is told by its size.
  var textLimit = 16_384

  /// Text from a trace, cut where it is longer than anybody reads on a screen.
  func excerpt(_ text: String) -> String {
    let size = text.utf8.count
    guard size > textLimit else { return text }
    return text.prefix(utf8Bytes: textLimit) + "… (\(size) bytes)"
  }

  mutating func heading(_ text: String, _ rest: String = "") {
    if !lines.isEmpty { lines.append(TextLine()) }
    lines.append(
      TextLine(
        [.init(text, .heading)] + (rest.isEmpty ? [] : [.init("  " + rest, .faint)]), hanging: 2))
  }

  /// A label, and a text on as many lines as it has.
  mutating func labelled(
    _ label: String, _ text: String, _ role: Painter.Role? = nil, sign: String = " ",
    labelRole: Painter.Role = .faint
  ) {
    let room = Self.labelColumns - 2
    // A key of a log may be long; words of ours are not.
    let name = CellWidth.cut(Visible.line(label, width: 40), columns: 40)
    let padding = String(repeating: " ", count: max(0, room - CellWidth.of(name)))
    for (index, line) in Self.lines(of: excerpt(text)).enumerated() {
      lines.append(
        TextLine(
          [
            .init(sign, sign == "-" ? .bad : .good),
            .init(
              index == 0 ? name + padding + " " : String(repeating: " ", count: room + 1),
              labelRole), .init(line, role),
          ], hanging: Self.labelColumns))
    }
  }

  mutating func line(_ text: String, _ role: Painter.Role? = nil, hanging: Int = 2) {
    lines.append(TextLine(text, role, hanging: hanging))
  }

  /// A label and a value as JSON, over several lines where it is long.
  mutating func labelled(_ label: String, json value: JSONValue, sign: String = " ") {
    if case .string(let text) = value { return labelled(label, text, sign: sign) }
    var pretty = PrettyJSON(textLimit: textLimit)
    pretty.append(value)
    labelled(label, pretty.lines.joined(separator: "\n"), sign: sign)
  }

  private static func lines(of text: String) -> [String] {
    var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
    while lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }
}

/// JSON over several lines, for people: what is short stays on one line.
struct PrettyJSON {
  private(set) var lines: [String] = []
  private let textLimit: Int
  private let lineLimit = 2_000
  private let inlineBytes = 72

  init(textLimit: Int) { self.textLimit = textLimit }

  mutating func append(_ value: JSONValue) { append(value, prefix: "", suffix: "", depth: 0) }

  private mutating func append(
    _ value: JSONValue, prefix: String, suffix: String, depth: Int
  ) {
    guard lines.count <= lineLimit else { return }
    let indent = String(repeating: "  ", count: depth)
    guard lines.count < lineLimit else {
      lines.append(indent + "… (more than \(lineLimit) lines)")
      return
    }
    let inline = CanonicalJSON.prefix(of: value, limitBytes: inlineBytes + 8)
    switch value {
    case .array(let elements) where inline.utf8.count > inlineBytes:
      lines.append(indent + prefix + "[")
      for (index, element) in elements.enumerated() where lines.count <= lineLimit {
        append(
          element, prefix: "", suffix: index == elements.count - 1 ? "" : ",", depth: depth + 1)
      }
      lines.append(indent + "]" + suffix)
    case .object(let object) where inline.utf8.count > inlineBytes:
      lines.append(indent + prefix + "{")
      let last = object.count - 1
      for (index, member) in object.enumerated() where lines.count <= lineLimit {
        append(
          member.value, prefix: Self.quoted(member.key) + ": ", suffix: index == last ? "" : ",",
          depth: depth + 1)
      }
      lines.append(indent + "}" + suffix)
    default:
      // What stands for a value that was lost or cut is shown as it stands in a log.
      var text = inline
      if inline.utf8.count > inlineBytes {
        text = CanonicalJSON.prefix(of: value, limitBytes: textLimit + 8)
        if text.utf8.count > textLimit { text = text.prefix(utf8Bytes: textLimit) + "…" }
      }
      lines.append(indent + prefix + text + suffix)
    }
  }

  private static func quoted(_ key: String) -> String {
    var bytes: [UInt8] = []
    CanonicalJSON.appendString(key, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
