public import AgentTrace

/// A model's reply in the one form that the loop reads.
///
/// `{"text","calls":[{"id","name","input"}],"question","stop","evidence":[…],"refusal","incomplete"}`,
/// each key optional; of a call, `arguments` (JSON as text, or an object) may stand in place of `input`. A
/// refusal goes before everything: it is a stop as `blocked`, then that the reply is not whole (`incomplete` says why), calls before
/// a question, a question before a stop, a stop before a text. `reasoning` is what the model thought, in
/// its provider's own blocks: no decision is read from it, and the next packet holds it. `ran` are calls that
/// the provider ran itself (`{"id","name","input","status","data"}`, the status `ok` or `error` where that is
/// known), `unread` the places of whatever may be a call and was not read, `otherChoices` how many choices there
/// were beside the one that this is. `paused` is true where the provider only paused.
///
/// Any JSON value can be read: what is no decision becomes an invalid one that says why, in words that
/// the model is told when it is asked again.
public struct ModelReply: Sendable {
  /// How many calls one decision may hold.
  public static let callLimit = 128
  /// How many bytes of a call's canonical input, or of its `arguments` as text, are taken.
  public static let inputLimitBytes = 512 << 10
  /// How many bytes of a tool's name are taken, and of the id that the provider gave to a call.
  private static let (nameLimitBytes, idLimitBytes) = (1_024, 32 << 10)
  /// How many bytes a reason has at most.
  static let reasonLimitBytes = 2_000
  /// How many mistakes one reason tells at most.
  private static let faultLimit = 8

  let reply: JSONValue

  /// Nothing is read yet; see `decision(step:tryNumber:fault:)`.
  public init(_ reply: JSONValue) { self.reply = reply }

  /// Reads the reply as a decision whose calls are numbered `<step>.<try>.<index>`.
  ///
  /// Anything that cannot be read, and any call that `fault` finds something wrong with, makes the
  /// whole decision invalid; but not calls of unknown tools beside good ones: whoever runs them refuses each of
  /// those.
  ///
  /// - Parameters:
  ///   - step: the step of the run that the reply is for, from 1.
  ///   - tryNumber: which time the model was asked in that step, from 1.
  ///   - isUnknown: whether nobody knows the tool of a call.
  ///   - fault: what is wrong with a call, in words; `nil` where nothing is.
  public func decision(
    step: Int, tryNumber: Int, isUnknown: (ProposedCall) -> Bool = { _ in false },
    fault: (ProposedCall) -> String?
  ) -> Decision {
    guard let object = reply.objectValue else { return Self.invalid(Self.fault(in: reply)) }
    func held() -> [ProposedCall] {
      proposals(in: object["calls"]?.arrayValue ?? [], step, tryNumber).map(\.call)
    }
    if let refusal = Self.refusal(in: object) {
      // A model that will not is not asked again; calls beside it are told, and are none that may run.
      let calls = held()
      return calls.isEmpty
        ? .stop(.blocked, detail: RefusalWord.detail(ofRefusal: object["refusal"]?.stringValue))
        : Self.invalid(refusal, calls)
    }
    if let word = object["incomplete"]?.stringValue, !word.isEmpty {
      return Self.invalid(
        "the reply is not whole, it was ended early (\(word.prefix(utf8Bytes: 100))); "
          + "reply with fewer words", held())
    }
    if object["paused"] == true, object["calls"] == nil {
      return Self.invalid("the provider paused and did not go on; reply again")
    }
    switch object["calls"] {
    case nil, .null?: break
    case .array(let calls)? where calls.isEmpty: break
    case .array(let calls)?:
      return decision(
        calls: calls, step: step, tryNumber: tryNumber, isUnknown: isUnknown, fault: fault)
    case let other?: return Self.invalid("“calls” is \(other.typeName), not a list of calls")
    }
    return Self.withoutCalls(object)
  }

  // MARK: Without calls

  private static func withoutCalls(_ object: JSONObject) -> Decision {
    switch object["question"] {
    case nil, .null?: break
    case .string(let question)?:
      return isBlank(question)
        ? invalid("the question is empty") : .askHuman(question: question)
    case let other?: return invalid("“question” is \(other.typeName), not text")
    }
    if let stop = object["stop"], !stop.isNull {
      switch stop.stringValue {
      case StopReason.success.rawValue: return .stop(.success)
      case StopReason.blocked.rawValue: return .stop(.blocked)
      default:
        let word = CanonicalJSON.prefix(of: stop, limitBytes: 100)
        return invalid("a model may stop with success or blocked, not with \(word)")
      }
    }
    switch object["text"] {
    case nil, .null?: break
    case .string(let text)?:
      guard !isBlank(text) else { break }
      let refs = object["evidence"]?.arrayValue?.compactMap(\.stringValue) ?? []
      return .answer(text: text, evidenceRefs: refs)
    case let other?: return invalid("“text” is \(other.typeName), not text")
    }
    return invalid("the reply holds neither text nor calls")
  }

  private static func invalid(_ reason: String, _ calls: [ProposedCall] = []) -> Decision {
    .invalid(reason: reason.prefix(utf8Bytes: reasonLimitBytes), calls: calls)
  }

  private static func isBlank(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
  }

  /// What is wrong with a reply that is no object.
  private static func fault(in reply: JSONValue) -> String {
    switch reply {
    case .cut(let bytes, _):
      "the reply is too large or nests too deep: \(bytes) bytes, of which \(1 << 20) are taken, and "
        + "64 levels"
    case .lost: "the reply is lost"
    default: "the reply is \(reply.typeName), not an object"
    }
  }

  /// Why the model says that it will not reply; `nil` where it does not.
  private static func refusal(in object: JSONObject) -> String? {
    switch object["refusal"] {
    case nil, .null?, .bool(false)?: nil
    case .string(let text)?: text.isEmpty ? nil : "the model refused: \(text)"
    case let other?: "the model refused: \(CanonicalJSON.prefix(of: other, limitBytes: 500))"
    }
  }

  // MARK: Calls

  private func decision(
    calls: [JSONValue], step: Int, tryNumber: Int, isUnknown: (ProposedCall) -> Bool,
    fault: (ProposedCall) -> String?
  ) -> Decision {
    var proposed: [ProposedCall] = []
    var faults: [String] = []
    /// What is wrong but for tools that nobody knows, and how many calls are good.
    var (others, good) = (0, 0)
    if calls.count > Self.callLimit {
      faults.append("\(calls.count) calls at once; \(Self.callLimit) are allowed")
    }
    others = faults.count
    for (call, found) in proposals(in: calls, step, tryNumber) {
      proposed.append(call)
      guard let words = found ?? fault(call) else {
        good += 1
        continue
      }
      faults.append(words)
      if found != nil || !isUnknown(call) { others += 1 }
    }
    guard !faults.isEmpty, others > 0 || good == 0 else { return .tool(proposed) }
    let told = faults.prefix(Self.faultLimit).joined(separator: "; ")
    let more = faults.count - Self.faultLimit
    return Self.invalid(told + (more > 0 ? "; and \(more) more mistakes" : ""), proposed)
  }

  /// The calls of a list, as many as one decision may hold, each with what is wrong with its form.
  private func proposals(
    in calls: [JSONValue], _ step: Int, _ tryNumber: Int
  ) -> [(call: ProposedCall, fault: String?)] {
    // So many stand in the line of a decision, whatever else does; and in that of a context, where what the model
    // thought stands beside them.
    var valuesLeft = JSONValue.countLimit / 8 * 3
    return calls.prefix(Self.callLimit).enumerated().map { index, call in
      var (input, inputFault) = ReplyArguments.input(of: call)
      let values = CanonicalJSON.valueCount(of: input)
      if values > valuesLeft {
        input = input.cut(toBytes: 0)
        inputFault = "the inputs of all calls hold too many values together; make fewer at once"
      } else {
        valuesLeft -= values
      }
      let proposal = ProposedCall(
        callId: "\(step).\(tryNumber).\(index)",
        name: (call["name"]?.stringValue ?? "").prefix(utf8Bytes: Self.nameLimitBytes),
        input: input,
        providerCallId: call["id"]?.stringValue?.prefix(utf8Bytes: Self.idLimitBytes))
      return (proposal, Self.fault(inShapeOf: call, index) ?? inputFault)
    }
  }

  private static func fault(inShapeOf call: JSONValue, _ index: Int) -> String? {
    guard let object = call.objectValue else {
      return "call \(index + 1) is \(call.typeName), not an object"
    }
    switch object["name"] {
    case .string(let name)? where name.utf8.count > nameLimitBytes:
      return "the name of call \(index + 1) has more than \(nameLimitBytes) bytes"
    case .string(let name)?: return name.isEmpty ? "call \(index + 1) has an empty name" : nil
    case nil: return "call \(index + 1) names no tool"
    case let other?: return "the name of call \(index + 1) is \(other.typeName), not text"
    }
  }
}
