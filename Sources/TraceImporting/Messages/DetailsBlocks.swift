import AgentTrace

/// What a text of Open WebUI holds beside what was said: `<details type="tool_calls" done="true" id="…" name="…"
/// arguments="…" result="…">`, a summary, in some dialects what came back, `</details>`; and blocks of other types.
///
/// Such a block begins a line and stands in no fence. Elsewhere one is part of what was said, or of a fence that never ended.
///
/// Shape: https://github.com/open-webui/open-webui/blob/main/backend/open_webui/utils/middleware.py
struct DetailsBlocks {
  enum Piece: Hashable {
    case text(String)
    case block(Block)
  }

  struct Block: Hashable {
    /// With what HTML writes by names in the place of quotes and brackets put back.
    var attributes: [String: String]
    /// What stands behind its summary.
    var body: String

    var type: String { attributes["type"] ?? "" }
  }

  /// In their order.
  private(set) var pieces: [Piece] = []
  /// Whether what may be a block stands where none is read.
  private(set) var hasHidden = false

  /// - Complexity: O(*n*) in the text's bytes.
  init(_ text: String) {
    let bytes = Array(text.utf8)
    var said: [UInt8] = []
    var (index, isInFence) = (0, false)
    while index < bytes.count {
      let end = bytes[index...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
      let line = bytes[index..<end]
      let begin = line.drop(while: CallsInTexts.isSpace)
      if begin.starts(with: CallsInTexts.fence) { isInFence.toggle() }
      if !isInFence, let tag = Tag(in: bytes, at: begin.startIndex), tag.attributes["type"] != nil {
        let closed = Self.end(of: bytes, from: tag.end)
        add(text: &said)
        pieces.append(
          .block(
            Block(
              attributes: tag.attributes,
              body: Self.body(bytes[tag.end..<closed.body]))))
        index = closed.behind
        continue
      }
      if Self.mayHide(line) { hasHidden = true }
      said += line
      index = end
    }
    add(text: &said)
  }

  private mutating func add(text said: inout [UInt8]) {
    let trimmed = CallsInTexts.trim(said[...])
    if !trimmed.isEmpty { pieces.append(.text(String(decoding: trimmed, as: UTF8.self))) }
    said = []
  }

  private static let open = Array("<details".utf8)
  private static let close = Array("</details>".utf8)

  /// Where what is in a block ends, and what is behind it begins. Blocks may stand in blocks; one that is not closed goes on to
  /// the end.
  private static func end(of bytes: [UInt8], from start: Int) -> (body: Int, behind: Int) {
    var (index, depth) = (start, 1)
    while let next = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
      if bytes[next...].starts(with: close) {
        depth -= 1
        if depth == 0 { return (next, next + close.count) }
      } else if Tag(in: bytes, at: next) != nil {
        depth += 1
      }
      index = next + 1
    }
    return (bytes.count, bytes.count)
  }

  /// Whether a line has the beginning of a block in it that may be of a call.
  private static func mayHide(_ line: ArraySlice<UInt8>) -> Bool {
    guard CallsInTexts.holds(open, in: line) else { return false }
    return ["tool_calls", "code_interpreter"].contains {
      CallsInTexts.holds(Array($0.utf8), in: line)
    }
  }

  /// What stands behind the summary.
  private static func body(_ bytes: ArraySlice<UInt8>) -> String {
    let mark = Array("</summary>".utf8)
    var rest = bytes
    while let next = rest.firstIndex(of: mark[0]) {
      if rest[next...].starts(with: mark) {
        rest = rest[(next + mark.count)...]
        return String(decoding: CallsInTexts.trim(rest), as: UTF8.self)
      }
      rest = rest[(next + 1)...]
    }
    return String(decoding: CallsInTexts.trim(bytes), as: UTF8.self)
  }

  /// The beginning of a block.
  private struct Tag {
    var attributes: [String: String] = [:]
    /// Behind its bracket.
    var end: Int

    init?(in bytes: [UInt8], at start: Int) {
      guard bytes[start...].starts(with: DetailsBlocks.open) else { return nil }
      var index = start + DetailsBlocks.open.count
      while index < bytes.count, bytes[index] != UInt8(ascii: ">") {
        guard CallsInTexts.isSpace(bytes[index]) else { return nil }
        index = bytes[index...].firstIndex { !CallsInTexts.isSpace($0) } ?? bytes.count
        let name = bytes[index...].prefix(while: CallsInTexts.isOfName)
        index = name.endIndex
        guard !name.isEmpty else { continue }
        guard index + 1 < bytes.count, bytes[index] == UInt8(ascii: "="),
          bytes[index + 1] == UInt8(ascii: "\"")
        else {
          attributes[String(decoding: name, as: UTF8.self)] = ""
          continue
        }
        let value = bytes[(index + 2)...].prefix { $0 != UInt8(ascii: "\"") }
        guard value.endIndex < bytes.count else { return nil }
        attributes[String(decoding: name, as: UTF8.self)] = DetailsBlocks.plain(value)
        index = value.endIndex + 1
      }
      guard index < bytes.count else { return nil }
      end = index + 1
    }
  }

  // MARK: Names of signs

  private static let signs: [(name: [UInt8], sign: UInt8)] = [
    ("&quot;", UInt8(ascii: "\"")), ("&#x27;", UInt8(ascii: "'")), ("&#39;", UInt8(ascii: "'")),
    ("&lt;", UInt8(ascii: "<")), ("&gt;", UInt8(ascii: ">")), ("&amp;", UInt8(ascii: "&")),
    ("&#34;", UInt8(ascii: "\"")), ("&apos;", UInt8(ascii: "'")),
  ].map { (Array($0.0.utf8), $0.1) }

  /// A text in which signs stand as themselves that HTML writes by names.
  static func plain(_ bytes: ArraySlice<UInt8>) -> String {
    guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
    var plain: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let rest = bytes[index...]
      if bytes[index] == UInt8(ascii: "&"),
        let sign = signs.first(where: { rest.starts(with: $0.name) })
      {
        plain.append(sign.sign)
        index += sign.name.count
      } else {
        plain.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: plain, as: UTF8.self)
  }
}
