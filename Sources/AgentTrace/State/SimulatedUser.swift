/// Tells which calls of a log a simulated user made, who is none of the agents: by where they come from, never by a name.
///
/// Importers mark them (``DecisionPayload/isOfUser``). Logs of before there was a mark hold such calls only where they
/// were imported from some formats, in which no agent has a name: there the caller ``name`` says it.
public struct SimulatedUser: Sendable {
  /// The caller that a simulated user is.
  public static let name = "user"
  /// What an event says that is a simulated user's.
  public static let key = "ofUser"

  /// The formats whose importers marked nothing once, as `run_started` names them.
  private static let unmarkedFormats = ["agentdojo", "openai-messages", "tau2"]

  private var isNamed = false

  /// Without a `run_started`, the mark alone counts.
  public init() {}

  /// Takes in where a run came from.
  ///
  /// - Parameter data: of its `run_started`, of which `source` is looked at.
  public mutating func take(runStarted data: JSONObject) {
    isNamed = data["source"]?["format"]?.stringValue.map(Self.unmarkedFormats.contains) ?? false
  }

  /// Whether a `decision`, a start or a result is of a call that a simulated user made.
  public func made(_ event: Event) -> Bool {
    guard !event.isOfChild else { return false }
    return made(isMarked: event.data[Self.key] == true, by: event.data["caller"]?.stringValue)
  }

  /// Whether a simulated user made something, from what it says of that.
  public func made(isMarked: Bool, by caller: String?) -> Bool {
    isMarked || isNamed && caller?.hasSameUTF8(as: Self.name) ?? false
  }
}
