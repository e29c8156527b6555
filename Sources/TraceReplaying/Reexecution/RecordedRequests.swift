import AgentRuntime
import AgentTrace
import Synchronization

/// Holds what a model is asked now against the digest that was recorded of what it was asked then.
///
/// The messages of a decision are those of the packet before it, which was compared already: they are
/// digested as the log has them, so that each costs what is new in it, and that what was withheld has the
/// tokens of then.
struct RecordedRequests {
  private let isScrubbed: Bool
  private let formatVersion: Int
  /// Whether each digest of the log covers the settings of the model.
  private let coversSettings: Bool
  /// Whether it is known whom a model played that stood in for a person.
  private let knowsPerson: Bool
  /// What a fork shares with its parent was asked as the parent was told to.
  private let shared: Int
  private let untold: UntoldReasons
  private var packets = ListDigestCache()
  private var packet: ListDigest?

  /// - Parameters:
  ///   - models: how models were asked in the part of the run that is made again.
  ///   - untold: where a person was asked for a reason that the log does not hold.
  init(of steps: RecordedSteps, models: JSONObject, untold: UntoldReasons) {
    self.untold = untold
    isScrubbed = steps.isScrubbed
    formatVersion = steps.started.formatVersion
    shared = steps.started.parent.flatMap { $0.relation == "fork" ? $0.seq : nil } ?? -1
    coversSettings = !models.isEmpty
    let person = models[ModelPurpose.human.rawValue]
    knowsPerson = person.map { !RedactionToken.isIn($0) } ?? false
  }

  /// Takes in a recorded packet that is made again.
  mutating func take(packet event: Event) {
    let messages = JSONValue.object(event.data)[ContextPacket.messagesPointer]?.arrayValue
    packet = messages.map { packets.digest(of: $0) }
  }

  /// Whether a request asks what was asked when a result was recorded; where the log does not tell, it
  /// does.
  ///
  /// - Parameter plain: gives tokens of withheld values the digits that they have in the log.
  func isSame(
    _ request: ModelRequest?, asRecordedIn result: Event, _ plain: (JSONValue) -> JSONValue
  ) -> Bool {
    guard let request, let recorded = result.data["requestDigest"]?.stringValue, !isScrubbed,
      result.seq > shared, formatVersion > 1,
      request.purpose != .human || (knowsPerson && !untold.isIn(step: result.step))
    else { return true }
    let messages: ListDigest
    if let packet, request.purpose == .decide || request.purpose == .judge {
      messages = packet
    } else {
      messages = ListDigest(of: request.messages.map(plain))
    }
    if recorded.hasSameUTF8(as: request.digest(ofMessages: messages)) { return true }
    // What is withheld of tools and settings has other tokens now.
    if recorded.hasSameUTF8(as: request.digest(ofMessages: messages, saying: plain)) { return true }
    return !coversSettings && recorded.hasSameUTF8(as: request.contextDigest(ofMessages: messages))
  }
}

/// The steps in which a person is asked about a call for a reason that no event tells: what a fork's parent
/// did later with it.
final class UntoldReasons: Sendable {
  private let steps = Mutex<Set<Int>>([])

  func note(step: Int) { steps.withLock { _ = $0.insert(step) } }

  func isIn(step: Int) -> Bool { steps.withLock { $0.contains(step) } }
}
