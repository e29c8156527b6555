@_spi(Scanning) import AgentTrace

/// Writes events so that what was said before is not said again: `$same` for long strings, `$list`
/// for the arrays of context packets. Docs/log-format.md, "Said once".
///
/// Remembers a key and a place of each long string and a key of each list item, never the text: about
/// 25 bytes each. Who checks lines that are there needs 8 bytes each, since where something was said
/// stands in the lines themselves: see ``Lines``.
struct SaidOnce {
  /// Which lines are encoded.
  enum Lines {
    /// New ones: every reference is made.
    case new
    /// Those of a log, to hold them against what is there: references are taken from there, which is
    /// right where each of them leads to a text that stands there literally (``Resolver`` sees to that)
    /// and no text stands literally twice.
    case given(keys: KeySet = KeySet())
  }

  /// Where a long string stands literally for the first time, as `$same` names it.
  struct Place: BitwiseCopyable {
    var seq: UInt32
    var path: PathTree.Node
  }

  let keys: TextKeyMaker
  let paths: PathTree
  /// Of lines that are given only of texts that an event holds more than once.
  private(set) var places = KeyTable<Place>(filler: Place(seq: 0, path: 0))
  /// The number of each list item; of lines that are given, none.
  private(set) var items = KeyTable<UInt32>(filler: 0)
  /// What lines that are given have said; `nil` where lines are new.
  private(set) var said: (texts: KeySet, items: KeySet)?
  /// How many items the log's one table has.
  private(set) var itemCount = 0
  private var room = Room()

  /// Memory that a walk over one event leaves for the next.
  struct Room {
    var line: [UInt8] = []
    var resolved: [UInt8] = []
    var path: [Walk.Level] = []

    /// What a large event needed beyond this is given back.
    private static let keptBytes = 1 << 20

    /// Emptied only here, where nothing else holds it any more, and leaving nothing behind, so that what
    /// is taken is written to where it is.
    mutating func take() -> Room {
      var taken = Room()
      swap(&taken, &self)
      taken.line.removeAll(keepingCapacity: taken.line.capacity <= Self.keptBytes)
      taken.resolved.removeAll(keepingCapacity: taken.resolved.capacity <= Self.keptBytes)
      taken.path.removeAll(keepingCapacity: true)
      return taken
    }
  }

  init(_ lines: Lines = .new) {
    keys = TextKeyMaker()
    paths = PathTree(keys: keys)
    if case .given(let keys) = lines { said = (keys, keys) }
  }

  /// An event's line, and what it adds to the tables once it is written.
  struct Line {
    /// Without `\n`. Of a line beyond the limit perhaps only the beginning, itself beyond the limit.
    var bytes: [UInt8]
    /// How deep it nests.
    var depth: Int
    /// Bytes of the line with nothing left out.
    var expandedBytes: Int
    /// The event's digest, as `AgentState` takes it.
    var digest: Digest
    /// What stands literally in a given line and has a key like something that was said: with a
    /// probability next to nothing something else; see ``said(_:in:)``.
    var doubts: [Doubt]
    var newPlaces: [(TextKey, Place)]
    var newItems: [TextKey: UInt32]
  }

  /// A long string or an item that may have been said before.
  enum Doubt {
    case text(TextKey)
    case item(TextKey)
  }

  /// Encodes an event. What was written is taken in by ``commit(_:)``; without, nothing has changed.
  ///
  /// - Parameter given: the line that is there, where lines are given.
  mutating func encode(_ event: Event, given: UnsafeBufferPointer<UInt8>? = nil) -> Line {
    let room = room.take()
    var walk = Walk(tables: self, event: event, given: given, room: consume room)
    walk.writeEvent()
    (self.room.resolved, self.room.path) = (walk.resolved, walk.path)
    return Line(
      bytes: walk.line, depth: walk.deepest, expandedBytes: walk.line.count + walk.savedBytes,
      digest: walk.digest, doubts: walk.doubts, newPlaces: walk.newPlaces, newItems: walk.newItems)
  }

  /// Takes in what a line says for the first time.
  mutating func commit(_ line: consuming Line) {
    if said == nil {
      for (key, place) in line.newPlaces { places.insert(place, for: key) }
      for (key, number) in line.newItems { items.insert(number, for: key) }
    } else {
      takeIn(line.newPlaces)
      for key in line.newItems.keys { said?.items.insert(key) }
    }
    itemCount += line.newItems.count
    room.line = line.bytes
  }

  /// Takes in the texts that a given line says for the first time. Where one stands there twice, which
  /// is the first can no longer be seen from references to it.
  private mutating func takeIn(_ newPlaces: [(TextKey, Place)]) {
    for (index, (key, _)) in newPlaces.enumerated() where said?.texts.insert(key) == false {
      guard let first = newPlaces[..<index].first(where: { $0.0 == key }) else { continue }
      places.insert(first.1, for: key)
    }
  }

  /// Whether an earlier event says what a line may not say again.
  func said(_ doubt: Doubt, in event: Event) -> Bool {
    switch doubt {
    case .text(let key):
      event.type != .stop && says(key, .object(event.data))
    case .item(let key):
      event.type == .contextBuilt
        && ContextPacket.listPointers.contains { pointer in
          (JSONValue.object(event.data)[pointer]?.arrayValue ?? []).contains { item in
            CanonicalJSON.encode(item).withUnsafeBytes { keys.key(of: $0) } == key
          }
        }
    }
  }

  private func says(_ key: TextKey, _ value: JSONValue) -> Bool {
    switch value {
    case .string(var text):
      text.utf8.count >= LogFormat.sameMinimumBytes
        && text.withUTF8 { keys.key(of: UnsafeRawBufferPointer($0)) } == key
    case .array(let elements): elements.contains { says(key, $0) }
    case .object(let object): object.contains { says(key, $0.value) }
    default: false
    }
  }
}
