@_spi(Scanning) import AgentTrace

/// Writes events so that what was said before is not said again: `$same` for long strings, `$list`
/// for the arrays of context packets. Docs/log-format.md, "Said once".
///
/// Remembers a digest and a place of each long string and a digest of each list item, never the text:
/// about 100 bytes each.
struct SaidOnce {
  /// The first 128 bits of a SHA-256: enough that nobody finds two texts with the same.
  struct Key: Hashable {
    var high: UInt64
    var low: UInt64

    init(of bytes: UnsafeRawBufferPointer) {
      var builder = DigestBuilder()
      builder.update(bytes)
      let digest = builder.digest().bytes
      high = digest.littleEndian(UInt64.self, at: 0)
      low = digest.littleEndian(UInt64.self, at: 8)
    }
  }

  /// Where each long string stands literally for the first time, as `$same` names it.
  private var places: [Key: String] = [:]
  /// The number of each list item.
  private var items: [Key: Int] = [:]

  /// How many items the log's one table has.
  var itemCount: Int { items.count }

  /// An event's line, and what it adds to the tables once it is written.
  struct Line {
    /// Without `\n`.
    var bytes: [UInt8]
    /// How deep it nests.
    var depth: Int
    /// Bytes of the line with nothing left out.
    var expandedBytes: Int
    /// The event's digest, as `AgentState` takes it.
    var digest: Digest
    fileprivate var newPlaces: [(Key, String)]
    fileprivate var newItems: [Key: Int]
  }

  /// Encodes an event. Changes nothing: what was written is taken in by ``commit(_:)``.
  func encode(_ event: Event) -> Line {
    var walk = Walk(tables: self, event: event)
    walk.writeEvent()
    return Line(
      bytes: walk.line, depth: walk.deepest, expandedBytes: walk.line.count + walk.savedBytes,
      digest: walk.digest, newPlaces: walk.newPlaces, newItems: walk.newItems)
  }

  /// Takes in what a line says for the first time.
  mutating func commit(_ line: Line) {
    for (key, place) in line.newPlaces { places[key] = place }
    items.merge(line.newItems) { first, _ in first }
  }
}

extension SaidOnce {
  /// One walk over an event in the order of its line's bytes.
  private struct Walk {
    let tables: SaidOnce
    let event: Event
    var line: [UInt8] = []
    /// The pointer to the value being written, escaped.
    var path: [UInt8] = []
    var depth = 0
    var deepest = 0
    var savedBytes = 0
    var newPlaces: [(Key, String)] = []
    var ownPlaces: Set<Key> = []
    var newItems: [Key: Int] = [:]
    /// The data with nothing left out, up to ``resolvedEnd`` in the line: what the digest is taken of.
    /// Stays empty where the line has all of it.
    var resolved: [UInt8] = []
    var resolvedEnd = 0
    /// Where data that no digest holds stand in ``resolved``, or in the line.
    var undigested: [Range<Int>] = []
    /// Whether a list item is being written, whose whole text is in ``resolved`` already.
    var isInItem = false
    var digest = Digest.zero
    /// Whether long strings of this event are said once: not in a `stop`.
    let sharesText: Bool
    /// Where lists stand, if this event has any.
    let lists: [[UInt8]]

    init(tables: SaidOnce, event: Event) {
      self.tables = tables
      self.event = event
      sharesText = event.type != .stop
      lists = event.type == .contextBuilt ? SaidOnce.listPaths : []
    }

    mutating func writeEvent() {
      event.appendEnvelopeHead(to: &line)
      enter()
      resolvedEnd = line.count
      let start = line.count
      writeData()
      takeDigest(of: start..<line.count)
      leave()
      let data = line.count
      event.appendEnvelopeTail(to: &line)
      if line.count > data + 1 {
        deepest = max(deepest, 1 + JSONValue.object(event.extra).depth)
      }
    }

    /// The data: an object like any other, but that some of it is left out of the digest.
    mutating func writeData() {
      enter()
      line.append(UInt8(ascii: "{"))
      var isFirst = true
      for member in event.data.inLogOrder {
        let isDigested = !AgentState.keysNotDigested.contains { key in
          key.utf8CodeUnitCount == member.key.utf8.count
            && key.withUTF8Buffer { member.key.utf8.elementsEqual($0) }
        }
        let start = position
        if !isFirst { line.append(UInt8(ascii: ",")) }
        isFirst = false
        write(member)
        if !isDigested { undigested.append(start..<position) }
      }
      line.append(UInt8(ascii: "}"))
      leave()
    }

    /// How far the resolved text goes, the part of it that stands in the line only included.
    var position: Int { resolved.count + line.count - resolvedEnd }

    /// Takes the text so far into the resolved one, behind which something else may stand now.
    mutating func resolve() {
      resolved.append(contentsOf: line[resolvedEnd...])
      resolvedEnd = line.count
    }

    mutating func takeDigest(of data: Range<Int>) {
      var builder = DigestBuilder()
      var head: [UInt8] = [UInt8(ascii: "[")]
      CanonicalJSON.appendString(event.type.rawValue, to: &head)
      head.append(contentsOf: ",\(event.step),".utf8)
      builder.update(head)
      if !resolved.isEmpty { resolve() }
      let (text, range) = resolved.isEmpty ? (line, data) : (resolved, 0..<resolved.count)
      let offset = resolved.isEmpty ? data.lowerBound : 0
      text.withUnsafeBytes { text in
        // A brace, then members with a comma before each but the first that is digested.
        builder.update(UnsafeRawBufferPointer(rebasing: text[range.prefix(1)]))
        var start = range.lowerBound + 1
        var isFirst = true
        for left in undigested {
          let (from, to) = (left.lowerBound + offset, left.upperBound + offset)
          if from > start {
            builder.update(UnsafeRawBufferPointer(rebasing: text[start..<from]))
            isFirst = false
          }
          start = isFirst ? min(to + 1, range.upperBound - 1) : to
        }
        builder.update(UnsafeRawBufferPointer(rebasing: text[start..<range.upperBound]))
      }
      builder.update([UInt8(ascii: "]")])
      digest = builder.digest()
    }

    mutating func enter() {
      depth += 1
      deepest = max(deepest, depth)
    }

    mutating func leave() { depth -= 1 }

    mutating func write(_ value: JSONValue) {
      switch value {
      case .string(let text): write(text)
      case .array(let elements):
        if !lists.isEmpty, lists.contains(where: { $0 == path }),
          !elements.contains(where: { $0.arrayValue != nil })
        {
          writeList(elements)
        } else {
          writeArray(elements)
        }
      case .object(let object): write(object)
      case .bytes, .cut, .lost:
        deepest = max(deepest, depth + value.depth)
        CanonicalJSON.append(value, to: &line)
      case .null, .bool, .number: CanonicalJSON.append(value, to: &line)
      }
    }

    // MARK: Containers

    mutating func writeArray(_ elements: [JSONValue]) {
      enter()
      line.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { line.append(UInt8(ascii: ",")) }
        write(element, at: index)
      }
      line.append(UInt8(ascii: "]"))
      leave()
    }

    mutating func write(_ element: JSONValue, at index: Int) {
      let length = path.count
      path.append(UInt8(ascii: "/"))
      path.append(contentsOf: String(index).utf8)
      write(element)
      path.removeLast(path.count - length)
    }

    mutating func write(_ object: JSONObject) {
      enter()
      line.append(UInt8(ascii: "{"))
      var isFirst = true
      for member in object.inLogOrder {
        if !isFirst { line.append(UInt8(ascii: ",")) }
        isFirst = false
        write(member)
      }
      line.append(UInt8(ascii: "}"))
      leave()
    }

    mutating func write(_ member: JSONObject.Member) {
      CanonicalJSON.appendString(member.key.escapingReservedKey, to: &line)
      line.append(UInt8(ascii: ":"))
      let length = path.count
      path.append(UInt8(ascii: "/"))
      path.appendPointerToken(member.key)
      write(member.value)
      path.removeLast(path.count - length)
    }

    // MARK: Text

    mutating func write(_ text: String) {
      guard sharesText, text.utf8.count >= LogFormat.sameMinimumBytes else {
        CanonicalJSON.appendString(text, to: &line)
        return
      }
      var text = text
      let key = text.withUTF8 { Key(of: UnsafeRawBufferPointer($0)) }
      if let place = tables.places[key] {
        deepest = max(deepest, depth + 1)
        if !isInItem {
          resolve()
          CanonicalJSON.appendString(text, to: &resolved)
        }
        line.append(contentsOf: "{\"$same\":".utf8)
        CanonicalJSON.appendString(place, to: &line)
        line.append(UInt8(ascii: "}"))
        resolvedEnd = line.count
        savedBytes += text.utf8.count
        return
      }
      CanonicalJSON.appendString(text, to: &line)
      if ownPlaces.insert(key).inserted {
        newPlaces.append((key, "\(event.seq)" + String(decoding: path, as: UTF8.self)))
      }
    }

    // MARK: Lists

    mutating func writeList(_ elements: [JSONValue]) {
      resolve()
      resolved.append(UInt8(ascii: "["))
      line.append(contentsOf: "{\"$list\":[".utf8)
      enter()
      enter()
      /// A run of earlier items that may still grow.
      var run: (first: Int, count: Int)?
      var isFirst = true
      func comma(_ line: inout [UInt8]) {
        if !isFirst { line.append(UInt8(ascii: ",")) }
        isFirst = false
      }
      for (index, element) in elements.enumerated() {
        let canonical = CanonicalJSON.encode(element)
        if index > 0 { resolved.append(UInt8(ascii: ",")) }
        resolved.append(contentsOf: canonical)
        let key = canonical.withUnsafeBytes { Key(of: $0) }
        if let number = tables.items[key] ?? newItems[key] {
          savedBytes += canonical.count
          if let current = run, current.first + current.count == number {
            run = (current.first, current.count + 1)
            continue
          }
          if let run {
            comma(&line)
            line.append(contentsOf: "[\(run.first),\(run.count)]".utf8)
          }
          run = (number, 1)
          deepest = max(deepest, depth + 1)
          continue
        }
        if let current = run {
          comma(&line)
          line.append(contentsOf: "[\(current.first),\(current.count)]".utf8)
          run = nil
        }
        newItems[key] = tables.items.count + newItems.count
        comma(&line)
        isInItem = true
        write(element, at: index)
        isInItem = false
      }
      if let run {
        comma(&line)
        line.append(contentsOf: "[\(run.first),\(run.count)]".utf8)
      }
      line.append(contentsOf: "]}".utf8)
      resolved.append(UInt8(ascii: "]"))
      resolvedEnd = line.count
      leave()
      leave()
    }
  }

  /// ``ContextPacket/listPointers`` as escaped bytes.
  static let listPaths = ContextPacket.listPointers.map { Array($0.description.utf8) }
}

extension [UInt8] {
  /// Appends a part of a pointer, escaped (RFC 6901 §3).
  mutating func appendPointerToken(_ token: String) {
    for byte in token.utf8 {
      switch byte {
      case UInt8(ascii: "~"): append(contentsOf: "~0".utf8)
      case UInt8(ascii: "/"): append(contentsOf: "~1".utf8)
      default: append(byte)
      }
    }
  }
}

extension JSONObject {
  /// The members in the order a log writes them: by their escaped keys.
  var inLogOrder: [Member] {
    guard contains(where: { CanonicalJSON.isReserved($0.key) }) else { return Array(self) }
    return sorted { $0.key.escapingReservedKey.precedesByUTF8($1.key.escapingReservedKey) }
  }
}

extension Event {
  /// The line up to the value of `data`.
  func appendEnvelopeHead(to line: inout [UInt8]) {
    line.append(contentsOf: "{\"seq\":\(seq),\"step\":\(step),\"type\":".utf8)
    CanonicalJSON.appendString(type.rawValue, to: &line)
    line.append(contentsOf: ",\"runId\":".utf8)
    CanonicalJSON.appendString(runId, to: &line)
    if let time {
      line.append(contentsOf: ",\"time\":".utf8)
      CanonicalJSON.appendString(time, to: &line)
    }
    line.append(contentsOf: ",\"t\":\(t),\"data\":".utf8)
  }

  /// The line behind the value of `data`.
  func appendEnvelopeTail(to line: inout [UInt8]) {
    for member in extra {
      line.append(UInt8(ascii: ","))
      CanonicalJSON.appendString(member.key, to: &line)
      line.append(UInt8(ascii: ":"))
      CanonicalJSON.append(member.value, to: &line)
    }
    line.append(UInt8(ascii: "}"))
  }
}
