import AgentTrace

extension PositionTree {
  /// The places of a JSON value, found by walking over its bytes once more.
  ///
  /// Made only when there is something to tell, so that files without faults never pay for it. The
  /// bytes are known to be valid JSON that nests at most as deep as ``SourceLimits/depth``.
  ///
  /// - Parameters:
  ///   - start: Where the bytes begin in their file.
  ///   - levels: How deep places are noted; deeper values are stepped over quickly.
  init(
    json bytes: some Sequence<UInt8>, start: TextPosition = TextPosition(line: 1, column: 1),
    levels: Int = 1024
  ) {
    self = Array(bytes).withUnsafeBufferPointer { buffer in
      var scanner = JSONPositionScanner(bytes: buffer, start: start, levels: levels)
      return scanner.scan(depth: 0)
    }
  }
}

/// Walks over JSON and notes where its values begin.
private struct JSONPositionScanner {
  let bytes: UnsafeBufferPointer<UInt8>
  var line: Int
  var column: Int
  var position = 0

  let levels: Int

  init(bytes: UnsafeBufferPointer<UInt8>, start: TextPosition, levels: Int) {
    self.bytes = bytes
    line = start.line
    column = start.column
    self.levels = levels
  }

  private var here: TextPosition { TextPosition(line: line, column: column) }

  private mutating func step() {
    let byte = bytes[position]
    position += 1
    if byte == 0x0a {
      line += 1
      column = 1
    } else if byte & 0b1100_0000 != 0b1000_0000 {
      column += 1
    }
  }

  /// Steps over white space, commas and colons.
  private mutating func skipFiller() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x0a, 0x0d, 0x09, UInt8(ascii: ","), UInt8(ascii: ":"): step()
      default: return
      }
    }
  }

  mutating func scan(depth: Int) -> PositionTree {
    skipFiller()
    var tree = PositionTree(start: here)
    guard position < bytes.count else { return tree }
    switch bytes[position] {
    case UInt8(ascii: "{") where depth < levels:
      step()
      while !isAtEnd(of: UInt8(ascii: "}")) {
        let key = here
        let name = string()
        tree.members.append(Member(name: name, key: key, value: scan(depth: depth + 1)))
      }
    case UInt8(ascii: "[") where depth < levels:
      step()
      while !isAtEnd(of: UInt8(ascii: "]")) { tree.elements.append(scan(depth: depth + 1)) }
    case UInt8(ascii: "{"), UInt8(ascii: "["): skipCollection()
    case UInt8(ascii: "\""): skipString()
    default: skipWord()
    }
    return tree
  }

  private typealias Member = PositionTree.Member

  /// Steps over the end of a collection if it is here.
  private mutating func isAtEnd(of end: UInt8) -> Bool {
    skipFiller()
    guard position < bytes.count else { return true }
    guard bytes[position] == end else { return false }
    step()
    return true
  }

  private mutating func skipWord() {
    step()
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x0a, 0x0d, 0x09, UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): return
      default: step()
      }
    }
  }

  /// Steps over a collection without noting what is in it.
  private mutating func skipCollection() {
    var open = 0
    repeat {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        skipString()
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): open += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): open -= 1
      default: break
      }
      step()
    } while open > 0 && position < bytes.count
  }

  private mutating func string() -> String {
    let start = position
    skipString()
    let raw = UnsafeBufferPointer(rebasing: bytes[start..<position])
    return (try? JSONValue(parsing: raw))?.stringValue ?? ""
  }

  private mutating func skipString() {
    let start = position
    var isEscaped = false
    repeat {
      isEscaped = !isEscaped && position > start && bytes[position] == UInt8(ascii: "\\")
      step()
    } while position < bytes.count && (isEscaped || bytes[position] != UInt8(ascii: "\""))
    if position < bytes.count { step() }
  }
}
