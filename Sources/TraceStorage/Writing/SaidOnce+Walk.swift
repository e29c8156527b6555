@_spi(Scanning) import AgentTrace

extension SaidOnce {
  /// One walk over an event in the order of its line's bytes.
  struct Walk {
    let tables: SaidOnce
    let event: Event
    /// The line that is there, where lines are given.
    let given: UnsafeBufferPointer<UInt8>?
    var line: [UInt8]
    /// The pointer to the value being written, as far as a long string may stand there.
    var path: [Level]
    var depth = 0
    var deepest = 0
    var savedBytes = 0
    var newPlaces: [(TextKey, Place)] = []
    /// The numbers of items that no event before has.
    var newItems: [TextKey: UInt32] = [:]
    var doubts: [Doubt] = []
    /// The run of earlier items in the given line that the item being written may belong to: the next
    /// of its items, how many are left of it, and where it ends there.
    var givenRun: (next: Int, left: Int, end: Int)?
    /// The data with nothing left out, up to ``resolvedEnd`` in the line: what the digest is taken of.
    /// Stays empty where the line has all of it.
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
    init(
      tables: SaidOnce, event: Event, given: UnsafeBufferPointer<UInt8>?, room: consuming Room
    ) {
      self.tables = tables
      self.event = event
      self.given = given
      line = room.line
      resolved = room.resolved
      path = room.path
      sharesText = event.type != .stop
      lists = event.type == .contextBuilt ? SaidOnce.listTokens : []
    }

    /// Whether the line is too long whatever follows. Then the rest is left out: a reference can be
    /// longer than its text, so that a line of many could grow without end.
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
        if isAtList, !elements.contains(where: { $0.arrayValue != nil }) {
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

    /// Whether the pointer leads to an array of which a log has one table.
    var isAtList: Bool {
      lists.contains { tokens in
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
        guard let next = tables.paths.node(escapedPart(of: path[index].part), below: node) else {
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
      if let reference = reference(to: key) {
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
        return
      }
      CanonicalJSON.appendString(text, to: &line)
      if let seq = UInt32(exactly: event.seq), let node = pathNode() {
        newPlaces.append((key, Place(seq: seq, path: node)))
      }
    }

    /// Where a text was said first, as `$same` names it; `nil` where it stands literally.
    mutating func reference(to key: TextKey) -> String? {
      if let place = tables.places[key] {
        var reference: [UInt8] = []
        JSONNumber(Int(place.seq)).append(to: &reference)
        tables.paths.append(place.path, to: &reference)
        return String(decoding: reference, as: UTF8.self)
      }
      guard tables.said?.texts.contains(key) == true else { return nil }
      if let reference = givenReference() { return reference }
      doubts.append(.text(key))
      return nil
    }

    /// The reference that stands in the given line where the next value does.
    func givenReference() -> String? {
      guard let given, line.count < given.count else { return nil }
      let rest = given[line.count...]
      guard rest.starts(with: Self.referenceStart) else { return nil }
      let start = rest.startIndex + Self.referenceStart.count
      var end = start + 1
      while end < given.count, given[end] != UInt8(ascii: "\"") {
        end += given[end] == UInt8(ascii: "\\") ? 2 : 1
      }
      guard end < given.count else { return nil }
      return (try? JSONValue(parsing: Array(given[start...end])))?.stringValue
    }

    static let referenceStart = Array("{\"$same\":".utf8)

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
      for (index, element) in elements.enumerated() {
        guard !isTooLong else { break }
        if index > 0 { resolved.append(UInt8(ascii: ",")) }
        let start = resolved.count
        CanonicalJSON.append(element, to: &resolved)
        let key = resolved.withUnsafeBytes {
          tables.keys.key(of: UnsafeRawBufferPointer(rebasing: $0[start...]))
        }
        if let number = number(ofItem: key, isFirst: isFirst) {
          savedBytes += resolved.count - start
          if let current = run, current.first + current.count == number {
            run = (current.first, current.count + 1)
            continue
          }
          write(run, &isFirst)
          run = (number, 1)
          deepest = max(deepest, depth + 1)
          continue
        }
        write(run, &isFirst)
        run = nil
        givenRun = nil
        newItems[key] = UInt32(clamping: tables.itemCount + newItems.count)
        if !isFirst { line.append(UInt8(ascii: ",")) }
        isFirst = false
        isInItem = true
        write(element, at: .index(index))
        isInItem = false
      }
      write(run, &isFirst)
      givenRun = nil
      line.append(contentsOf: "]}".utf8)
      resolved.append(UInt8(ascii: "]"))
      resolvedEnd = line.count
      leave()
      leave()
    }

    /// The number of an item that an event before has, or this one already; `nil` where it stands
    /// literally.
    mutating func number(ofItem key: TextKey, isFirst: Bool) -> Int? {
      let known = (tables.items[key] ?? newItems[key]).map(Int.init)
      guard let said = tables.said, known != nil || said.items.contains(key) else { return known }
      let given = givenNumber(isFirst: isFirst)
      if let number = known ?? given { return number }
      doubts.append(.item(key))
      return nil
    }

    /// The number of the earlier item that stands in the given line where the next item does.
    mutating func givenNumber(isFirst: Bool) -> Int? {
      if let run = givenRun, run.left > 0 {
        givenRun = (run.next + 1, run.left - 1, run.end)
        return run.next
      }
      // A run that was taken from there is not written yet.
      let needsComma = !isFirst || givenRun != nil
      let start = givenRun?.end ?? line.count
      givenRun = nil
      guard let given, var scanner = LineScanner(given, from: start),
        !needsComma || scanner.skip(UInt8(ascii: ",")), scanner.skip(UInt8(ascii: "[")),
        let first = scanner.number(), scanner.skip(UInt8(ascii: ",")),
        let count = scanner.number(), count > 0, scanner.skip(UInt8(ascii: "]"))
      else { return nil }
      givenRun = (first + 1, count - 1, scanner.position)
      return first
    }

    mutating func write(_ run: (first: Int, count: Int)?, _ isFirst: inout Bool) {
      guard let run else { return }
      if !isFirst { line.append(UInt8(ascii: ",")) }
      isFirst = false
      line.append(UInt8(ascii: "["))
      JSONNumber(run.first).append(to: &line)
      line.append(UInt8(ascii: ","))
      JSONNumber(run.count).append(to: &line)
      line.append(UInt8(ascii: "]"))
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
