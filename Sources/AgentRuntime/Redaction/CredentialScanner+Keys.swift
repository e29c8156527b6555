/// Private keys: in PEM, as files hold them and as agents read them, of PuTTY, and as JSON Web Keys.
extension CredentialScanner {
  // MARK: Keys in PEM

  /// `-----BEGIN … PRIVATE KEY-----` up to its end, or that of what looks like its body.
  func privateKey(at index: Int) -> Finding? {
    let dashes = Array("----".utf8)
    guard starts(with: dashes, at: index) else { return nil }
    var name = index
    while name < text.count, name - index < 8, text[name] == UInt8(ascii: "-") || text[name] == 0x20
    {
      name += 1
    }
    guard starts(with: Array("BEGIN ".utf8), at: name),
      let nameEnd = find(dashes, from: name, within: 60),
      find(Array("PRIVATE KEY".utf8), from: name, within: nameEnd - name) ?? text.count < nameEnd
    else { return nil }
    var body = nameEnd
    while body < text.count, text[body] == UInt8(ascii: "-") { body += 1 }
    let end = blockEnd(from: body)
    // A heading alone is none, nor one with three dots below.
    guard (body..<end).count(where: { ByteClass.base64.contains(text[$0]) }) >= 40,
      hasKeyLine(body..<end)
    else { return nil }
    var last = end
    if let footer = find(Array("----".utf8), from: max(body, end - 4), within: 200),
      let close = find(Array("KEY".utf8), from: footer, within: 60)
    {
      last = close + 3
      while last < text.count,
        text[last] == UInt8(ascii: "-")
          || text[last] == 0x20
            && last + 1 < text.count && text[last + 1] == UInt8(ascii: "-")
          || starts(with: Array(" BLOCK".utf8), at: last) || "BLOCK".utf8.contains(text[last])
      {
        last += 1
      }
    }
    return Finding(range: index..<last, kind: "private-key")
  }

  /// Whether some line is longer than words are.
  private func hasKeyLine(_ range: Range<Int>) -> Bool {
    var run = 0
    for index in range {
      run = ByteClass.base64.contains(text[index]) ? run + 1 : 0
      if run >= 24 { return true }
    }
    return false
  }

  /// The end of lines of base64 and of the headers before them, written as lines, with `\n` or as agents read them: with
  /// numbers, in quotes of mails, in comments, in colours, with `<br>`.
  private func blockEnd(from start: Int) -> Int {
    var index = start
    while index < text.count, index - start < 1 << 16 {
      if ByteClass.base64.contains(text[index]) {
        index += 1
        continue
      }
      if starts(with: Array("----".utf8), at: index) { return index }
      let next = decorationEnd(from: index)
      if next == index { return index }
      index = next
    }
    return index
  }

  /// The place behind what may stand between lines of a key, or the same place.
  private func decorationEnd(from index: Int) -> Int {
    switch text[index] {
    case 0x0a, 0x0d, 0x20, 0x09, UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"),
      UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "("), UInt8(ascii: ")"),
      UInt8(ascii: "."), UInt8(ascii: "|"), UInt8(ascii: "-"), UInt8(ascii: ">"),
      UInt8(ascii: "#"), UInt8(ascii: "*"):
      return index + 1
    case UInt8(ascii: "<"):
      return Self.breaks.first { starts(with: $0, at: index) }.map { index + $0.count } ?? index
    case 0x1b:
      // `ESC [ 32 m`
      guard index + 1 < text.count, text[index + 1] == UInt8(ascii: "[") else { return index }
      var end = index + 2
      while end < text.count, end - index < 16, (0x30...0x3b).contains(text[end]) { end += 1 }
      return end < text.count ? end + 1 : end
    case 0xe2:
      return starts(with: [0xe2, 0x86, 0x92], at: index)
        || starts(with: [0xe2, 0x94, 0x82], at: index) ? index + 3 : index
    default: return index
    }
  }

  private static let breaks = ["<br>", "<br/>", "<br />"].map { Array($0.utf8) }

  /// The lines of a key whose beginning is gone, before `-----END … PRIVATE KEY-----` at `index`.
  func keyTail(endingAt index: Int) -> Finding? {
    guard starts(with: Array("-----END ".utf8), at: index),
      let key = find(Array("PRIVATE KEY".utf8), from: index + 9, within: 24)
    else { return nil }
    var end = key + 11
    while end < text.count, text[end] == UInt8(ascii: "-") { end += 1 }
    var start = index
    var place = index
    var lines = 0
    while place > 0, index - place < 1 << 16 {
      var run = place
      while run > 0, place - run < 40, !ByteClass.base64.contains(text[run - 1]) {
        if text[run - 1] == UInt8(ascii: "-") { break }
        run -= 1
      }
      guard run > 0, ByteClass.base64.contains(text[run - 1]) else { break }
      var first = run
      while first > 0, ByteClass.base64.contains(text[first - 1]) { first -= 1 }
      // The number of a line, and the letter of `\n`.
      let isMark =
        run - first == 1 || run - first <= 6 && (first..<run).allSatisfy { text[$0] < 0x3a }
      if !isMark {
        guard run - first >= (lines == 0 ? 4 : 40) else { break }
        lines += 1
        let isEscaped = first > 0 && text[first - 1] == UInt8(ascii: "\\")
        start = isEscaped ? first + 1 : first
      }
      place = first
    }
    guard (start..<index).count(where: { ByteClass.base64.contains(text[$0]) }) >= 40 else {
      return nil
    }
    return Finding(range: start..<end, kind: "private-key")
  }

  // MARK: Other private keys

  /// The lines behind `Private-Lines: 6` of a key of PuTTY.
  func puttyKey(at colon: Int) -> Finding? {
    guard starts(with: Array("Private-Lines".utf8), at: colon - 13) else { return nil }
    var first = colon + 1
    while first < text.count, first - colon < 8, text[first] != 0x0a { first += 1 }
    guard first < text.count, text[first] == 0x0a else { return nil }
    first += 1
    var end = first
    while end < text.count, end - first < 1 << 16,
      ByteClass.base64.contains(text[end]) || text[end] == 0x0d
        || text[end] == 0x0a && end + 1 < text.count && !starts(with: Self.mac, at: end + 1)
    {
      end += 1
    }
    return end - first >= 20 ? Finding(range: first..<end, kind: "private-key") : nil
  }

  private static let mac = Array("Private-".utf8)

  /// `"d": "…"`, a secret member of a JSON Web Key, whose colon is at `colon`.
  func webKeyPart(at colon: Int) -> Finding? {
    guard colon > 2, text[colon - 1] == UInt8(ascii: "\"") else { return nil }
    var end = colon - 1
    while end > 0, colon - end < 8, text[end - 1] == UInt8(ascii: "\\") { end -= 1 }
    var start = end
    while start > 0, end - start < 3, ByteClass.lower.contains(text[start - 1]) { start -= 1 }
    guard start > 0, text[start - 1] == UInt8(ascii: "\""),
      SecretName.webKeyParts.contains(String(decoding: text[start..<end], as: UTF8.self))
    else { return nil }
    var first = colon + 1
    while first < text.count, first - colon < 4, text[first] == 0x20 { first += 1 }
    guard first < text.count, let value = quoted(from: first), value.count >= 20,
      value.allSatisfy({ ByteClass.name.contains(text[$0]) }),
      SecretValue.looksRandom(text, value, least: 20)
    else { return nil }
    return Finding(range: value, kind: "private-key")
  }
}
