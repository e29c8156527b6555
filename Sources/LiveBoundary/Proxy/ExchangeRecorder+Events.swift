import AgentRuntime
import AgentTrace

/// Events on their way into the log.
///
/// Until it is known which conversation is the agent's own, they are held as well: the log may have to be made anew.
extension ExchangeRecorder {
  /// How many events are held until it is known which conversation is the agent's own. Each may hold a reply.
  static let waitingLimit = 128

  /// An event as it is before it is known whom it is about.
  struct Waiting {
    var type: EventType
    var data: JSONObject
    var step: Int
    var moment: ClockReading
    var turn: Conversations.Turn?
  }

  /// Appends an event; returns its number.
  ///
  /// - Parameter turn: the request that it is about: whoever made it is named in it.
  @discardableResult
  func append(
    _ type: EventType, _ data: JSONObject, step: Int, of turn: Conversations.Turn? = nil
  ) throws -> Int {
    let event = Waiting(type: type, data: data, step: step, moment: clock.reading(), turn: turn)
    let number = seq
    seq += 1
    guarding?.take(self.event(event, number, in: main))
    if beginning.isSettled {
      try write(event, number, in: main)
    } else {
      waiting.append(event)
      if sink == nil {
        try begin(about: likelyMain)
      } else {
        try write(event, number, in: beginning.conversation)
      }
      if waiting.count >= Self.waitingLimit { try settle(on: likelyMain) }
    }
    return number
  }

  /// Writes an event as it is where a conversation is the agent's own.
  func write(_ waiting: Waiting, _ number: Int, in main: Int?) throws {
    state.apply(try written(event(waiting, number, in: main)))
  }

  /// Writes an event; what of it is too large for a line of the log stands cut there.
  ///
  /// - Returns: the event as it stands there.
  private func written(_ event: Event) throws -> Event {
    do {
      try sink?.append(event, isEffectAhead: false)
      return event
    } catch {
      // What a log refuses changes nothing in it. Whatever else is wrong with it is wrong with less, too.
      for limit in LargeEvent.limits {
        let smaller = LargeEvent.cut(event, toBytes: limit)
        if (try? sink?.append(smaller, isEffectAhead: false)) != nil { return smaller }
      }
      throw error
    }
  }

  /// An event with the name of whoever it is about, where a conversation is the agent's own.
  private func event(_ waiting: Waiting, _ number: Int, in main: Int?) -> Event {
    var data = waiting.data
    if let turn = waiting.turn {
      let caller = turn.conversation == main ? turn.successor : turn.successor ?? turn.name
      if waiting.type == .toolsListed {
        data["source"] = .string(caller ?? "agent")
      } else if let caller {
        data["caller"] = .string(caller)
      }
      if waiting.type == .decision, turn.conversation == main, caller != nil {
        data["ofAgent"] = true
      }
    }
    return Event(
      seq: number, step: waiting.step, type: waiting.type, runId: start.runId,
      time: waiting.moment.time, t: waiting.moment.t, data: data)
  }
}
