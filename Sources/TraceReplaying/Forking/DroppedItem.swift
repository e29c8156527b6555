public import AgentRuntime
public import AgentTrace

/// What a fork leaves out of its packets, as its start records it.
struct DroppedItem {
  /// See `ContextItem/ref`.
  var ref: String
  /// The last event whose packets may still hold it. A fork of a fork keeps it: it shares the numbers.
  var behind: Int

  var encoded: JSONValue { ["ref": .string(ref), "seq": JSONValue(behind)] }

  /// What a run's start says of it; what cannot be read drops nothing.
  static func all(in parent: ParentRun?) -> [DroppedItem] {
    (parent?.edit["dropContext"]?.arrayValue ?? []).compactMap { item in
      guard let ref = item["ref"]?.stringValue, let behind = item["seq"]?.intValue else {
        return nil
      }
      return DroppedItem(ref: ref, behind: behind)
    }
  }
}

extension AgentDefinition {
  /// Leaves out of the packets what a fork's start says, so that its run can be made again.
  public mutating func leaveOut(asForkedFrom parent: ParentRun?) {
    context.leftOut += DroppedItem.all(in: parent).map {
      ContextSettings.LeftOut(ref: $0.ref, reason: "left out by the fork", behind: $0.behind)
    }
  }
}
