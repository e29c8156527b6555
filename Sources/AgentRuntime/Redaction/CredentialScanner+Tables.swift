/// Values whose names stand apart from them: in elements, in the columns of tables and of statements.
extension CredentialScanner {
  // MARK: Elements

  /// The text of an element whose opening tag ends at `sign`: `<apiKey>…`, `<property name="password">…`,
  /// `<key>password</key><string>…`.
  func element(openedBy sign: Int) -> Finding? {
    var open = sign
    while open > 0, sign - open < 200, text[open - 1] != UInt8(ascii: "<"),
      text[open - 1] != UInt8(ascii: ">")
    {
      open -= 1
    }
    guard open > 0, open < sign, text[open - 1] == UInt8(ascii: "<"),
      ByteClass.alphanumeric.contains(text[open]), let value = elementText(from: sign + 1),
      !value.isEmpty
    else { return nil }
    var tagEnd = ByteClass.dotted.end(in: text, from: open)
    var tag = open..<tagEnd
    if tagEnd < sign, text[tagEnd] == UInt8(ascii: ":") {
      tagEnd = ByteClass.dotted.end(in: text, from: tagEnd + 1)
      tag = (tag.upperBound + 1)..<tagEnd
    }
    if let kind = SecretName.kind(of: text, tag) { return found(kind, value, named: tag) }
    for word in Self.naming {
      guard let begin = find(word, from: tagEnd, within: sign - tagEnd),
        begin + word.count < sign, let name = quoted(from: begin + word.count),
        name.upperBound < sign, let kind = SecretName.kind(of: text, name)
      else { continue }
      return found(kind, value, named: name)
    }
    if let name = elementBefore(open - 1), let kind = SecretName.kind(of: text, name) {
      return found(kind, value, named: name)
    }
    return cell(value, openedAt: open - 1)
  }

  /// `<td>Password</td><td>VALUE</td>`, `<data name="DbPassword"><value>VALUE`: what looks like a secret, behind its name.
  private func cell(_ value: Range<Int>, openedAt open: Int) -> Finding? {
    var end = open
    while end > 0, open - end < 80, text[end - 1] <= 0x20 { end -= 1 }
    guard end > 4, text[end - 1] == UInt8(ascii: ">"), looksTold(value, least: 6) else {
      return nil
    }
    var start = end - 1
    while start > 0, end - start < 200, text[start - 1] != UInt8(ascii: "<") { start -= 1 }
    guard start > 0 else { return nil }
    if text[start] == UInt8(ascii: "/") {
      var first = start - 1
      while first > 0, start - first < 60, text[first - 1] != UInt8(ascii: ">") { first -= 1 }
      guard first < start - 1, let name = name(before: start - 1), name.lowerBound >= first,
        let kind = SecretName.kind(of: text, name)
      else { return nil }
      return found(kind, value, named: name)
    }
    let tag = start..<ByteClass.dotted.end(in: text, from: start, most: 60)
    if let kind = SecretName.kind(of: text, tag) { return found(kind, value, named: tag) }
    for word in Self.naming {
      guard let begin = find(word, from: start, within: end - start), begin + word.count < end,
        let name = quoted(from: begin + word.count), name.upperBound < end,
        let kind = SecretName.kind(of: text, name)
      else { continue }
      return found(kind, value, named: name)
    }
    return nil
  }

  private static let naming = [" name=", " key=", " id="].map { Array($0.utf8) }

  /// The text of `<key>` or `<name>` that ends before a place, but for one tag that opens between.
  private func elementBefore(_ place: Int) -> Range<Int>? {
    var end = place
    while end > 0, place - end < 80, text[end - 1] <= 0x20 { end -= 1 }
    let wrapper = Array("<value>".utf8)
    if starts(with: wrapper, at: end - wrapper.count) {
      end -= wrapper.count
      while end > 0, place - end < 80, text[end - 1] <= 0x20 { end -= 1 }
    }
    for close in Self.closings where starts(with: close, at: end - close.count) {
      end -= close.count
      var start = end
      while start > 0, end - start <= SecretName.limitBytes,
        ByteClass.dotted.contains(text[start - 1])
      {
        start -= 1
      }
      return start < end ? start..<end : nil
    }
    return nil
  }

  private static let closings = ["</key>", "</name>"].map { Array($0.utf8) }

  /// The text of an element from here to its end tag, in `CDATA` or not.
  private func elementText(from start: Int) -> Range<Int>? {
    let cdata = Array("<![CDATA[".utf8)
    if starts(with: cdata, at: start) {
      let first = start + cdata.count
      return find(Array("]]>".utf8), from: first, within: 512).map { first..<$0 }
    }
    var end = start
    while end < text.count, end - start < 4_096, text[end] != UInt8(ascii: "<"), text[end] > 0x20 {
      end += 1
    }
    return starts(with: Array("</".utf8), at: end) ? start..<end : nil
  }

  // MARK: Full-width signs

  /// `密码：VALUE`, whose colon begins at `index`.
  func announcedInFullWidth(at index: Int) -> Finding? {
    guard starts(with: [0xef, 0xbc, 0x9a], at: index), index > 2,
      let name = name(before: index), let kind = SecretName.kind(of: text, name)
    else { return nil }
    var first = index + 3
    while first < text.count, first - index < 8, text[first] == 0x20 { first += 1 }
    guard first < text.count else { return nil }
    let value = quoted(from: first) ?? unquoted(from: first, isWhole: true)
    return value.isEmpty ? nil : found(kind, value, named: name)
  }

  // MARK: Statements

  /// `INSERT INTO users (name, password) VALUES ('ana', '…')`, whose word `VALUES` begins at `start`; and how far that
  /// was read.
  func insertedValues(behind start: Int, wordEnd: Int) -> (findings: [Finding], end: Int) {
    let none = (findings: [Finding](), end: wordEnd)
    guard Array("values".utf8).elementsEqual((start..<wordEnd).lazy.map { text[$0] | 0x20 }) else {
      return none
    }
    var close = start
    while close > 0, start - close < 8, text[close - 1] <= 0x20 { close -= 1 }
    guard close > 0, text[close - 1] == UInt8(ascii: ")") else { return none }
    var open = close - 1
    while open > 0, close - open < 1_024, text[open - 1] != UInt8(ascii: "("),
      text[open - 1] != UInt8(ascii: ")")
    {
      open -= 1
    }
    guard open > 0, text[open - 1] == UInt8(ascii: "(") else { return none }
    let kinds = cells(open..<(close - 1), UInt8(ascii: ",")).map { SecretName.kind(of: text, $0) }
    guard kinds.contains(where: Self.isSecretColumn) else { return none }
    var found: [Finding] = []
    var index = wordEnd
    while index < text.count, found.count < 1_000 {
      while index < text.count, text[index] <= 0x20 || text[index] == UInt8(ascii: ",") {
        index += 1
      }
      guard index < text.count, text[index] == UInt8(ascii: "(") else { break }
      guard let end = tupleEnd(from: index + 1) else {
        index += Self.tupleMost
        break
      }
      for (kind, cell) in zip(kinds, cells((index + 1)..<end, UInt8(ascii: ","))) {
        if let finding = cellFinding(kind, cell) { found.append(finding) }
      }
      index = end + 1
    }
    return (found, index)
  }

  private static let tupleMost = 4_096

  /// The bracket that closes a list of texts and numbers.
  private func tupleEnd(from start: Int) -> Int? {
    var index = start
    var isQuoted = false
    while index < text.count, index - start < Self.tupleMost {
      if text[index] == UInt8(ascii: "'") { isQuoted.toggle() }
      if text[index] == UInt8(ascii: ")"), !isQuoted { return index }
      index += 1
    }
    return nil
  }

  // MARK: Tables

  /// What stands in columns whose heads say that it is secret: in tables of `,`, `;`, tabs or `|`.
  ///
  /// - Complexity: O(*n*).
  func columns() -> [Finding] {
    var found: [Finding] = []
    var line = self.line(from: 0)
    while line.upperBound < text.count {
      var next = self.line(from: line.upperBound + 1)
      if let separator = separator(of: line) {
        let heads = cells(line, separator)
        let kinds = heads.map { head in
          // More words are a sentence.
          head.count { text[$0] == 0x20 } > 2 ? nil : SecretName.kind(of: text, head)
        }
        if heads.count > 1, isHead(heads, separator), kinds.contains(where: Self.isSecretColumn) {
          while !next.isEmpty, found.count < 100_000 {
            let row = cells(next, separator)
            // A line of dashes parts the head from the rows.
            let isRule = next.allSatisfy { "-+|:= \r".utf8.contains(text[$0]) }
            guard isRule || row.count == heads.count else { break }
            if !isRule {
              for (kind, cell) in zip(kinds, row) {
                if let finding = cellFinding(kind, cell) { found.append(finding) }
              }
            }
            guard next.upperBound < text.count else { break }
            next = self.line(from: next.upperBound + 1)
          }
        }
      }
      line = next
    }
    return found
  }

  /// Whether each cell has a name; `|` may stand around all of them. A list that goes on in the next line has not.
  private func isHead(_ cells: [Range<Int>], _ separator: UInt8) -> Bool {
    let isFramed = cells.first?.isEmpty == true && cells.last?.isEmpty == true
    let isBar = separator == UInt8(ascii: "|")
    return (isBar && isFramed ? cells.dropFirst().dropLast() : cells[...]).allSatisfy {
      !$0.isEmpty
    }
  }

  /// What parts the cells of a line that may be the head of a table: names and nothing else.
  private func separator(of line: Range<Int>) -> UInt8? {
    guard (8...1_000).contains(line.count) else { return nil }
    var separator: UInt8?
    for index in line {
      let byte = text[index]
      switch byte {
      case UInt8(ascii: ","), UInt8(ascii: ";"), 0x09, UInt8(ascii: "|"):
        if let separator, separator != byte { return nil }
        separator = byte
      case 0x20, 0x0d, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): break
      default: guard ByteClass.dotted.contains(byte) || byte >= 0x80 else { return nil }
      }
    }
    return separator
  }

  private func line(from start: Int) -> Range<Int> {
    var end = start
    while end < text.count, text[end] != 0x0a { end += 1 }
    return min(start, text.count)..<end
  }

  /// The cells of a line, without spaces and quotes around them.
  private func cells(_ line: Range<Int>, _ separator: UInt8) -> [Range<Int>] {
    var cells: [Range<Int>] = []
    var (start, quote) = (line.lowerBound, UInt8(0))
    for index in line {
      let byte = text[index]
      if byte == quote {
        quote = 0
      } else if quote == 0, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'"),
        trimmed(start..<index).isEmpty
      {
        quote = byte
      } else if quote == 0, byte == separator {
        cells.append(trimmed(start..<index))
        start = index + 1
      }
    }
    return cells + [trimmed(start..<line.upperBound)]
  }

  private func trimmed(_ range: Range<Int>) -> Range<Int> {
    func isAround(_ byte: UInt8) -> Bool { byte <= 0x20 || "\"'`".utf8.contains(byte) }
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, isAround(text[start]) { start += 1 }
    while end > start, isAround(text[end - 1]) { end -= 1 }
    return start..<end
  }

  private static func isSecretColumn(_ kind: SecretName.Kind?) -> Bool {
    switch kind {
    case .password, .secret, .key: true
    case .header, .address, .card, .digits, .weak, nil: false
    }
  }

  private func cellFinding(_ kind: SecretName.Kind?, _ cell: Range<Int>) -> Finding? {
    guard let kind, Self.isSecretColumn(kind), cell.count >= 4,
      !cell.contains(where: { text[$0] == 0x20 }),
      SecretValue.isMixed(text, cell) || SecretValue.looksRandom(text, cell)
    else { return nil }
    return found(kind, cell, named: cell)
  }
}
