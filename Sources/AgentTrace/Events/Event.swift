/// One fact about a run: a line of its log.
///
/// The envelope is typed; `data` stays the JSON it is, so that keys written by a newer version pass
/// through untouched. Typed views of it are the payload types beside this file
/// (``ToolResultPayload`` and so on).
///
/// Why: Docs/decisions/0001-payloads-stay-json.md
public struct Event: Sendable, Hashable {
  /// The event's number: from 0, without gaps.
  public var seq: Int
  /// The step it belongs to: from 1; 0 for what precedes the first.
  public var step: Int
  /// What kind of fact it states.
  public var type: EventType
  /// The run it belongs to.
  public var runId: String
  /// When it happened, in UTC, for people. Nothing is ordered, compared or identified by it.
  public var time: String?
  /// Microseconds of active run time: monotonic, pauses excluded, going on after a resume.
  public var t: Int
  /// What happened; the keys of each type are those of its payload type.
  public var data: JSONObject
  /// Keys of the envelope that this version does not know.
  public var extra: JSONObject

  /// A log's writer refuses a number that does not follow.
  public init(
    seq: Int, step: Int, type: EventType, runId: String, time: String? = nil, t: Int = 0,
    data: JSONObject, extra: JSONObject = [:]
  ) {
    self.seq = seq
    self.step = step
    self.type = type
    self.runId = runId
    self.time = time
    self.t = t
    self.data = data
    self.extra = extra
  }
}

extension Event {
  /// The event as one line of JSON without its `\n`: the envelope's keys in their fixed order, every
  /// value literal. A log's writer replaces what was said before; see Docs/log-format.md.
  public func encodedLine() -> [UInt8] {
    var line: [UInt8] = []
    appendEnvelopeHead(to: &line)
    CanonicalJSON.append(.object(data), to: &line, form: .log)
    appendEnvelopeTail(to: &line)
    return line
  }

  /// Appends the line up to the value of `data`.
  @_spi(Scanning) public func appendEnvelopeHead(to line: inout [UInt8]) {
    line.append(contentsOf: "{\"seq\":".utf8)
    JSONNumber(seq).append(to: &line)
    line.append(contentsOf: ",\"step\":".utf8)
    JSONNumber(step).append(to: &line)
    line.append(contentsOf: ",\"type\":".utf8)
    CanonicalJSON.appendString(type.rawValue, to: &line)
    line.append(contentsOf: ",\"runId\":".utf8)
    CanonicalJSON.appendString(runId, to: &line)
    if let time {
      line.append(contentsOf: ",\"time\":".utf8)
      CanonicalJSON.appendString(time, to: &line)
    }
    line.append(contentsOf: ",\"t\":".utf8)
    JSONNumber(t).append(to: &line)
    line.append(contentsOf: ",\"data\":".utf8)
  }

  /// Appends the line behind the value of `data`.
  @_spi(Scanning) public func appendEnvelopeTail(to line: inout [UInt8]) {
    Self.appendExtra(extra, to: &line)
    line.append(UInt8(ascii: "}"))
  }

  static func appendExtra(_ extra: JSONObject, to line: inout [UInt8]) {
    for member in extra {
      CanonicalJSON.appendKey(member.key, isFirst: false, to: &line, form: .plain)
      CanonicalJSON.append(member.value, to: &line)
    }
  }
}

/// A line that is not an event: it has no number, is not folded and not compared, so that event
/// numbers never depend on the layout of the file.
public struct Mark: Sendable, Hashable {
  /// `seal`, `summary`, `checkpoint`, `gap`, or one of a newer version.
  public var name: String
  /// What it says; its form is that of the mark's name.
  public var data: JSONValue
  /// Keys that this version does not know.
  public var extra: JSONObject

  /// The name may be one that this version does not know.
  public init(name: String, data: JSONValue, extra: JSONObject = [:]) {
    self.name = name
    self.data = data
    self.extra = extra
  }

  /// The mark as one line of JSON without its `\n`.
  public func encodedLine() -> [UInt8] {
    var line = Array("{\"mark\":".utf8)
    CanonicalJSON.appendString(name, to: &line)
    line.append(contentsOf: ",\"data\":".utf8)
    CanonicalJSON.append(data, to: &line)
    Event.appendExtra(extra, to: &line)
    line.append(UInt8(ascii: "}"))
    return line
  }
}

/// One line of a log.
public enum LogLine: Sendable, Hashable {
  /// One with a number: a fact about the run.
  case event(Event)
  /// One without a number: about the file.
  case mark(Mark)
}

/// Takes a run's events as they happen.
///
/// When `append` returns, the event is kept as its durability promises; when it throws, the run must
/// stop: never a run that goes on without its log.
public protocol EventSink: AnyObject {
  /// Keeps the next event. `isEffectAhead` says that something that cannot be undone follows, so the
  /// event must survive the machine, not only the process.
  func append(_ event: Event, isEffectAhead: Bool) throws

  /// Whether anyone looks at digests of the run: of its states and of what its model was asked. Where
  /// nobody does, they are not made.
  var needsDigests: Bool { get }
}

extension EventSink {
  /// They are, unless a sink says otherwise.
  public var needsDigests: Bool { true }
}

/// Keeps events in memory; for tests and for runs that need no file.
public final class InMemoryEventSink: EventSink {
  /// What was appended so far.
  public private(set) var events: [Event] = []

  /// An empty sink.
  public init() {}

  public func append(_ event: Event, isEffectAhead: Bool) { events.append(event) }
}
