public import AgentTrace
import Synchronization
import TraceMatching

/// Withholds values as they enter a run, and puts them back into what goes out to tools.
///
/// State, context, log, policy and judge all see the same token in a value's place
/// (`RedactionToken`); the plain value lives in here, in memory, and nowhere else. Its digits are an
/// HMAC of the value, so that they tell nothing without the key and the same value has the same token.
/// May be used from any task.
public final class Redactor: Sendable {
  /// A value that is withheld wherever it is said, for example one of the environment.
  public struct Secret: Sendable, Hashable {
    /// See `RedactionToken.kind`.
    public var kind: String
    /// The value. Less than ``leastBytes`` of it are taken for no secret.
    public var text: String

    /// The fewest bytes of a text that is looked for everywhere: a shorter one would hide words.
    public static let leastBytes = 6

    /// A text of fewer bytes than ``leastBytes`` is taken for no secret.
    public init(kind: String, text: String) {
      self.kind = kind
      self.text = text
    }
  }

  /// What the values that tokens stand for are needed for.
  public enum Values: Sendable {
    /// Tools are called: a call whose value is not there cannot be made.
    case needed
    /// Nothing is called; tokens may stay what they are, as in a run that is made again from its log.
    case recorded
  }

  /// How many values are remembered at most; those that come later are withheld all the same, but can
  /// no longer be put back.
  static let valueLimit = 100_000

  private struct State {
    /// What each token stands for.
    var values: [String: JSONValue] = [:]
    /// Tokens that another key made, by the one that this key makes.
    var learned: [String: String] = [:]
    var texts = KnownTexts()
    /// Of how many words those are at most that were known before they were met.
    var mostWords = 1
    /// The kinds of those that are numbers as well.
    var numbers: [String: String] = [:]
    /// The names of tools, in which nothing is looked for that was withheld elsewhere.
    var names: Set<[UInt8]> = []
  }

  /// How many names of tools are kept.
  private static let nameLimit = 10_000

  /// What is known of values, of a run and of those that it calls.
  private final class Store: Sendable {
    let key: [UInt8]
    /// Whether other processes have the same key, so that what has another token is another value.
    let isKeyGiven: Bool
    private let state = Mutex(State())

    init(key: [UInt8]?) {
      isKeyGiven = key != nil
      self.key = key ?? (0..<32).map { _ in UInt8.random(in: 0...255) }
    }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
      state.withLock { body(&$0) }
    }
  }

  /// What was said of texts so far, while a whole run is looked through.
  private struct Said {
    /// By their bytes: a run says many of them again and again. `nil` else.
    var texts: [SaidText: String]?
    /// About how much that is.
    var bytes = 0
  }

  /// A text that only its own bytes are equal to.
  private struct SaidText: Hashable {
    var text: String

    static func == (left: SaidText, right: SaidText) -> Bool {
      left.text.hasSameUTF8(as: right.text)
    }

    func hash(into hasher: inout Hasher) {
      var text = text
      // All at once: byte by byte this would take longer than looking through the text.
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }

  /// How much is kept of what was said of texts.
  private static let saidLimitBytes = 64 << 20

  let settings: RedactionSettings
  private let values: Values
  private let state: Store
  private let said = Mutex(Said())

  /// Knows the given secrets from the start.
  ///
  /// - Parameters:
  ///   - settings: what is looked for besides.
  ///   - secrets: the key, where there is one, and the values that are known.
  ///   - values: what the values that tokens stand for are needed for.
  ///   - parent: of the run that calls this one: both know from then on what either of them withholds, with the parent's
  ///     key. `nil` for a run that stands by itself.
  public init(
    _ settings: RedactionSettings, _ secrets: RunSecrets = RunSecrets(), values: Values = .needed,
    sharing parent: Redactor? = nil
  ) {
    self.settings = settings
    state = parent?.state ?? Store(key: secrets.key)
    self.values = values
    // The longest first: one may hold another.
    for secret in secrets.known.sorted(by: { $0.text.utf8.count > $1.text.utf8.count })
    where secret.text.utf8.count >= Secret.leastBytes { know(secret) }
  }

  /// Of how many words a secret may be that is known; `nil` where patterns withhold texts of any form.
  var mostWordsOfSecrets: Int? {
    settings.patterns.isEmpty ? state.withLock { $0.mostWords } : nil
  }

  /// What another run has to know so that it withholds the same values behind the same tokens: the key, and every text
  /// that was withheld so far.
  public var secrets: RunSecrets {
    let values = state.withLock { $0.values }
    let known = values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      .compactMap { token, value -> Secret? in
        guard let text = value.stringValue, text.utf8.count >= Secret.leastBytes else { return nil }
        var kind: String?
        RedactionToken.forEach(in: .string(token)) { kind = $0.kind }
        return kind.map { Secret(kind: $0, text: text) }
      }
    return RunSecrets(key: state.key, known: known)
  }

  /// Learns texts that another run withheld with the same key.
  public func know(_ secrets: RunSecrets) {
    for secret in secrets.known where secret.text.utf8.count >= Secret.leastBytes { know(secret) }
  }

  private func know(_ secret: Secret) {
    _ = token(for: .string(secret.text), kind: secret.kind, isLookedFor: true, isKnown: true)
    let words = secret.text.split(whereSeparator: \.isWhitespace).count
    state.withLock { state in
      state.mostWords = max(state.mostWords, words)
      if JSONNumber(token: secret.text) != nil {
        state.numbers[EncodedText.plainNumber(secret.text)] = secret.kind
      }
    }
  }

  /// Takes in names of tools, which everybody is told: no text that stands in one is a secret, whatever a result says.
  /// Else a text that an agent reads could take a tool's name away from policy and judge. A credential by its own form is
  /// withheld in a name as well.
  package func keep(toolNames names: some Sequence<String>) {
    state.withLock { state in
      for name in names where state.names.count < Self.nameLimit && name.utf8.count <= 1_024 {
        state.names.insert(Array(name.utf8))
      }
    }
  }

  /// Whether something was withheld so far.
  public var hasWithheld: Bool { state.withLock { !$0.values.isEmpty } }

  // MARK: In

  /// A value as it may stand in the run.
  ///
  /// - Complexity: O(*n*) in its text, once for each pattern of the agent file.
  public func redacted(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(redacted(text))
    case .array(let elements): .array(redacted(elements))
    case .object(let object): .object(redacted(object))
    case .bytes(let bytes):
      isClean(String(decoding: bytes, as: UTF8.self)) ? value : withheld(value, kind: "bytes")
    case .cut(let count, let head): .cut(bytes: count, head: redacted(head))
    // A secret of digits alone may be printed as a number.
    case .number(let number): token(forNumber: number.token).map(JSONValue.string) ?? value
    case .null, .bool, .lost: value
    }
  }

  /// What stands for a number that is a known secret; `nil` where it is none.
  private func token(forNumber text: String) -> String? {
    guard
      let kind = state.withLock({ state in
        state.numbers.isEmpty ? nil : state.numbers[EncodedText.plainNumber(text)]
      })
    else { return nil }
    return token(for: .string(text), kind: kind, isLookedFor: true)
  }

  /// A text as it may stand in the run.
  public func redacted(_ text: String) -> String {
    guard text.utf8.count >= 3 else { return text }
    if let said = said.withLock({ $0.texts.map { $0[SaidText(text: text)] } }) {
      if let said { return said }
      let redacted = lookedThrough(text)
      self.said.withLock { said in
        said.bytes += 2 * text.utf8.count
        if said.bytes > Self.saidLimitBytes {
          said.texts = said.texts == nil ? nil : [:]
          said.bytes = 2 * text.utf8.count
        }
        said.texts?[SaidText(text: text)] = redacted
      }
      return redacted
    }
    return lookedThrough(text)
  }

  /// Keeps what is said of each text, or forgets it.
  func keepWhatIsSaid(_ isKept: Bool) {
    said.withLock { $0 = Said(texts: isKept ? [:] : nil) }
  }

  private func lookedThrough(_ text: String) -> String {
    var redacted = text
    // What stands beside a token may be a finding of its own now. Each round leaves less to look at.
    for _ in 0..<Self.roundLimit {
      guard let next = redactedOnce(redacted) else { return redacted }
      redacted = next
    }
    return token(for: .string(text), kind: "text", isLookedFor: false)
  }

  private static let roundLimit = 50

  /// A text without what is found in it; `nil` where nothing is.
  private func redactedOnce(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    let tokens = text.utf8.contains(0xc2) ? RedactionToken.ranges(in: bytes) : []
    var findings: [CredentialScanner.Finding] = []
    var start = 0
    for token in tokens + [bytes.count..<bytes.count] {
      findings += self.findings(in: bytes[start..<token.lowerBound])
      start = token.upperBound
    }
    guard !findings.isEmpty else { return nil }
    var redacted: [UInt8] = []
    redacted.reserveCapacity(bytes.count)
    var last = 0
    for finding in findings {
      let found = String(decoding: bytes[finding.range], as: UTF8.self)
      redacted += bytes[last..<finding.range.lowerBound]
      redacted +=
        token(
          for: .string(found), kind: finding.kind,
          isLookedFor: finding.isLookedFor
        ).utf8
      last = finding.range.upperBound
    }
    redacted += bytes[last...]
    return String(decoding: redacted, as: UTF8.self)
  }

  /// Whether a text is a few plain words, or a name made of them: withheld where a secret is said, and nowhere else. Else
  /// `token: identifier` in one result would take the word away from all that follows.
  private static func isWords(_ text: String) -> Bool {
    guard text.utf8.count <= 24 else { return false }
    let words = text.utf8.split { byte in "_-. ".utf8.contains(byte) }
    return !words.isEmpty && words.count <= 3 && words.allSatisfy(isWord)
  }

  /// Whether it can be spoken: small letters behind the first, a vowel among five, few consonants in a row.
  private static func isWord(_ word: Substring.UTF8View) -> Bool {
    var (count, vowels, row) = (0, 0, 0)
    for byte in word {
      let isSmall = (0x61...0x7a).contains(byte)
      guard isSmall || count == 0 && (0x41...0x5a).contains(byte) else { return false }
      count += 1
      let isVowel = "aeiouyAEIOUY".utf8.contains(byte)
      vowels += isVowel ? 1 : 0
      row = isVowel ? 0 : row + 1
      if row > (word.count > 8 ? 2 : 3) { return false }
    }
    return count <= 12 && vowels * (count > 8 ? 4 : 5) >= count
  }

  /// What a tool is given or returns, or the goal, as it may stand in the run.
  func redacted(
    _ value: JSONValue, _ side: RedactionSettings.PlaceRule.Side, of tool: String = ""
  ) -> JSONValue {
    var value = value
    for rule in settings.places
    where rule.side == side && (side == .goal || rule.isAbout(tool)) {
      withhold(rule.pointer.tokens[...], of: &value, rule.kind)
    }
    return redacted(value)
  }

  /// A reply as it may stand in the run, and the inputs of its calls.
  func redacted(reply: JSONValue) -> JSONValue {
    guard settings.places.contains(where: { $0.side == .input }),
      case .object(var object) = reply, let calls = object["calls"]?.arrayValue
    else { return redacted(reply) }
    object["calls"] = .array(
      calls.map { call in
        guard case .object(var call) = call, let tool = call["name"]?.stringValue else {
          return call
        }
        if let input = call["input"] {
          call["input"] = redacted(input, .input, of: tool)
        } else if let text = call["arguments"]?.stringValue,
          let input = try? JSONValue(parsing: text, options: .init(depthLimit: 64))
        {
          let changed = redacted(input, .input, of: tool)
          if changed != input {
            call["arguments"] = .string(CanonicalJSON.string(changed, form: .plain))
          }
        }
        return .object(call)
      })
    return redacted(.object(object))
  }

  private func withhold(_ path: ArraySlice<String>, of value: inout JSONValue, _ kind: String) {
    guard let first = path.first else {
      if case .string(let text) = value, Self.isToken(text) { return }
      if !value.isNull { value = withheld(value, kind: kind) }
      return
    }
    switch value {
    case .object(var object):
      for key in object.keys where first == "*" || key.hasSameUTF8(as: first) {
        guard var member = object[key] else { continue }
        withhold(path.dropFirst(), of: &member, kind)
        object[key] = member
      }
      value = .object(object)
    case .array(var elements):
      for index in elements.indices where first == "*" || first == "\(index)" {
        withhold(path.dropFirst(), of: &elements[index], kind)
      }
      value = .array(elements)
    default: break
    }
  }

  private func withheld(_ value: JSONValue, kind: String) -> JSONValue {
    .string(token(for: value, kind: kind, isLookedFor: false))
  }

  // MARK: Finding

  private func isClean(_ text: String) -> Bool { findings(in: Array(text.utf8)[...]).isEmpty }

  /// What is withheld of a text without tokens, by its places, in order.
  private func findings(in bytes: ArraySlice<UInt8>) -> [CredentialScanner.Finding] {
    guard !bytes.isEmpty else { return [] }
    var findings = state.withLock { state in
      let known = state.texts.findings(in: bytes)
      guard !known.isEmpty, !state.names.isEmpty else { return known }
      return known.filter { finding in
        let found = bytes[
          (bytes.startIndex + finding.range.lowerBound)..<(bytes.startIndex
            + finding.range.upperBound)]
        return !state.names.contains { Self.isPart(found, of: $0) }
      }
    }
    if settings.findsCredentials {
      findings += bytes.withUnsafeBufferPointer { CredentialScanner.findings(in: $0) }
    }
    if !settings.patterns.isEmpty {
      let text = String(decoding: bytes, as: UTF8.self)
      for rule in settings.patterns {
        // What cannot be searched within bounds may hold it anywhere.
        let ranges = rule.pattern.ranges(in: text) ?? [0..<bytes.count]
        findings += ranges.map { .init(range: $0, kind: rule.kind) }
      }
    }
    return Self.apart(findings).map {
      .init(
        range: ($0.range.lowerBound + bytes.startIndex)..<($0.range.upperBound + bytes.startIndex),
        kind: $0.kind, isLookedFor: $0.isLookedFor)
    }
  }

  private static func isPart(_ text: ArraySlice<UInt8>, of name: [UInt8]) -> Bool {
    guard let first = text.first, text.count <= name.count else { return false }
    return name.indices.dropLast(text.count - 1).contains {
      name[$0] == first && name[$0...].starts(with: text)
    }
  }

  /// Findings of which none overlaps another: those that do are one.
  private static func apart(
    _ findings: [CredentialScanner.Finding]
  ) -> [CredentialScanner.Finding] {
    guard findings.count > 1 else { return findings }
    let sorted = findings.enumerated().sorted {
      ($0.element.range.lowerBound, -$0.element.range.upperBound, $0.offset)
        < ($1.element.range.lowerBound, -$1.element.range.upperBound, $1.offset)
    }
    var apart: [CredentialScanner.Finding] = []
    for (_, finding) in sorted {
      if let last = apart.last, finding.range.lowerBound < last.range.upperBound {
        let end = max(last.range.upperBound, finding.range.upperBound)
        apart[apart.count - 1].range = last.range.lowerBound..<end
        if end > last.range.upperBound { apart[apart.count - 1].isLookedFor = true }
      } else {
        apart.append(finding)
      }
    }
    return apart
  }

  // MARK: Tokens

  static func isToken(_ text: String) -> Bool {
    RedactionToken.ranges(in: Array(text.utf8)).first == 0..<text.utf8.count
  }

  /// The token of a value, which is remembered.
  ///
  /// - Parameters:
  ///   - isLookedFor: whether the same text is withheld wherever else it is said, unless it is plain words.
  ///   - isKnown: whether it was known before anything was said: then plain words are looked for as well.
  func token(
    for value: JSONValue, kind: String, isLookedFor: Bool, isKnown: Bool = false
  ) -> String {
    let token = ownToken(for: value, kind: kind)
    return state.withLock { state in
      let shown = state.learned[token] ?? token
      if state.values.count < Self.valueLimit { state.values[shown] = value }
      if isLookedFor, case .string(let text) = value, text.utf8.count >= Secret.leastBytes,
        isKnown || !Self.isWords(text)
      {
        state.texts.insertWithEncodings(text, kind: kind)
        // A key that is written over many lines may come again without its first and last.
        for line in text.split(whereSeparator: \.isNewline) where line.utf8.count >= 40 {
          state.texts.insert(String(line), kind: kind)
        }
      }
      return shown
    }
  }

  private func ownToken(for value: JSONValue, kind: String) -> String {
    // A text stands for itself, anything else for its canonical form behind a byte of no text.
    let bytes = value.stringValue.map { Array($0.utf8) } ?? [0xff] + CanonicalJSON.encode(value)
    let hex = Digest(authenticating: bytes, key: state.key).hex.prefix(32)
    return RedactionToken(kind: kind, hex: String(hex)).description
  }

  // MARK: Out

  /// What a tool is given: each token replaced by what it stands for.
  ///
  /// - Returns: the value, and the first token that stands for nothing known.
  public func restored(_ value: JSONValue) -> (value: JSONValue, missing: String?) {
    guard RedactionToken.isIn(value) else { return (value, nil) }
    var missing: String?
    let restored = state.withLock { Self.restored(value, $0.values, &missing) }
    return (restored, missing)
  }

  private static func restored(
    _ value: JSONValue, _ values: [String: JSONValue], _ missing: inout String?
  ) -> JSONValue {
    switch value {
    case .string(let text): return restored(text, values, &missing)
    case .array(let elements):
      return .array(elements.map { restored($0, values, &missing) })
    case .object(let object):
      var result = JSONObject()
      for member in object {
        let key = restored(member.key, values, &missing).stringValue ?? member.key
        result[key] = restored(member.value, values, &missing)
      }
      return .object(result)
    default: return value
    }
  }

  private static func restored(
    _ text: String, _ values: [String: JSONValue], _ missing: inout String?
  ) -> JSONValue {
    var bytes = Array(text.utf8)
    let tokens = RedactionToken.ranges(in: bytes)
    if let only = tokens.first, only == 0..<bytes.count {
      if let value = values[text] { return value }
      missing = missing ?? text
      return .string(text)
    }
    for range in tokens.reversed() {
      let token = String(decoding: bytes[range], as: UTF8.self)
      guard let value = values[token] else {
        missing = missing ?? token
        continue
      }
      let plain = value.stringValue ?? CanonicalJSON.string(value, form: .plain)
      bytes.replaceSubrange(range, with: plain.utf8)
    }
    return .string(String(decoding: bytes, as: UTF8.self))
  }

  /// Why a call cannot be made: a value that it needs is no longer there; `nil` where it can.
  func reasonNotToCall(with input: JSONValue) -> String? {
    guard values == .needed, let missing = restored(input).missing else { return nil }
    return Self.goneReason(missing)
  }

  /// What is said of a call whose value is gone.
  public static func goneReason(_ token: String) -> String { "the value of \(token)\(gone)" }

  private static let gone =
    " is no longer there: it was never written, and the process that held it has ended"

  /// Whether a call was refused for a value that was gone.
  public static func isGoneReason(_ reason: String) -> Bool {
    reason.hasSuffix(gone) && reason.hasPrefix("the value of ")
  }

  // MARK: Learning

  /// Learns from a recorded run which tokens it had for values that are known here: each stands where
  /// today's value has the same text around it. Without the key of then, what the agent file holds
  /// could not be recognised otherwise.
  public func learn(from recorded: JSONValue, today: JSONValue) {
    switch (recorded, today) {
    case (.string(let recorded), .string(let today)): learn(recorded, today)
    case (.array(let recorded), .array(let today)):
      for (old, new) in zip(recorded, today) { learn(from: old, today: new) }
    case (.object(let recorded), .object(let today)):
      for member in recorded {
        if let new = today[member.key] { learn(from: member.value, today: new) }
      }
    default: break
    }
  }

  private func learn(_ recorded: String, _ today: String) {
    let then = Self.parts(recorded)
    guard !then.tokens.isEmpty else { return }
    let now = Self.parts(redacted(today))
    guard now.around == then.around else { return }
    state.withLock { state in
      for (own, old) in zip(now.tokens, then.tokens) where own != old {
        // Only what was withheld here: a token that came in from the log is what it is.
        guard let value = state.values[own], state.learned[own] == nil, state.values[old] == nil
        else { continue }
        state.learned[own] = old
        state.values[old] = value
      }
    }
  }

  /// Whether a value of today is the one that a log has, both with their secrets withheld.
  ///
  /// Where a process that has ended took its key with it, nobody can compare what it withheld: then today's has to have a
  /// token at the same place, with the same text around it, and its value is what the recorded token stands for from now on.
  public func isSame(_ today: JSONValue, as recorded: JSONValue) -> Bool {
    if translated(today) == recorded { return true }
    guard !state.isKeyGiven, restored(recorded).missing != nil,
      RedactionToken.comparable(today) == RedactionToken.comparable(recorded)
    else { return false }
    learn(from: recorded, today: today)
    return translated(today) == recorded
  }

  /// A value in which each token made here is the one that was learned for it.
  public func translated(_ value: JSONValue) -> JSONValue {
    let learned = state.withLock { $0.learned }
    guard !learned.isEmpty else { return value }
    return Self.translated(value, learned)
  }

  private static func translated(_ value: JSONValue, _ learned: [String: String]) -> JSONValue {
    switch value {
    case .string(let text):
      var bytes = Array(text.utf8)
      for range in RedactionToken.ranges(in: bytes).reversed() {
        guard let old = learned[String(decoding: bytes[range], as: UTF8.self)] else { continue }
        bytes.replaceSubrange(range, with: old.utf8)
      }
      return .string(String(decoding: bytes, as: UTF8.self))
    case .array(let elements): return .array(elements.map { translated($0, learned) })
    case .object(let object): return .object(object.mapValues { translated($0, learned) })
    default: return value
    }
  }

  private static func parts(_ text: String) -> (around: [ArraySlice<UInt8>], tokens: [String]) {
    let bytes = Array(text.utf8)
    var (around, tokens): ([ArraySlice<UInt8>], [String]) = ([], [])
    var start = 0
    for range in RedactionToken.ranges(in: bytes) {
      around.append(bytes[start..<range.lowerBound])
      tokens.append(String(decoding: bytes[range], as: UTF8.self))
      start = range.upperBound
    }
    return (around + [bytes[start...]], tokens)
  }
}

extension Redactor: Hashable {
  /// Whether both are one: two that withhold the same know different values.
  public static func == (left: Redactor, right: Redactor) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
