@_spi(Scanning) import AgentTrace

/// Finds what a judge asks for in the text of a closing block, and steps over the rest.
///
/// Only what this project writes is taken apart this way, and only where every name is plain ASCII; of
/// anything else the answer is `nil`, and the plain way has to be gone. `ClosingScanTests` holds both
/// against each other.
struct ClosingScan {
  private var stop: (runId: String, ending: Trajectory.StopFact)?
  private var summary: (calls: [CallOutline], recorded: RecordedChannels)?
  private var isSealed = false

  /// What the lines of a closing block tell of the run.
  static func outline(of text: UnsafeBufferPointer<UInt8>) -> RunOutline? {
    guard !text.mayHoldForms else { return nil }
    var scan = ClosingScan()
    var start = 0
    while start < text.count {
      let end = start + (text.lineLength(from: start) ?? text.count - start)
      guard scan.take(UnsafeBufferPointer(rebasing: text[start..<end])) else { return nil }
      start = end + 1
    }
    guard let stop = scan.stop, let summary = scan.summary, scan.isSealed else { return nil }
    return RunOutline(
      runId: stop.runId, stop: stop.ending, calls: summary.calls, recorded: summary.recorded)
  }

  private mutating func take(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
    guard var scanner = LineScanner(line) else { return false }
    if scanner.skip("{\"mark\":\"summary\",\"data\":") {
      summary = scanner.summary()
      guard summary != nil else { return false }
    } else if scanner.skip("{\"mark\":\"seal\",\"data\":") {
      isSealed = scanner.seal()
      guard isSealed else { return false }
    } else {
      stop = scanner.stop()
      guard stop != nil else { return false }
    }
    return scanner.skip(UInt8(ascii: "}")) && scanner.isAtEnd
  }
}

extension LineScanner {
  /// Reads a `stop` up to the end of its data, as far as ``Stop/init(decoding:)`` looks at it.
  mutating func stop() -> (runId: String, ending: Trajectory.StopFact)? {
    guard let envelope = Envelope(&self), envelope.type == .stop else { return nil }
    var reason: StopReason?
    var detail: String?
    var isFinal = true
    let isWhole = members { scanner, key in
      switch scanner.bytes(key) {
      case "answer", "stateDigest":
        return scanner.byte == UInt8(ascii: "\"") && scanner.skipValue()
      case "detail":
        guard let name = scanner.quotedName() else { return false }
        detail = scanner.text(name)
        return true
      case "evidenceRefs": return scanner.elements { $0.quotedName() != nil }
      case "final":
        isFinal = scanner.skip("true")
        return isFinal || scanner.skip("false")
      case "reason":
        reason = scanner.stopReason()
        return reason != nil
      case "stateFormat": return scanner.number() != nil
      case "totals":
        let start = scanner.position
        return scanner.skipValue() && scanner.isTotals(start..<scanner.position)
      default: return scanner.skipValue()
      }
    }
    guard isWhole, let reason else { return nil }
    return (
      text(envelope.runId),
      Trajectory.StopFact(reason: reason, detail: detail, isFinal: isFinal, seq: envelope.seq)
    )
  }

  private func isTotals(_ range: Range<Int>) -> Bool {
    guard case .object(let object)? = try? JSONValue(parsing: bytes(range)) else { return false }
    return (try? Totals(decoding: object)) != nil
  }

  /// Reads the data of a summary, as far as ``RunOutline/init(summary:stop:)`` looks at them.
  fileprivate mutating func summary() -> (calls: [CallOutline], recorded: RecordedChannels)? {
    var calls: [CallOutline]?
    var recorded = RecordedChannels()
    let isWhole = members { scanner, key in
      switch scanner.bytes(key) {
      case "calls":
        var found: [CallOutline] = []
        let isWhole = scanner.elements { scanner in
          guard let call = scanner.call() else { return false }
          found.append(call)
          return true
        }
        calls = found
        return isWhole
      case "mayHideCalls": return false
      case "recorded":
        return scanner.members { scanner, key in
          guard scanner.bytes(key).isASCII, let name = scanner.quotedName() else { return false }
          return recorded.append(scanner.text(key), scanner.text(name))
        }
      default: return scanner.skipValue()
      }
    }
    guard isWhole, let calls else { return nil }
    return (calls, recorded)
  }

  /// Reads a call, as ``CallOutline/init(summary:)`` does.
  private mutating func call() -> CallOutline? {
    var (callId, caller, tool): (String?, String?, String?)
    var (seq, startedSeq, resultSeq): (Int?, Int?, Int?)
    var status: CallStatus?
    var verdict: VerdictStatus?
    var isOfUser = false
    let isWhole = members { scanner, key in
      switch scanner.bytes(key) {
      case "callId": callId = scanner.quotedName().map(scanner.text)
      case "caller": caller = scanner.quotedName().map(scanner.text)
      case "ofUser":
        isOfUser = scanner.skip("true")
        return isOfUser
      case "tool": tool = scanner.quotedName().map(scanner.text)
      case "seq": seq = scanner.number()
      case "startedSeq": return scanner.take(&startedSeq) { $0.number() }
      case "resultSeq": return scanner.take(&resultSeq) { $0.number() }
      case "status": status = scanner.callStatus()
      case "verdict": return scanner.take(&verdict) { $0.word() }
      default: return scanner.skipValue()
      }
      return true
    }
    guard isWhole, let callId, let caller, let tool, let seq, let status,
      isOfUser || !caller.hasSameUTF8(as: SimulatedUser.name)
    else { return nil }
    return CallOutline(
      callId: callId, caller: caller, tool: tool, seq: seq, status: status, verdict: verdict,
      startedSeq: startedSeq, resultSeq: resultSeq, isOfUser: isOfUser)
  }

  /// Steps over the data of a seal; `false` where its digest is none.
  fileprivate mutating func seal() -> Bool {
    var isSeal = false
    let isWhole = members { scanner, key in
      guard scanner.isText("digest", at: key) else { return scanner.skipValue() }
      guard let name = scanner.quotedName() else { return false }
      isSeal = name.count == 64 && scanner.bytes(name).allSatisfy { $0.isLowercaseHexDigit }
      return isSeal
    }
    return isWhole && isSeal
  }

  // MARK: Values

  // By their bytes, what there is most of: to look a text up among raw values takes several times as long.

  private mutating func callStatus() -> CallStatus? {
    skip("\"ok\"") ? .ok : skip("\"error\"") ? .error : word()
  }

  private mutating func stopReason() -> StopReason? {
    skip("\"success\"") ? .success : word()
  }

  /// One of the words of an enumeration.
  private mutating func word<Word: RawRepresentable<String>>() -> Word? {
    quotedName().flatMap { Word(rawValue: text($0)) }
  }

  /// A value or `null`; `false` for anything else.
  private mutating func take<Value>(
    _ value: inout Value?, _ read: (inout LineScanner) -> Value?
  ) -> Bool {
    if skip("null") { return true }
    value = read(&self)
    return value != nil
  }
}

extension UInt8 {
  fileprivate var isLowercaseHexDigit: Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
  }
}
