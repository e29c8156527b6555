import AgentTrace

/// Which values of a call's arguments stood in what the model was shown before it decided: in the messages of
/// the packet, and nowhere else.
struct ShownValues {
  /// Where in the prompt a value stands.
  struct Place {
    var pointer: JSONPointer
    /// The call whose result or input the part of the message holds; `nil` for text.
    var callId: String?
    /// Whether it stands in what the model itself has said or called before.
    var isOwn: Bool
    /// Whether the whole value there is the argument's, not only a part of its text.
    var isWhole: Bool
  }

  /// The number of the packet.
  let seq: Int
  /// The places of each argument, in the order of the messages.
  private var places: [[Place]]
  private static let placeLimit = 1_000

  /// Looks for arguments in a packet; `nil` where it holds no messages: what was shown is not known then.
  init?(_ context: Event, arguments: [ValueOrigins.Argument]) {
    guard let messages = context.data["prompt"]?["messages"]?.arrayValue else { return nil }
    seq = context.seq
    places = Array(repeating: [], count: arguments.count)
    var left = ValueOrigins.nodeLimit
    for (index, message) in messages.enumerated() {
      let isOwn = message["role"]?.stringValue?.hasSameUTF8(as: "assistant") ?? false
      let pointer = JSONPointer(tokens: ["prompt", "messages", String(index), "content"])
      for (part, content) in (message["content"]?.arrayValue ?? []).enumerated() {
        let callId = content["callId"]?.stringValue
        for key in ["text", "data", "input"] {
          guard let value = content[key] else { continue }
          ValueOrigins.look(
            for: arguments, in: value, pointer.appending(String(part)).appending(key), &left
          ) { argument, pointer, isWhole in
            guard places[argument].count < Self.placeLimit else { return }
            places[argument].append(
              Place(pointer: pointer, callId: callId, isOwn: isOwn, isWhole: isWhole))
          }
        }
      }
    }
  }

  /// Whether the packet showed an argument's value as what an event says: of a result in the part with its
  /// call's id, of anything else as text that the model itself did not say.
  func shows(_ argument: Int, from event: Event) -> Bool {
    if event.type == .toolResult {
      guard let callId = event.data["callId"]?.stringValue else { return false }
      return places[argument].contains {
        !$0.isOwn && $0.callId?.hasSameUTF8(as: callId) ?? false
      }
    }
    return places[argument].contains { !$0.isOwn && $0.callId == nil }
  }

  /// The last place where the packet shows the value of an argument at all, one that the model did not say
  /// itself before any other; `nil` where it does not.
  func place(of argument: Int) -> Place? {
    places[argument].last { !$0.isOwn } ?? places[argument].last
  }
}
