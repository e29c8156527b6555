public import AgentTrace

/// What a provider sent back, in no dialect.
public struct ProviderReply: Sendable, Hashable {
  /// The reply in the form that the loop reads: `{"text","reasoning","calls","refusal","incomplete"}`,
  /// each key only where there is something to say. A call is `{"id","name"}` with its `arguments` as the
  /// text that the model wrote, or its `input` where the provider sent a value. `reasoning` is a list of
  /// the provider's own blocks, to be sent back as they are. Where texts, reasoning and calls stand in
  /// another order than that, `parts` names them in theirs: `{"text":…}`, `{"reasoning":0}`, `{"call":0}`.
  /// `ran` is what the provider ran itself, `unread` where something stands that may be a call and is none
  /// that is known here, `otherChoices` how many there are that were not read; see `ModelReply`.
  public var reply: JSONValue
  /// Why the reply ended, in the provider's own word; `nil` where it gave none.
  public var finishReason: String?
  /// Tokens; `nil` where the provider did not say.
  public var usage: TokenUsage?
  /// The model that replied, as the provider names it.
  public var model: String?
  /// The provider's own id of the reply.
  public var id: String?
  /// What the provider says went wrong, though it began to reply.
  public var error: ProviderError?
  /// Where the provider only paused: what it said so far as it has to be sent back for it to go on.
  var paused: [JSONValue]?
}

/// Tokens of one reply; each `nil` where it is unknown.
public struct TokenUsage: Sendable, Hashable {
  /// All tokens that went in, those read from and written to a cache included.
  public var input: Int?
  /// Those of ``input`` that were read from a cache.
  public var cachedInput: Int?
  /// Those of ``input`` that were written to a cache.
  public var cacheWrite: Int?
  /// All tokens that came out, reasoning included.
  public var output: Int?
  /// Those of ``output`` that were reasoning.
  public var reasoning: Int?

  /// What is left out is unknown.
  public init(
    input: Int? = nil, cachedInput: Int? = nil, cacheWrite: Int? = nil, output: Int? = nil,
    reasoning: Int? = nil
  ) {
    self.input = input
    self.cachedInput = cachedInput
    self.cacheWrite = cacheWrite
    self.output = output
    self.reasoning = reasoning
  }

  /// A count as a provider may claim it, within what can be added without a thought.
  static func count(_ value: JSONValue?) -> Int? {
    value?.intValue.flatMap { (0...(1 << 40)).contains($0) ? $0 : nil }
  }
}

/// What a provider says went wrong.
public struct ProviderError: Error, Sendable, Hashable, CustomStringConvertible {
  /// In its own words; may be empty.
  public var message: String
  /// For example `rate_limit_error`.
  public var type: String?
  /// For example `rate_limit_exceeded`.
  public var code: String?

  /// What is left out the provider did not say.
  public init(message: String, type: String? = nil, code: String? = nil) {
    self.message = message
    self.type = type
    self.code = code
  }

  /// Reads the `error` of a body, or a body that is one: an object with a `message`, or a text; `nil` for
  /// anything else.
  public init?(_ value: JSONValue?) {
    switch value {
    case .string(let text)?: self.init(message: text)
    case .object(let object)?:
      func word(_ key: String) -> String? {
        guard let value = object[key], !value.isNull, value.objectValue == nil else { return nil }
        return value.plainText
      }
      guard let message = word("message") ?? word("code") ?? word("type") else { return nil }
      self.init(message: message, type: word("type") ?? word("status"), code: word("code"))
    default: return nil
    }
  }

  /// The same with a type that a header says, `ThrottlingException:http://…`, where the body says none.
  func typed(_ header: String?) -> ProviderError {
    guard type == nil, let header else { return self }
    var typed = self
    typed.type = String(header.prefix { $0 != ":" }.prefix(100))
    return typed
  }

  public var description: String {
    let words = [type, code].compactMap { $0 }.filter { !$0.hasSameUTF8(as: message) }
    return words.isEmpty ? message : "\(message) (\(words.joined(separator: ", ")))"
  }
}

/// Why bytes that a provider sent are no reply.
public enum ReplyFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// The body, or the data of an event, is no JSON.
  case notJSON(JSONError)
  /// JSON, but nothing that the dialect knows; and what it lacks.
  case unknownForm(String)
  /// The stream ended before the reply did.
  case cut
  /// More than is taken.
  case tooLarge(EventStreamReader.TooLarge)

  public var description: String {
    switch self {
    case .notJSON(let error): "the provider sent no JSON: \(error)"
    case .unknownForm(let lack): "the provider sent no reply of its dialect: \(lack)"
    case .cut: "the stream ended before the reply did"
    case .tooLarge(let error): "the provider sent too much: \(error)"
    }
  }
}

// MARK: - In the making

/// Text that comes in pieces. What a provider escaped as half a character becomes a whole one where the
/// other half follows, and U+FFFD where it does not.
struct TextPieces: Sendable {
  private var bytes: [UInt8] = []
  private var hasHalves = false

  var isEmpty: Bool { bytes.isEmpty }

  /// Takes in a piece; anything but text says nothing.
  mutating func append(_ piece: JSONValue?) {
    switch piece {
    case .string(let text)?: bytes.append(contentsOf: text.utf8)
    case .bytes(let raw)?:
      hasHalves = true
      bytes.append(contentsOf: raw)
    default: break
    }
  }

  mutating func append(_ other: TextPieces) {
    bytes += other.bytes
    hasHalves = hasHalves || other.hasHalves
  }

  mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  var text: String {
    hasHalves
      ? String(decoding: Self.joined(bytes), as: UTF8.self) : String(decoding: bytes, as: UTF8.self)
  }

  /// Makes one character of each two halves: in the bytes of a lone surrogate (`ED A0…BF xx`) the high one
  /// stands before the low one.
  private static func joined(_ bytes: [UInt8]) -> [UInt8] {
    func unit(at index: Int, _ second: ClosedRange<UInt8>) -> UInt32? {
      guard index + 2 < bytes.count, bytes[index] == 0xed, second.contains(bytes[index + 1]),
        bytes[index + 2] & 0xc0 == 0x80
      else { return nil }
      return 0xd000 | UInt32(bytes[index + 1] & 0x3f) << 6 | UInt32(bytes[index + 2] & 0x3f)
    }
    var joined: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if let high = unit(at: index, 0xa0...0xaf), let low = unit(at: index + 3, 0xb0...0xbf),
        let scalar = Unicode.Scalar(0x10000 + (high & 0x3ff) << 10 + (low & 0x3ff))
      {
        joined.append(contentsOf: Character(scalar).utf8)
        index += 6
      } else {
        joined.append(bytes[index])
        index += 1
      }
    }
    return joined
  }
}

/// A reply in the making: its parts in the order in which they came.
struct ReplyDraft: Sendable {
  enum Part: Sendable {
    case text(TextPieces)
    case reasoning(JSONObject)
    case call(DraftCall)
  }

  var parts: [Part] = []
  /// What the provider has run itself.
  var ran: [RanCall] = []
  /// Where something stands that may be a call and was not read.
  var unread = UnreadPlaces()
  /// How many choices there are beside the one that is read.
  var otherChoices = 0
  var refusal = TextPieces()
  /// Why not all of the reply is there, in the provider's word.
  var incomplete: String?
  /// Whether the provider only paused, and goes on when it is asked to.
  var isPaused = false

  var reply: JSONValue {
    var text = TextPieces()
    var (reasoning, calls, order): ([JSONValue], [JSONValue], [JSONValue]) = ([], [], [])
    var unread = unread
    /// Reasoning first, then one text, then calls.
    var (stage, isUsual) = (0, true)
    for part in parts {
      switch part {
      case .text(let piece):
        guard !piece.isEmpty else { continue }
        text.append(piece)
        order.append(["text": .string(piece.text)])
        isUsual = isUsual && stage < 1
        stage = max(stage, 1)
      case .reasoning(let block):
        order.append(["reasoning": JSONValue(reasoning.count)])
        reasoning.append(.object(block))
        isUsual = isUsual && stage < 1
      case .call(let call):
        order.append(["call": JSONValue(calls.count)])
        if call.saysOtherInput { unread.note("calls/\(calls.count): its input is said twice") }
        calls.append(call.value)
        stage = 2
      }
    }
    var reply = JSONObject()
    if !text.isEmpty { reply["text"] = .string(text.text) }
    if !reasoning.isEmpty { reply["reasoning"] = .array(reasoning) }
    if !calls.isEmpty { reply["calls"] = .array(calls) }
    // Only reasoning has to stand where it stood.
    if !isUsual, !reasoning.isEmpty { reply["parts"] = .array(order) }
    if !refusal.isEmpty { reply["refusal"] = .string(refusal.text) }
    reply["incomplete"] = incomplete.map(JSONValue.string)
    if isPaused { reply["paused"] = true }
    if !ran.isEmpty { reply["ran"] = .array(ran.map(\.value)) }
    if !unread.isEmpty { reply["unread"] = JSONValue(unread.places) }
    if otherChoices > 0 { reply["otherChoices"] = JSONValue(otherChoices) }
    return .object(reply)
  }
}

/// A call in the making.
struct DraftCall: Sendable {
  var id: String?
  var name: String?
  var arguments = TextPieces()
  /// The input as a value, where the provider sends one.
  var input: JSONValue?
  /// Whether what goes in is a text and no JSON.
  var isOfText = false

  var value: JSONValue {
    var call = JSONObject()
    if let id, !id.isEmpty { call["id"] = .string(id) }
    call["name"] = .string(name ?? "")
    if isOfText {
      call["input"] = ObservedDraft.textInput(.string(arguments.text))
    } else if let input, arguments.isEmpty {
      call["input"] = input
    } else {
      call["arguments"] = .string(arguments.text)
    }
    return .object(call)
  }

  /// Whether pieces and a value say different inputs: some clients take the one, and some the other.
  var saysOtherInput: Bool {
    guard let input, !arguments.isEmpty, !isOfText else { return false }
    // What stands at the beginning of a call whose input comes in pieces.
    if input.isNull || input == "" || input.objectValue?.isEmpty == true { return false }
    return readInput.byValue != input.byValue
  }

  /// Whether both call the same by the same name.
  func isSame(as other: DraftCall) -> Bool {
    (name ?? "").hasSameUTF8(as: other.name ?? "")
      && readInput.byValue == other.readInput.byValue
  }

  /// What goes in, in pieces or as a value.
  private var readInput: JSONValue {
    if let input, arguments.isEmpty { return input }
    return ObservedDraft.input(.string(arguments.text))
  }
}

extension JSONValue {
  /// Reads what a provider sent, foreign text and all.
  static func wire(_ bytes: [UInt8]) throws(ReplyFault) -> JSONValue {
    do throws(JSONError) {
      return try JSONValue(parsing: bytes, options: .init(keepsForeignText: true))
    } catch { throw .notJSON(error) }
  }
}
