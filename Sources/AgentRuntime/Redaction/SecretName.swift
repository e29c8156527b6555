/// What the name of a value says of it: one matcher for keys of objects, variables, headers, flags and what stands
/// before a sign in a text.
///
/// A name is taken apart into words (`dbPassword`, `DB_PASSWORD` and `db.password` are the same two), endings that
/// say nothing (`_prod`, `Value`, `2`) are left out, and the last words decide.
enum SecretName {
  /// How far a value of that name is a secret.
  enum Kind {
    /// Whatever it is: a password.
    case password
    /// Whatever is long enough: tokens, keys, secrets.
    case secret
    /// Whatever is no plain word: keys of this and that.
    case key
    /// A header whose whole value is one: `Authorization`, `Cookie`.
    case header
    /// An address that may hold one: connection strings, addresses of webhooks.
    case address
    /// The number of a card.
    case card
    /// A few digits: a PIN, a code that is used once.
    case digits
    /// Only where it looks random: `key`, `auth`.
    case weak
  }

  /// Longer names are none.
  static let limitBytes = 80

  /// What a name says; `nil` where it names no secret.
  static func kind(of name: String) -> Kind? {
    var name = name
    return name.withUTF8 { kind(of: $0, 0..<$0.count) }
  }

  /// The same for a part of a text.
  ///
  /// - Complexity: O(*n*); most names are told apart by one look at each byte.
  static func kind(of text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Kind? {
    if range.count == 2,
      (text[range.lowerBound] | 0x20, text[range.lowerBound + 1] | 0x20) == (0x70, 0x77)
    {
      return .password  // pw
    }
    guard (3...limitBytes).contains(range.count), mayBeOne(text, range) else { return nil }
    var words = self.words(of: text, range)
    while words.count > 1, let last = words.last, isDecoration(last, after: words[words.count - 2])
    {
      words.removeLast()
    }
    guard let last = words.last else { return nil }
    if let kind = kind(of: last, before: words.dropLast()) { return kind }
    // `adminPassword2`: a number behind a name counts it.
    let plain = withoutNumber(last)
    return plain.isEmpty || plain == last ? nil : kind(of: plain, before: words.dropLast())
  }

  private static func withoutNumber(_ word: String) -> String {
    var word = word
    while let last = word.utf8.last, (0x30...0x39).contains(last) { word.removeLast() }
    return word
  }

  private static func kind(of last: String, before: ArraySlice<String>) -> Kind? {
    let previous = before.last ?? ""
    let pair = previous + last
    let triple = (before.dropLast().last ?? "") + pair
    for phrase in [triple, pair, last] {
      if let kind = phrases[phrase] { return kind }
    }
    switch last {
    case "pass":
      if before.isEmpty { return .key }
      return statusWords.contains(previous) ? .weak : .password
    case "tokens", "token":
      if let kind = tokenKind(previous, isPlural: last == "tokens") { return kind }
      return nil
    case "keys", "key":
      if plainKeys.contains(previous) { return nil }
      return secretKeys.contains(previous) ? .key : (last == "key" ? .weak : nil)
    case "hash", "digest": return passwords.contains(previous) ? .secret : nil
    case "pat": return .weak
    default: break
    }
    // Written as one word, as `pgpassword` and `authtoken`.
    for (ending, kind) in endings
    where last.utf8.count > ending.utf8.count && last.hasSuffix(ending) {
      if ending == "token" {
        return tokenKind(String(last.dropLast(5)), isPlural: false)
      }
      return kind
    }
    return nil
  }

  private static func tokenKind(_ previous: String, isPlural: Bool) -> Kind? {
    if isPlural {
      return secretTokens.contains(previous) ? .secret : previous.isEmpty ? .weak : nil
    }
    return plainTokens.contains(previous) ? nil : .secret
  }

  private static func isDecoration(_ word: String, after previous: String) -> Bool {
    if word == "string" { return !["connection", "conn", "query"].contains(previous) }
    if decorations.contains(word) { return true }
    let plain = withoutNumber(word)
    if plain.utf8.count > 2, decorations.contains(plain) { return true }
    return word.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  // MARK: Words of a name

  /// The words of a name in lower case: parted by what is no letter or digit, and where a capital begins one.
  static func words(of text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> [String] {
    var words: [String] = []
    var word: [UInt8] = []
    var previous: UInt8 = 0
    func isUpper(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) }
    func isLower(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte) }
    for index in range {
      let byte = text[index]
      guard byte >= 0x80 || ByteClass.alphanumeric.contains(byte) else {
        if !word.isEmpty { words.append(plain(word)) }
        (word, previous) = ([], 0)
        continue
      }
      let next = index + 1 < range.upperBound ? text[index + 1] : 0
      if isUpper(byte), !word.isEmpty,
        isLower(previous) || (0x30...0x39).contains(previous)
          || (isUpper(previous) && isLower(next))
      {
        // `APIKey` and `dbPassword`, but not the plural of `APIs`.
        words.append(plain(word))
        word = []
      }
      word.append(isUpper(byte) ? byte | 0x20 : byte)
      previous = byte
    }
    if !word.isEmpty { words.append(plain(word)) }
    return words
  }

  /// A word in small letters: those of ASCII are small already.
  private static func plain(_ word: [UInt8]) -> String {
    let text = String(decoding: word, as: UTF8.self)
    return word.contains { $0 >= 0x80 } ? text.lowercased() : text
  }

  // MARK: The first look

  /// Whether three letters in a row are those of some word below.
  private static func mayBeOne(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Bool {
    var (first, second) = (text[range.lowerBound] | 0x20, text[range.lowerBound + 1] | 0x20)
    return stems.withUnsafeBufferPointer { stems in
      for index in (range.lowerBound + 2)..<range.upperBound {
        let third = text[index] | 0x20
        if third >= 0xa0 || (second, third) == (0x70, 0x77) { return true }
        let slot = stem(first, second, third)
        if stems[slot >> 6] & (1 << UInt64(slot & 63)) != 0 { return true }
        (first, second) = (second, third)
      }
      return false
    }
  }

  private static func stem(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int {
    (Int(first & 31) << 10 | Int(second & 31) << 5 | Int(third & 31))
  }

  /// One bit for each three letters.
  private static let stems: [UInt64] = {
    var bits = [UInt64](repeating: 0, count: 512)
    for text in stemWords {
      let bytes = Array(text.utf8)
      let slot = stem(bytes[0], bytes[1], bytes[2])
      bits[slot >> 6] |= 1 << UInt64(slot & 63)
    }
    return bits
  }()

  private static let stemWords = [
    "pas", "pwd", "psw", "sec", "tok", "key", "cre", "aut", "coo", "jwt", "pin", "cvv", "cvc",
    "cvn", "dsn", "con", "url", "uri", "hoo", "sas", "ses", "pat", "otp", "mne", "see", "phr",
    "ken", "sen", "mot", "mdp", "car", "pan", "bea", "rec", "bac", "cod", "str", "htp", "riv",
    "psk",
    "slo", "woo", "ola", "ifr", "asa", "dga", "lsz", "deo", "ehe", "zug", "lav", "cle", "jet",
    "sse", "aml", "nar", "urc", "tpp", "p_p", "psp", "s_p", "cnu", "c_n", "hav", "iav",
  ]
}
