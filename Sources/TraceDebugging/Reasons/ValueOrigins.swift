import AgentTrace

/// Where the values of a call's arguments stood before the call.
struct ValueOrigins {
  /// One place.
  struct Place {
    var seq: Int
    /// What stood there, in words.
    var what: String
    /// Into the data of the event.
    var pointer: JSONPointer
    /// Whether the whole value there is the argument's, not only a part of its text.
    var isWhole: Bool
    /// Whether the model was shown it before it decided; `nil` where no packet says what it was shown.
    var isShown: Bool?
  }

  /// An argument, or a part of one.
  struct Argument {
    var pointer: JSONPointer
    var value: JSONValue
    /// Its text, as it would stand within another.
    var text: [UInt8]
    var places: [Place] = []
    /// Values that stand anywhere say nothing of where they came from.
    var isTelling: Bool
  }

  private(set) var arguments: [Argument] = []
  /// From which event on all was looked at.
  private(set) var firstSeq = 0
  /// What the model was shown; `nil` where no packet says so.
  private(set) var shown: ShownValues?

  private static let argumentLimit = 100
  private static let placeLimit = 3
  static let nodeLimit = 200_000
  /// Stretches between checkpoints that are looked through, about 4 MiB each.
  private static let stretchLimit = 8
  private static let types: Set<EventType> = [
    .runStarted, .toolResult, .humanReplied, .memoryRead,
  ]

  /// Looks for the values of an input in what stood in the log before an event.
  ///
  /// - Parameter context: the packet that the model was given; `nil` where none is recorded.
  init(
    of input: JSONValue, before seq: Int, shownIn context: Event?, in cursor: RunCursor
  ) throws {
    collect(input, JSONPointer())
    guard !arguments.isEmpty else { return }
    shown = context.flatMap { ShownValues($0, arguments: arguments) }
    var stretches = 0
    var found: [[Place]] = []
    firstSeq = try cursor.scanBackward(
      before: seq, isWanted: { Self.types.contains($2) },
      { event in
        if found.isEmpty { found = Array(repeating: [], count: arguments.count) }
        look(at: event, into: &found)
      },
      endOfStretch: {
        take(found)
        found = []
        stretches += 1
        return arguments.indices.allSatisfy(isFound) || stretches >= Self.stretchLimit
          ? .enough : .goOn
      })
    // The goal stands at the very beginning.
    if firstSeq > 0, let start = try cursor.event(at: 0) {
      found = Array(repeating: [], count: arguments.count)
      look(at: start, into: &found)
      take(found)
    }
  }

  /// Whether nothing better can stand further back: the whole value, shown to the model where it was shown
  /// anywhere.
  private func isFound(_ index: Int) -> Bool {
    let argument = arguments[index]
    let mayBeShown = shown?.place(of: index) != nil
    return !argument.isTelling
      || argument.places.contains { $0.isWhole && ($0.isShown ?? true || !mayBeShown) }
  }

  private mutating func collect(_ value: JSONValue, _ pointer: JSONPointer) {
    guard arguments.count < Self.argumentLimit else { return }
    switch value {
    case .object(let object):
      for member in object { collect(member.value, pointer.appending(member.key)) }
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        collect(element, pointer.appending(String(index)))
      }
    case .string(let text):
      arguments.append(
        Argument(pointer: pointer, value: value, text: Array(text.utf8), isTelling: !text.isEmpty))
    case .number:
      arguments.append(
        Argument(
          pointer: pointer, value: value, text: CanonicalJSON.encode(value), isTelling: true))
    default:
      arguments.append(Argument(pointer: pointer, value: value, text: [], isTelling: false))
    }
  }

  /// Adds what was found in an older stretch behind what newer ones held: what the model was shown first,
  /// then the nearest places, and whole values before parts of texts.
  private mutating func take(_ found: [[Place]]) {
    for (index, places) in found.enumerated() {
      let found = arguments[index].places + places.reversed()
      let all = found.filter { $0.isShown ?? true } + found.filter { !($0.isShown ?? true) }
      let whole = all.filter(\.isWhole).prefix(Self.placeLimit)
      let parts = all.filter { !$0.isWhole }.prefix(Self.placeLimit - min(whole.count, 2))
      arguments[index].places = whole.isEmpty ? Array(parts) : Array(whole) + parts.suffix(1)
    }
  }

  private func look(at event: Event, into found: inout [[Place]]) {
    let keys: [String]
    let what: String
    switch event.type {
    case .runStarted: (keys, what) = (["goal", "input"], "the goal")
    case .humanReplied: (keys, what) = (["text"], "what a person said")
    case .memoryRead: (keys, what) = (["value"], "a note")
    default:
      let tool = event.data["tool"]?.stringValue ?? ""
      let callId = event.data["callId"]?.stringValue ?? ""
      (keys, what) = (["data", "reason"], "the result of \(tool) \(callId)")
    }
    var left = Self.nodeLimit
    for key in keys {
      guard let value = event.data[key] else { continue }
      let what = key == "input" ? "the input" : what
      Self.look(for: arguments, in: value, JSONPointer(tokens: [key]), &left) {
        index, pointer, isWhole in
        found[index].append(
          Place(
            seq: event.seq, what: what, pointer: pointer, isWhole: isWhole,
            isShown: shown?.shows(index, from: event)))
      }
    }
  }

  /// Tells of each place in a value where an argument's stands: which one, where, and whether it is all that
  /// stands there.
  static func look(
    for arguments: [Argument], in value: JSONValue, _ pointer: JSONPointer, _ left: inout Int,
    _ note: (Int, JSONPointer, Bool) -> Void
  ) {
    left -= 1
    guard left > 0 else { return }
    switch value {
    case .object(let object):
      for member in object {
        look(for: arguments, in: member.value, pointer.appending(member.key), &left, note)
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        look(for: arguments, in: element, pointer.appending(String(index)), &left, note)
      }
    case .string(let text):
      for (index, argument) in arguments.enumerated() where argument.isTelling {
        if text.utf8.elementsEqual(argument.text) {
          note(index, pointer, true)
        } else if holds(text, argument.text) {
          note(index, pointer, false)
        }
      }
    case .number:
      let text = CanonicalJSON.encode(value)
      for (index, argument) in arguments.enumerated()
      where argument.isTelling
        && (argument.text == text || isSameNumber(value, argument.value))
      {
        note(index, pointer, true)
      }
    default: break
    }
  }

  private static func isSameNumber(_ left: JSONValue, _ right: JSONValue) -> Bool {
    guard let a = left.doubleValue, let b = right.doubleValue else { return false }
    return a == b
  }

  /// Whether a text holds another as a word or words: neither in the middle of a longer number nor of
  /// a longer word. Very short ones stand everywhere.
  static func holds(_ text: String, _ part: [UInt8]) -> Bool {
    guard part.count >= 2, text.utf8.count > part.count else { return false }
    var text = text
    return text.withUTF8 { text in
      var start = 0
      while start + part.count <= text.count {
        guard let found = text[start...].firstIndex(of: part[0]), found + part.count <= text.count
        else { return false }
        if text[found..<(found + part.count)].elementsEqual(part),
          found == 0 || !isWord(text[found - 1]) || !isWord(part[0]),
          found + part.count == text.count || !isWord(text[found + part.count])
            || !isWord(part[part.count - 1])
        {
          return true
        }
        start = found + 1
      }
      return false
    }
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }
}
