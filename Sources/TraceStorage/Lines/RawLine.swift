import AgentTrace
import CZlib
import Glibc

/// What is wrong with a line, without its place.
enum LineFault: Error {
  case json(JSONError.Code)
  case line(String)
  case reference(String)
  case expandsTooFar
  case tooManyValues
  /// Following what lines refer to takes more work than any writer asks for.
  case tooMuchWork
  case newerFormat(Int)
  /// A line that a reference leads to could not be read.
  case file(LogError)

  func error(path: String) -> LogError {
    switch self {
    case .json(let code): LogError(.badJSON(code), path: path)
    case .line(let what): LogError(.badLine(what), path: path)
    case .reference(let reference): LogError(.badReference(reference), path: path)
    case .expandsTooFar:
      LogError(.expandsTooFar(limitBytes: LogFormat.expandedLimitBytes), path: path)
    case .tooManyValues: LogError(.tooManyValues(limit: LogFormat.readValueLimit), path: path)
    case .tooMuchWork:
      LogError(
        .badLine("to follow what it refers to takes more work than a writer may ask for"),
        path: path)
    case .newerFormat(let version): LogError(.newerFormat(version), path: path)
    case .file(let error): error
    }
  }
}

/// A line as JSON, its envelope read, its data as they stand: escaped, with references.
enum RawLine {
  case event(Event)
  case mark(Mark)

  /// - Parameter runId: used again, where the line's is the same.
  init(parsing line: UnsafeBufferPointer<UInt8>, runId: String = "") throws(LineFault) {
    guard !line.holdsMoreValues(than: LogFormat.readValueLimit) else { throw .tooManyValues }
    if let event = Self.event(scanning: line, runId: runId) {
      self = .event(event)
      return
    }
    let value: JSONValue
    do {
      value = try JSONValue(
        parsing: line, options: JSONValue.ParseOptions(depthLimit: LogFormat.depthLimit))
    } catch {
      throw .json(error.code)
    }
    guard var envelope = value.objectValue else { throw .line("a line is not an object") }
    if let name = envelope["mark"] {
      guard let name = name.stringValue, let data = envelope["data"] else {
        throw .line("a mark lacks its name or data")
      }
      envelope["mark"] = nil
      envelope["data"] = nil
      self = .mark(Mark(name: name, data: data, extra: envelope))
    } else {
      self = .event(try Self.event(of: envelope))
    }
  }

  /// The event of a line that begins and ends as this project writes it; of any other the answer is
  /// `nil`, also where something is wrong with it, which the plain way then says.
  private static func event(scanning line: UnsafeBufferPointer<UInt8>, runId: String) -> Event? {
    guard var scanner = LineScanner(line), let envelope = Envelope(&scanner),
      scanner.byte == UInt8(ascii: "{"), line.last == UInt8(ascii: "}"),
      let runId = scanner.text(envelope.runId, known: runId),
      case .object(let data)? = try? JSONValue(
        parsing: scanner.bytes(scanner.position..<(line.count - 1)),
        options: JSONValue.ParseOptions(depthLimit: LogFormat.depthLimit - 1))
    else { return nil }
    return Event(
      seq: envelope.seq, step: envelope.step, type: envelope.type, runId: runId,
      time: envelope.time.map { String(decoding: scanner.bytes($0), as: UTF8.self) },
      t: envelope.t, data: data)
  }

  private static func event(of envelope: JSONObject) throws(LineFault) -> Event {
    func number(_ key: String) throws(LineFault) -> Int {
      guard let value = envelope[key]?.intValue, (0...LogFormat.numberLimit).contains(value) else {
        throw .line("“\(key)” of an event is not a whole number")
      }
      return value
    }
    guard let type = envelope["type"]?.stringValue else {
      throw .line("“type” of an event is not a string")
    }
    guard let runId = envelope["runId"]?.stringValue else {
      throw .line("“runId” of an event is not a string")
    }
    guard let data = envelope["data"]?.objectValue else {
      throw .line("“data” of an event is not an object")
    }
    if let time = envelope["time"], time.stringValue == nil {
      throw .line("“time” of an event is not a string")
    }
    var extra = JSONObject()
    if envelope.count > (envelope["time"] == nil ? 6 : 7) {
      extra = envelope
      for key in ["seq", "step", "type", "runId", "time", "t", "data"] { extra[key] = nil }
    }
    return Event(
      seq: try number("seq"), step: try number("step"), type: EventType(rawValue: type),
      runId: runId, time: envelope["time"]?.stringValue, t: try number("t"), data: data,
      extra: extra)
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// How many bytes stand before the next newline; `nil` where there is none.
  func lineLength(from start: Int) -> Int? {
    guard start < count, let base = baseAddress,
      let found = memchr(base + start, 0x0a, count - start)
    else { return nil }
    return UnsafeRawPointer(base + start).distance(to: found)
  }

  /// Whether a key that begins with `$` may stand in this line; only then can there be anything in
  /// it that stands for something else.
  var mayHoldForms: Bool {
    guard let base = baseAddress else { return false }
    var start = 0
    while let found = memchr(base + start, 0x24, count - start) {
      let place = UnsafeRawPointer(base).distance(to: UnsafeRawPointer(found))
      if place > 0, base[place - 1] == UInt8(ascii: "\"") { return true }
      start = place + 1
    }
    // `$` may be written as an escape too, though not by this project.
    return memchr(base, 0x5c, count) != nil && memmem(base, count, "\\u0024", 6) != nil
  }
}

/// The forms that stand for something else in a log: objects with one key of five.
enum SpecialForm {
  case same(String)
  case list([JSONValue])
  case value(JSONValue)

  /// Reads an object as a special form; `nil` where it is a plain one.
  init?(_ object: JSONObject) throws(LineFault) {
    guard let member = object.first(where: { Self.isWord($0.key) }) else { return nil }
    guard object.count == 1 else { throw .line("“\(member.key)” stands beside other keys") }
    switch (member.key, member.value) {
    case ("$same", .string(let reference)): self = .same(reference)
    case ("$list", .array(let entries)): self = .list(entries)
    case ("$bytes", .string(let text)):
      guard let bytes = Base64.decode(text) else { throw .line("“$bytes” is not base64") }
      self = .value(.bytes(bytes))
    case ("$lost", .string(let reference)): self = .value(.lost(reference))
    case ("$cut", .object(let cut)):
      guard cut.count == 2, let bytes = cut["bytes"]?.intValue, bytes >= 0,
        let head = cut["head"]?.stringValue
      else { throw .line("“$cut” is not of its form") }
      self = .value(.cut(bytes: bytes, head: head))
    default: throw .line("“\(member.key)” is not of its form")
    }
  }

  private static func isWord(_ key: String) -> Bool {
    guard key.utf8.first == UInt8(ascii: "$") else { return false }
    switch key {
    case "$same", "$list", "$bytes", "$lost", "$cut": return true
    default: return false
    }
  }
}

extension JSONObject {
  /// The members with their keys as they were before the log escaped them, values transformed.
  func unescaped(
    _ transform: (String, JSONValue) throws(LineFault) -> JSONValue
  ) throws(LineFault) -> JSONObject {
    guard contains(where: { CanonicalJSON.isReserved($0.key) }) else {
      return try mapMembers(transform)
    }
    var pairs: [(String, JSONValue)] = []
    pairs.reserveCapacity(count)
    for member in self {
      let key = member.key.unescapingReservedKey
      pairs.append((key, try transform(key, member.value)))
    }
    return JSONObject(pairs)
  }
}

extension JSONValue {
  /// A value as it stands in a log → the value it stands for, where no reference may stand: in
  /// marks, in `stop` and in keys of the envelope that this version does not know.
  func withoutForms() throws(LineFault) -> JSONValue {
    switch self {
    case .array(let elements):
      var result: [JSONValue] = []
      result.reserveCapacity(elements.count)
      for element in elements { result.append(try element.withoutForms()) }
      return .array(result)
    case .object(let object):
      switch try SpecialForm(object) {
      case nil:
        return .object(
          try object.unescaped { _, value throws(LineFault) in try value.withoutForms() })
      case .value(let value): return value
      case .same(let reference): throw .reference(reference)
      case .list: throw .line("“$list” stands where none may stand")
      }
    default: return self
    }
  }
}
