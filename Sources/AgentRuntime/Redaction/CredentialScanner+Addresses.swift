/// What the parameters of an address give.
extension CredentialScanner {
  /// What signs an address: `?sig=…`, `&X-Amz-Signature=…`.
  func signature(_ name: Range<Int>, _ sign: Int) -> Finding? {
    guard name.upperBound == sign, name.lowerBound > 0,
      text[name.lowerBound - 1] == UInt8(ascii: "?")
        || text[name.lowerBound - 1] == UInt8(ascii: "&")
        || text[name.lowerBound - 1] == UInt8(ascii: ";")
    else { return nil }
    let end = ByteClass.token68.end(in: text, from: sign + 1, most: 4_096)
    guard end - sign > 20,
      Self.signatures.contains(where: { $0.elementsEqual(name.lazy.map { text[$0] | 0x20 }) }),
      SecretValue.looksRandom(text, (sign + 1)..<end)
    else { return nil }
    return Finding(range: (sign + 1)..<end, kind: "signature")
  }

  private static let signatures = [
    "sig", "signature", "x-amz-signature", "x-goog-signature", "x-oss-signature", "code", "key",
    "q-signature", "auth", "policy-signature", "hmac", "sign", "st", "hdnts", "x-cos-signature",
  ].map { Array($0.utf8) }

  /// `…%3Faccess_token%3DVALUE`: an address within another one; `%` of its sign is at `sign`.
  func escapedAssignment(at sign: Int) -> Finding? {
    guard sign + 14 < text.count, sign > 4, text[sign + 1] == UInt8(ascii: "3") else { return nil }
    // `%22name%22%3A%22VALUE%22`: JSON in an address.
    let quote = Array("%22".utf8)
    let isQuoted = starts(with: quote, at: sign - 3) && starts(with: quote, at: sign + 3)
    guard text[sign + 2] | 0x20 == (isQuoted ? UInt8(ascii: "a") : UInt8(ascii: "d")) else {
      return nil
    }
    let nameEnd = isQuoted ? sign - 3 : sign
    var start = nameEnd
    while start > 0, sign - start < 40, ByteClass.dotted.contains(text[start - 1]) { start -= 1 }
    if start > 0, text[start - 1] == UInt8(ascii: "%") { start += 2 }
    guard start < nameEnd, let kind = SecretName.kind(of: text, start..<nameEnd) else {
      return nil
    }
    switch kind {
    case .password, .secret, .key: break
    case .header, .address, .card, .digits, .weak: return nil
    }
    let first = isQuoted ? sign + 6 : sign + 3
    let end = ByteClass.dotted.end(in: text, from: first, most: 4_096)
    let value = first..<end
    guard value.count >= 8, SecretValue.isMixed(text, value),
      !SecretValue.isPlaceholder(text, value)
    else { return nil }
    return form(at: value.lowerBound) ?? Finding(range: value, kind: "password")
  }
}
