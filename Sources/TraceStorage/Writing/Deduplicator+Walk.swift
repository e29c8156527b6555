@_spi(Scanning) import AgentTrace

extension Deduplicator {
  /// One walk over an event in the order of its line's bytes.
  struct Walk {
    let tables: Deduplicator
    let event: Event
    var line: [UInt8]
    /// The pointer to the value being written, as far as a long string may stand there.
    var path: [Level]
    var depth = 0
    var deepest = 0
    var savedBytes = 0
    var newPlaces: [(TextKey, SaidTexts.Place)] = []
    /// Bytes of text that references lead to.
    var referredBytes = 0
    /// Of a packet, each list that is written as `$list`.
    var written: [WrittenList?]
    /// The data with nothing left out but the items of lists, up to ``resolvedEnd`` in the line: what the
    /// digest is taken of. Stays empty where the line has all of it.
    var resolved: [UInt8]
    var resolvedEnd = 0
    /// Where data that no digest holds stand in ``resolved``, or in the line.
    var undigested: [Range<Int>] = []
    /// Whether a list item is being written, whose whole text is in ``resolved`` already.
    var isInItem = false
    var digest = Digest.zero
    /// Whether long strings of this event are said once: not in a `stop`.
    let sharesText: Bool
    /// Where lists stand, if this event has any.
    let lists: [[String]]

    /// A part of a pointer, and the name that the pointer as far as here has in the tree, once that was
    /// asked for.
    struct Level {
      var part: Part
      var node: PathTree.Node?
    }

    enum Part {
      case key(String)
      case index(Int)
    }

    /// - Parameter room: empty, and nobody else's.
    init(tables: Deduplicator, event: Event, room: consuming Room) {
      self.tables = tables
      self.event = event
      line = room.line
      resolved = room.resolved
      path = room.path
      sharesText = event.type != .stop
      lists = event.type == .contextBuilt ? Deduplicator.listTokens : []
      written = Array(repeating: nil, count: lists.count)
    }

    /// Whether the line is too long whatever follows. Then the rest is left out.
    var isTooLong: Bool { line.count >= LogFormat.lineLimitBytes }

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
      for (index, member) in event.data.inLogOrder.enumerated() {
        let start = position
        write(member, isFirst: index == 0)
        if !AgentState.isDigested(member.key) { undigested.append(start..<position) }
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
      var head: [UInt8] = []
      head.reserveCapacity(64)
      AgentState.appendDigestHead(of: event.type, step: event.step, to: &head)
      head.append(UInt8(ascii: "{"))
      builder.update(head)
      if !resolved.isEmpty { resolve() }
      let (text, range) = resolved.isEmpty ? (line, data) : (resolved, 0..<resolved.count)
      let offset = resolved.isEmpty ? data.lowerBound : 0
      text.withUnsafeBytes { text in
        // Behind the brace, members with a comma before each but the first that is digested.
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
        if let list = listHere, !elements.contains(where: { $0.arrayValue != nil }) {
          writeList(elements, list)
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
      elements.withUnsafeBufferPointer { elements in
        for index in elements.indices {
          if index > 0 { line.append(UInt8(ascii: ",")) }
          write(elements[index], at: .index(index))
        }
      }
      line.append(UInt8(ascii: "]"))
      leave()
    }

    mutating func write(_ object: JSONObject) {
      enter()
      line.append(UInt8(ascii: "{"))
      object.inLogOrder.withUnsafeBufferPointer { members in
        for index in members.indices { write(members[index], isFirst: index == 0) }
      }
      line.append(UInt8(ascii: "}"))
      leave()
    }

    mutating func write(_ member: JSONObject.Member, isFirst: Bool) {
      CanonicalJSON.appendKey(member.key, isFirst: isFirst, to: &line)
      write(member.value, at: .key(member.key))
    }

    // MARK: The path

    mutating func write(_ value: JSONValue, at part: Part) {
      guard mayHoldLongText(value) else { return write(value) }
      path.append(Level(part: part))
      write(value)
      path.removeLast()
    }

    func mayHoldLongText(_ value: JSONValue) -> Bool {
      switch value {
      case .array, .object: true
      case .string(let text): text.utf8.count >= LogFormat.sameMinimumBytes
      default: false
      }
    }

    /// The list that the pointer leads to; `nil` where it leads to none.
    var listHere: Int? {
      lists.firstIndex { tokens in
        tokens.count == path.count
          && zip(tokens, path).allSatisfy { token, level in
            guard case .key(let key) = level.part else { return false }
            return key.hasSameUTF8(as: token)
          }
      }
    }

    /// The name of the path; `nil` where there are too many.
    mutating func pathNode() -> PathTree.Node? {
      var node = PathTree.root
      for index in path.indices {
        if let known = path[index].node {
          node = known
          continue
        }
        guard let next = tables.texts.paths.node(escapedPart(of: path[index].part), below: node)
        else {
          return nil
        }
        path[index].node = next
        node = next
      }
      return node
    }

    private func escapedPart(of part: Part) -> [UInt8] {
      var bytes: [UInt8] = []
      switch part {
      case .key(let key): bytes.appendPointerPart(key)
      case .index(let index): JSONNumber(index).append(to: &bytes)
      }
      return bytes
    }

    // MARK: Text

    mutating func write(_ text: String) {
      guard sharesText, text.utf8.count >= LogFormat.sameMinimumBytes else {
        CanonicalJSON.appendString(text, to: &line)
        return
      }
      guard !isTooLong else { return }
      var text = text
      let key = text.withUTF8 { tables.keys.key(of: UnsafeRawBufferPointer($0)) }
      if tables.work.mayGrow(
        byTextBytes: referredBytes + text.utf8.count, fileBytes: tables.fileBytes),
        let reference = tables.texts.reference(to: key, ofBytes: text.utf8.count)
      {
        deepest = max(deepest, depth + 1)
        if !isInItem {
          resolve()
          CanonicalJSON.appendString(text, to: &resolved)
        }
        line.append(contentsOf: "{\"$same\":".utf8)
        CanonicalJSON.appendString(reference, to: &line)
        line.append(UInt8(ascii: "}"))
        resolvedEnd = line.count
        savedBytes += text.utf8.count
        referredBytes += text.utf8.count
        return
      }
      CanonicalJSON.appendString(text, to: &line)
      if let seq = UInt32(exactly: event.seq), let node = pathNode() {
        newPlaces.append((key, SaidTexts.Place(seq: seq, path: node)))
      }
    }

    // MARK: Lists

    mutating func writeList(_ elements: [JSONValue], _ list: Int) {
      resolve()
      line.append(contentsOf: "{\"$list\":[".utf8)
      enter()
      enter()
      var result = WrittenList()
      result.list.places.reserveCapacity(elements.count)
      let own = tables.packets.count(ofTable: list)
      var isFirst = true
      for segment in KnownItems.segments(of: elements, list, in: tables) {
        guard !isTooLong else { break }
        switch segment {
        case .run(let run, let places):
          write(run, &isFirst)
          deepest = max(deepest, depth + 1)
          result.runs.add(run)
          result.list.places += places
          savedBytes += places.reduce(0) { $0 + $1.bytes }
        case .said(let items):
          for item in items {
            guard !isTooLong else { break }
            let number = own + result.new.count
            let bytes = item.value.approximateBytes
            result.new.append((item, bytes))
            result.runs.add(ItemRun(first: number, count: 1))
            if !isFirst { line.append(UInt8(ascii: ",")) }
            isFirst = false
            isInItem = true
            write(item.value, at: .index(result.list.places.count))
            isInItem = false
            result.list.places.append((number, bytes))
          }
        }
      }
      line.append(contentsOf: "]}".utf8)
      leave()
      leave()
      result.list.items =
        result.list.places.count == elements.count
        ? elements : Array(elements.prefix(result.list.places.count))
      tables.digest(&result, list: list)
      (result.digested?.digest ?? ListDigest()).append(to: &resolved)
      resolvedEnd = line.count
      written[list] = result
    }

    mutating func write(_ run: ItemRun, _ isFirst: inout Bool) {
      if !isFirst { line.append(UInt8(ascii: ",")) }
      isFirst = false
      line.append(contentsOf: run.text.utf8)
    }
  }

  static let listTokens = ContextPacket.listPointers.map(\.tokens)
}

extension [UInt8] {
  /// Appends a part of a pointer, escaped (RFC 6901 §3).
  mutating func appendPointerPart(_ part: String) {
    for byte in part.utf8 {
      switch byte {
      case UInt8(ascii: "~"): append(contentsOf: "~0".utf8)
      case UInt8(ascii: "/"): append(contentsOf: "~1".utf8)
      default: append(byte)
      }
    }
  }
}
