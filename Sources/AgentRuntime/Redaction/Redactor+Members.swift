import AgentTrace

/// What names in values say of what stands beside them: keys of objects, pairs of a name and a value, flags in lists.
extension Redactor {
  /// An object in which what the names of its members say to be secret is withheld.
  func redacted(_ object: JSONObject) -> JSONObject {
    var result = JSONObject()
    let named = settings.findsCredentials ? Self.named(in: object) : nil
    for member in object {
      let key = redacted(member.key)
      guard settings.findsCredentials,
        let kind = SecretName.kind(of: member.key) ?? Self.kind(of: member, named)
          ?? Self.kindInWebKey(member, of: object) ?? Self.kindInCookie(member, of: object),
        !Self.isPieceOfText(member, of: object)
      else {
        result[key] = redacted(member.value)
        continue
      }
      result[key] = redacted(member.value, as: kind)
    }
    return result
  }

  /// Whether `token` is said of a piece of a text: beside a probability or a place, or behind a space.
  private static func isPieceOfText(_ member: JSONObject.Member, of object: JSONObject) -> Bool {
    if object["logprob"] != nil { return true }
    guard member.key == "token", var text = member.value.stringValue,
      !text.withUTF8({ SecretValue.looksRandom($0, 0..<$0.count) })
    else { return false }
    let word = text.utf8.drop { $0 == 0x20 }
    guard word.allSatisfy({ (0x41...0x5a).contains($0 & 0xdf) || $0 >= 0x80 }) else { return false }
    return word.startIndex > text.utf8.startIndex
      || object.contains { placeKeys.contains($0.key) && $0.key != member.key }
  }

  private static let placeKeys: Set<String> = [
    "line", "column", "col", "offset", "start", "end", "pos", "position", "index", "span", "loc",
    "bytes", "top_logprobs", "lemma", "tag",
  ]

  /// The kind of a secret member of a JSON Web Key.
  private static func kindInWebKey(
    _ member: JSONObject.Member, of object: JSONObject
  ) -> SecretName.Kind? {
    SecretName.webKeyParts.contains(member.key) && object["kty"]?.stringValue != nil
      ? .secret : nil
  }

  /// The kind of the value of a cookie, as browsers keep it: `{"name": "li_at", "value": "…", "domain": …}`.
  private static func kindInCookie(
    _ member: JSONObject.Member, of object: JSONObject
  ) -> SecretName.Kind? {
    member.key == "value" && object["domain"]?.stringValue != nil && object["name"] != nil
      ? .weak : nil
  }

  /// A list in which the arguments of flags, the lines of a private key and the second of two texts are withheld, where the first names a secret.
  func redacted(_ elements: [JSONValue]) -> [JSONValue] {
    guard settings.findsCredentials, elements.count > 1,
      elements.contains(where: { $0.stringValue != nil })
    else { return elements.map { redacted($0) } }
    let elements = withoutArguments(elements)
    var result: [JSONValue] = []
    var before: String?
    var isInKey = false
    for element in elements {
      if let text = element.stringValue {
        if Self.isEdge(text, of: "BEGIN") {
          isInKey = true
        } else if isInKey, Self.isKeyLine(text) {
          result.append(.string(token(for: element, kind: "private-key", isLookedFor: true)))
          before = text
          continue
        } else if Self.isEdge(text, of: "END") {
          isInKey = false
        }
      }
      if let text = element.stringValue, let before,
        let kind = Self.kind(of: text, behind: before, inPair: elements.count == 2)
      {
        result.append(.string(redacted(text, as: kind)))
      } else if let text = element.stringValue, before == "-u" || before == "--user",
        let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
      {
        let password = String(text[text.index(after: colon)...])
        result.append(.string(String(text[...colon]) + redacted(password, as: .password)))
      } else {
        result.append(redacted(element))
      }
      before = element.stringValue
    }
    return result
  }

  /// A list of the words of a command, `["sshpass", "-p", "…"]`, in which what its command line would have withheld is
  /// withheld, where flags of one letter stand in it.
  private func withoutArguments(_ elements: [JSONValue]) -> [JSONValue] {
    let texts = elements.compactMap(\.stringValue)
    guard texts.count == elements.count, texts.count <= 64,
      texts.contains(where: {
        $0.utf8.first == UInt8(ascii: "-") && $0.utf8.dropFirst().first != 0x2d
      }),
      texts.allSatisfy({ !RedactionToken.isIn($0) && !$0.utf8.contains(0x0a) }),
      texts.reduce(0, { $0 + $1.utf8.count }) <= 4_096
    else { return elements }
    let line = Array(texts.joined(separator: " ").utf8)
    var findings = line.withUnsafeBufferPointer { CredentialScanner.findings(in: $0) }[...]
    var place = 0
    return texts.map { text in
      let range = place..<(place + text.utf8.count)
      place = range.upperBound + 1
      while let first = findings.first, first.range.lowerBound < range.lowerBound {
        findings.removeFirst()
      }
      guard let finding = findings.first, range.lowerBound <= finding.range.lowerBound,
        finding.range.upperBound <= range.upperBound
      else { return .string(text) }
      let found = String(decoding: line[finding.range], as: UTF8.self)
      return .string(
        String(decoding: line[range.lowerBound..<finding.range.lowerBound], as: UTF8.self)
          + token(for: .string(found), kind: finding.kind, isLookedFor: true)
          + String(decoding: line[finding.range.upperBound..<range.upperBound], as: UTF8.self))
    }
  }

  /// Whether a line of a list is the first or the last of a private key.
  private static func isEdge(_ text: String, of word: String) -> Bool {
    // Most texts in lists are shorter than both words: each context lists all that it refers to.
    (20...200).contains(text.utf8.count) && text.contains("-----\(word) ")
      && text.contains("PRIVATE KEY")
  }

  private static func isKeyLine(_ text: String) -> Bool {
    let line = text.utf8.filter { $0 > 0x20 }
    return (4...200).contains(line.count) && line.allSatisfy(ByteClass.base64.contains)
  }

  /// What a text in a list is, behind a flag or, in a pair, behind a name.
  private static func kind(
    of text: String, behind before: String, inPair: Bool
  ) -> SecretName.Kind? {
    if before.hasPrefix("-") {
      // The edge of a key is no flag.
      if before.hasPrefix("---") { return nil }
      return text.hasPrefix("-") || before.utf8.contains(UInt8(ascii: "="))
        ? nil : SecretName.kind(of: before)
    }
    // Other pairs are lists of names.
    guard inPair, text.utf8.count >= 8 else { return nil }
    var text = text
    let isMixed = text.withUTF8 { SecretValue.isMixed($0, 0..<$0.count) }
    return isMixed ? SecretName.kind(of: before) : nil
  }

  /// A value whose name says that it is a secret.
  private func redacted(_ value: JSONValue, as kind: SecretName.Kind) -> JSONValue {
    switch value {
    case .string(let text): return .string(redacted(text, as: kind))
    case .number:
      let digits = CanonicalJSON.string(value, form: .plain)
      guard digits.utf8.allSatisfy(ByteClass.digit.contains) else { return redacted(value) }
      let isSecret =
        switch kind {
        case .password: digits.utf8.count >= 4
        case .digits: (3...8).contains(digits.utf8.count)
        case .card: (12...19).contains(digits.utf8.count)
        case .secret, .key, .header, .address, .weak: false
        }
      guard isSecret else { return redacted(value) }
      return .string(token(for: value, kind: Self.tokenKind(kind), isLookedFor: false))
    case .array(let elements):
      switch kind {
      case .weak, .key, .address: return .array(redacted(elements))
      default: return .array(elements.map { redacted($0, as: kind) })
      }
    case .object(let object):
      // `{"password": {"value": "…"}}`, but not the schema of one.
      var result = redacted(object)
      for key in ["value", "plaintext", "secret", "current", "plain"] {
        guard let text = object[key]?.stringValue else { continue }
        result[key] = .string(redacted(text, as: kind))
      }
      // Secrets by their names, `{"secrets": {"STRIPE": "…"}}`.
      if case .weak = kind { return .object(result) }
      for member in object where SecretName.kind(of: member.key) == nil {
        guard let text = member.value.stringValue, let there = result[member.key]?.stringValue,
          there.hasSameUTF8(as: text)
        else { continue }
        result[member.key] = .string(redacted(text, as: .weak))
      }
      return .object(result)
    default: return redacted(value)
    }
  }

  private func redacted(_ text: String, as kind: SecretName.Kind) -> String {
    // What holds a token was looked at before; what stands around it is no more than a text.
    guard !text.isEmpty, !RedactionToken.isIn(text) else { return redacted(text) }
    var bytes = Array(text.utf8)
    let range = bytes.withUnsafeBufferPointer { text -> Range<Int>? in
      guard let range = SecretValue.secret(in: text, of: kind) else { return nil }
      // What has a form of its own has the same token wherever it stands.
      let isForm = CredentialScanner.findings(in: text).first?.range == range
      return isForm ? nil : range
    }
    guard let range else { return redacted(text) }
    let found = String(decoding: bytes[range], as: UTF8.self)
    let token = token(
      for: .string(found), kind: Self.tokenKind(kind), isLookedFor: range.count >= 8)
    bytes.replaceSubrange(range, with: token.utf8)
    return redacted(String(decoding: bytes, as: UTF8.self))
  }

  private static func tokenKind(_ kind: SecretName.Kind) -> String {
    switch kind {
    case .card: "card"
    default: "password"
    }
  }

  // MARK: Names beside values

  /// What the name of a value says, where an object is a pair of both.
  private struct Named {
    var key: String
    var kind: SecretName.Kind
    /// Whether the key is one of those that go with `value`; else the value must look like a secret.
    var isSure: Bool
  }

  /// What the name says in `{"name": "DB_PASSWORD", "value": "…"}`; `nil` where nothing is named so.
  private static func named(in object: JSONObject) -> Named? {
    for (keys, isSure) in [(nameKeys, true), (maybeNameKeys, false)] {
      for member in object where keys.contains(plain(member.key)) {
        if let name = member.value.stringValue, let kind = kind(ofNamed: name) {
          return Named(key: member.key, kind: kind, isSure: isSure)
        }
      }
    }
    return nil
  }

  /// The same for what may be the name of a place on a page: `Password textbox`, `What is the password?`.
  private static func kind(ofNamed name: String) -> SecretName.Kind? {
    if let kind = SecretName.kind(of: name) { return kind }
    guard let last = name.split(separator: " ").last, placeWords.contains(last.lowercased()) else {
      return nil
    }
    return SecretName.kind(of: String(name[..<last.startIndex]))
  }

  private static let placeWords: Set<String> = ["textbox", "field", "input", "box"]

  private static func kind(of member: JSONObject.Member, _ named: Named?) -> SecretName.Kind? {
    guard let named, !member.key.hasSameUTF8(as: named.key) else { return nil }
    let key = plain(member.key)
    if named.isSure, valueKeys.contains(key) { return named.kind }
    guard valueKeys.contains(key) || maybeValueKeys.contains(key) else { return nil }
    // `{"label": "Password", "text": "at least 12 signs"}` is about one.
    guard var text = member.value.stringValue else { return nil }
    let isSecret = text.withUTF8 { text in
      let all = 0..<text.count
      return text.count >= 6 && !text.contains { $0 <= 0x20 }
        && (SecretValue.isMixed(text, all) || SecretValue.looksRandom(text, all))
    }
    return isSecret ? named.kind : nil
  }

  /// A key in small letters without what parts its words.
  private static func plain(_ key: String) -> String {
    guard key.utf8.count <= 24 else { return "" }
    return String(
      decoding: key.utf8.filter(ByteClass.alphanumeric.contains).map {
        (0x41...0x5a).contains($0) ? $0 | 0x20 : $0
      }, as: UTF8.self)
  }

  private static let nameKeys: Set<String> = [
    "name", "key", "header", "field", "variable", "env", "option", "param", "parameter",
    "parameterkey", "parametername", "property", "propertyname", "k", "n", "setting",
    "variablename",
  ]
  private static let maybeNameKeys: Set<String> = [
    "id", "label", "title", "attribute", "column", "var", "item", "identifier", "selector",
    "locator", "element", "target", "question", "prompt",
  ]
  private static let valueKeys: Set<String> = [
    "value", "val", "v", "parametervalue", "propertyvalue", "variablevalue", "secretvalue",
    "plaintext", "stringvalue", "textvalue",
  ]
  private static let maybeValueKeys: Set<String> = [
    "content", "text", "data", "argument", "arg", "is", "default", "defaultvalue", "current", "raw",
    "body", "input", "answer",
  ]
}

extension Redactor {
  /// What a note says, which may be secret by its key alone.
  func redacted(_ value: JSONValue, ofNote key: String) -> JSONValue {
    redacted(["key": .string(key), "value": value] as JSONObject)["value"] ?? .null
  }

  /// What of the value of a variable is secret: all of it where its name says so, else what has the form of a
  /// credential. Nothing of less than ``Secret/leastBytes``.
  public static func secrets(in value: String, ofVariable name: String) -> [String] {
    var value = value
    let kind = SecretName.kind(of: name)
    let texts = value.withUTF8 { text -> [String] in
      if let kind, let range = SecretValue.secret(in: text, of: kind) {
        return [String(decoding: text[range], as: UTF8.self)]
      }
      return CredentialScanner.findings(in: text).map {
        String(decoding: text[$0.range], as: UTF8.self)
      }
    }
    return texts.filter { $0.utf8.count >= Secret.leastBytes }
  }
}

extension SecretValue {
  /// Whether a text tells how many of how many passed: `12/12 tests`.
  private static func isScore(_ text: Text) -> Bool {
    let first = ByteClass.digit.end(in: text, from: 0, most: 6)
    guard first > 0, first < text.count, text[first] == UInt8(ascii: "/") else { return false }
    let second = ByteClass.digit.end(in: text, from: first + 1, most: 6)
    return second > first + 1 && (second == text.count || text[second] == 0x20)
  }

  /// Whether a text names a pin of a board: `GPIO17`, `A0`.
  private static func isContact(_ text: Text) -> Bool {
    guard let letters = text.firstIndex(where: { !(0x41...0x5a).contains($0) }),
      (1...4).contains(letters)
    else { return false }
    return (1...2).contains(text.count - letters)
      && text[letters...].allSatisfy(ByteClass.digit.contains)
  }

  /// The part of a text that is secret where its name says so; `nil` where it is none.
  static func secret(in text: Text, of kind: SecretName.Kind) -> Range<Int>? {
    let all = 0..<text.count
    guard !isPlaceholder(text, all) else { return nil }
    switch kind {
    case .password, .secret, .key, .digits: if isRemark(text, all) { return nil }
    case .header, .address, .card, .weak: break
    }
    switch kind {
    case .password, .secret: return isPath(text, all) ? nil : all
    case .key:
      if isScore(text) { return nil }
      let isPlain = text.count < 12 ? !isMixed(text, all) : isMadeOfWords(text, all)
      return isPlain && !looksRandom(text, all) || isPath(text, all) ? nil : all
    case .header:
      let word = ByteClass.name.end(in: text, from: 0, most: 40)
      if word < text.count, text[word] == 0x20, isScheme(text, 0..<word) {
        let rest = (word + 1)..<text.count
        return isPlaceholder(text, rest) ? nil : credential(ofHeader: text, all) ?? rest
      }
      return all
    case .address:
      let isLink = all.contains { index in
        text[index] == UInt8(ascii: ":") && index + 2 < text.count && text[index + 1] == 0x2f
          && text[index + 2] == 0x2f
      }
      guard isLink || !all.contains(where: { text[$0] == UInt8(ascii: "=") || text[$0] == 0x20 })
      else { return nil }
      if !isLink { return looksRandom(text, all, least: 12) && !isPath(text, all) ? all : nil }
      // The way of a webhook.
      let parts = all.split { text[$0] == UInt8(ascii: "/") || text[$0] == UInt8(ascii: "?") }
      let isSecret = parts.dropFirst(2).contains { part in
        looksRandom(text, part.startIndex..<part.endIndex, least: 16)
      }
      return isSecret ? all : nil
    case .card:
      let digits = text.count { ByteClass.digit.contains($0) }
      return (12...19).contains(digits) ? all : nil
    case .digits: return text.count <= 32 && !isContact(text) ? all : nil
    case .weak:
      let isText = text.allSatisfy { ByteClass.token68.contains($0) || $0 == UInt8(ascii: ":") }
      return isText && !isUUID(text, all) && !isDigest(text, all)
        && looksRandom(text, all, least: 16) ? all : nil
    }
  }
}
