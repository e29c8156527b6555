@_spi(Scanning) import AgentTrace

/// Where long strings stand literally, as far back as a writer refers to them.
///
/// Two generations of as many bytes of lines as the window has: when the young one is full, it becomes the
/// old one, which is forgotten. So what is remembered is bounded, whatever the length of the log.
struct SaidTexts {
  /// Where a long string stands literally, as `$same` names it.
  struct Place: BitwiseCopyable {
    var seq: UInt32
    var path: PathTree.Node
  }

  private struct Generation {
    var places = KeyTable<Place>(filler: Place(seq: 0, path: 0))
    let paths: PathTree
    var bytes = 0

    init(keys: TextKeyMaker) { paths = PathTree(keys: keys) }
  }

  private let keys: TextKeyMaker
  private var young: Generation
  private var old: Generation
  /// Where the lines of the events end that are within the window, counted from the first event's
  /// beginning.
  private var ends: [(seq: Int, end: Int)] = []
  /// Those before it are out of the window.
  private var firstEnd = 0
  private var bytes = 0

  init(keys: TextKeyMaker) {
    self.keys = keys
    young = Generation(keys: keys)
    old = Generation(keys: keys)
  }

  /// The pointers of the event that is written next.
  var paths: PathTree { young.paths }

  /// Where a text was said, as `$same` names it; `nil` where it was not said within the window, or saying so would
  /// take more room than so many bytes of text: behind long keys a pointer may be longer than what it leads to.
  func reference(to key: TextKey, ofBytes textBytes: Int) -> String? {
    guard firstEnd < ends.count else { return nil }
    for generation in [young, old] {
      guard let place = generation.places[key], Int(place.seq) >= ends[firstEnd].seq else {
        continue
      }
      guard generation.paths.length(of: place.path) < textBytes else { continue }
      var bytes: [UInt8] = []
      JSONNumber(Int(place.seq)).append(to: &bytes)
      generation.paths.append(place.path, to: &bytes)
      let reference = String(decoding: bytes, as: UTF8.self)
      // With the braces and the key around it, against the quotes.
      guard CanonicalJSON.byteCount(of: .string(reference)) + 8 < textBytes else { continue }
      return reference
    }
    return nil
  }

  /// Takes in an event's line and the long strings that stand literally in it.
  mutating func take(_ places: [(TextKey, Place)], event seq: Int, lineBytes: Int) {
    for (key, place) in places {
      // Of two places in one event, the first.
      if let known = young.places[key], known.seq == place.seq { continue }
      young.places.update(place, for: key)
    }
    bytes += lineBytes + 1
    young.bytes += lineBytes + 1
    ends.append((seq, bytes))
    while firstEnd < ends.count, ends[firstEnd].end < bytes - LogFormat.sameWindowBytes {
      firstEnd += 1
    }
    if firstEnd > 1024, firstEnd > ends.count / 2 {
      ends.removeFirst(firstEnd)
      firstEnd = 0
    }
    if young.bytes > LogFormat.sameWindowBytes {
      old = young
      young = Generation(keys: keys)
    }
  }
}

/// Finds the long strings that stand literally in an event's line.
struct LiteralTexts {
  let seq: UInt32
  let keys: TextKeyMaker
  let paths: PathTree
  private(set) var places: [(TextKey, SaidTexts.Place)] = []
  /// Bytes of text that references in the line lead to.
  private(set) var referredBytes = 0

  mutating func find(in raw: Event, resolved: Event) {
    find(in: .object(raw.data), resolved: .object(resolved.data), path: PathTree.root)
  }

  private mutating func find(
    in raw: JSONValue, resolved: JSONValue, path: PathTree.Node?
  ) {
    switch raw {
    case .string(var text):
      guard text.utf8.count >= LogFormat.sameMinimumBytes, let path else { return }
      let key = text.withUTF8 { keys.key(of: UnsafeRawBufferPointer($0)) }
      places.append((key, SaidTexts.Place(seq: seq, path: path)))
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        find(
          in: element, resolved: resolved[index] ?? .null,
          path: node(index, below: path, for: element))
      }
    case .object(let object):
      switch try? SpecialForm(object) {
      case .same?: referredBytes += resolved.stringValue?.utf8.count ?? 0
      case .list(let entries)?: find(inList: entries, resolved: resolved, path: path)
      case .value?: break
      case nil:
        for member in object {
          let key = member.key.unescapingReservedKey
          var part: [UInt8] = []
          part.appendPointerPart(key)
          let below = path.flatMap { paths.node(part, below: $0) }
          find(in: member.value, resolved: resolved[key] ?? .null, path: below)
        }
      }
    default: break
    }
  }

  /// Positions are those of the resolved array.
  private mutating func find(
    inList entries: [JSONValue], resolved: JSONValue, path: PathTree.Node?
  ) {
    var position = 0
    for entry in entries {
      if let pair = entry.arrayValue {
        position += (try? Resolver.run(pair))?.count ?? 0
      } else {
        find(
          in: entry, resolved: resolved[position] ?? .null,
          path: node(position, below: path, for: entry))
        position += 1
      }
    }
  }

  private func node(_ index: Int, below path: PathTree.Node?, for value: JSONValue) -> PathTree
    .Node?
  {
    // Nothing short has a place.
    switch value {
    case .array, .object: break
    case .string(let text) where text.utf8.count >= LogFormat.sameMinimumBytes: break
    default: return nil
    }
    var part: [UInt8] = []
    JSONNumber(index).append(to: &part)
    return path.flatMap { paths.node(part, below: $0) }
  }
}
