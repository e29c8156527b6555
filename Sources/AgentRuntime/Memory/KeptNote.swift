public import AgentTrace

/// A note as a store has it.
public struct KeptNote: Sendable, Hashable {
  /// Where it is kept.
  public var address: MemoryAddress
  /// The note.
  public var value: JSONValue
  /// Words that it is found by besides its text.
  public var tags: [String]
  /// From when on it counts as not kept, in UTC; `nil` for never.
  public var expires: String?
  /// When it was kept, in UTC; `nil` where that is not known.
  public var keptAt: String?
  /// The run that said so; empty where that is not known.
  public var runId: String
  /// The number of the event in which it said so.
  public var seq: Int

  /// A note, and where it comes from.
  public init(
    address: MemoryAddress, value: JSONValue, tags: [String] = [], expires: String? = nil,
    keptAt: String? = nil, runId: String = "", seq: Int = 0
  ) {
    self.address = address
    self.value = value
    self.tags = tags
    self.expires = expires
    self.keptAt = keptAt
    self.runId = runId
    self.seq = seq
  }

  /// Whether it counts as kept at a time in UTC. Where one of two times cannot be read, it does not.
  public func isKept(at now: String?) -> Bool {
    guard let expires else { return true }
    guard let end = UTC.microsecondsSince1970(expires),
      let now = now.flatMap(UTC.microsecondsSince1970)
    else { return false }
    return now < end
  }

  /// Whether its time is over for certain, so that it takes nobody's place: both times can be read.
  public func hasRunOut(at now: String?) -> Bool {
    guard let end = expires.flatMap(UTC.microsecondsSince1970),
      let now = now.flatMap(UTC.microsecondsSince1970)
    else { return false }
    return end <= now
  }

  /// The note as an event or a tool's result tells of it.
  var told: MemoryNote {
    var note = MemoryNote(scope: address.scope.rawValue, key: address.key, value: value)
    note.tags = tags
    note.expires = expires
    note.keptAt = keptAt
    note.from = runId.isEmpty ? nil : MemoryNote.Origin(runId: runId, seq: seq)
    return note
  }
}

/// Which notes of an owner are looked for: those that hold every word and bear the tag, newest first.
public struct MemorySearch: Sendable, Hashable {
  /// Whose notes, in kind.
  public var scope: MemoryAddress.Scope
  /// Whose notes.
  public var owner: String
  /// Words, each of which a word of the note's key or text begins with; empty for every note.
  public var words: [String]
  /// A tag of the note; `nil` for any.
  public var tag: String?
  /// The time in UTC, by which notes have run out; `nil` where it is not known.
  public var now: String?
  /// How many are wanted at most.
  public var limit: Int

  /// The most notes that are given at once.
  public static let limit = 20
  /// The most words that are looked for.
  public static let wordLimit = 16

  /// - Parameters:
  ///   - scope: whose notes, in kind: those of an agent, an actor or a tenant.
  ///   - owner: the one of that kind whose notes are looked through.
  ///   - text: what is looked for; its letters and digits count, in words. Every note where it holds none.
  ///   - tag: a tag that the notes bear; `nil` for any.
  ///   - now: the time in UTC, by which notes have run out; `nil` where it is not known.
  ///   - limit: how many notes are wanted at most.
  public init(
    scope: MemoryAddress.Scope, owner: String, text: String = "", tag: String? = nil,
    now: String? = nil, limit: Int = Self.limit
  ) {
    self.scope = scope
    self.owner = owner
    words = Array(Self.words(in: text).prefix(Self.wordLimit))
    self.tag = tag
    self.now = now
    self.limit = limit
  }

  /// The words of a text: letters and digits, in lower case. What SQLite's `unicode61` without diacritics removed
  /// takes for words.
  public static func words(in text: String) -> [String] {
    var words: [String] = []
    var word = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .decimalNumber, .letterNumber, .otherNumber, .privateUse, .nonspacingMark, .spacingMark:
        word += scalar.properties.lowercaseMapping
      default:
        if !word.isEmpty { words.append(word) }
        word = ""
      }
    }
    return word.isEmpty ? words : words + [word]
  }

  /// What of a note is looked through.
  public static func text(key: String, value: JSONValue) -> String {
    "\(key) \(value.stringValue ?? CanonicalJSON.string(value, form: .plain))"
  }

  /// Whether a note is one of those: a store that finds candidates by other means asks about each.
  public func fits(_ note: KeptNote) -> Bool {
    guard note.address.scope == scope, note.address.owner.hasSameUTF8(as: owner),
      note.isKept(at: now),
      tag.map({ tag in note.tags.contains { $0.hasSameUTF8(as: tag) } }) ?? true
    else { return false }
    guard !words.isEmpty else { return true }
    let held = Self.words(in: Self.text(key: note.address.key, value: note.value))
    return words.allSatisfy { word in held.contains { $0.utf8.starts(with: word.utf8) } }
  }

  /// Whether a note stands before another one: newer ones do, equal ones by key.
  static func precedes(_ left: KeptNote, _ right: KeptNote) -> Bool {
    let (first, second) = (left.keptAt ?? "", right.keptAt ?? "")
    if !first.hasSameUTF8(as: second) { return second.precedesByUTF8(first) }
    return left.address.key.precedesByUTF8(right.address.key)
  }
}

extension MemoryNote {
  /// How long ago it was kept, in words for a model: `3 days ago`; `nil` where nobody says when.
  func age(at time: String?) -> String? {
    guard let now = time.flatMap(UTC.microsecondsSince1970),
      let then = keptAt.flatMap(UTC.microsecondsSince1970)
    else { return nil }
    let seconds = max(0, now - then) / 1_000_000
    func ago(_ count: Int, _ unit: String) -> String {
      "\(count) \(unit)\(count == 1 ? "" : "s") ago"
    }
    switch seconds {
    case ..<60: return "just now"
    case ..<3_600: return ago(seconds / 60, "minute")
    case ..<86_400: return ago(seconds / 3_600, "hour")
    default: return ago(seconds / 86_400, "day")
    }
  }
}
