import AgentTrace
import TraceReporting

/// What a model saw, beside what it saw the time before.
struct ContextView {
  var seq: Int
  var step: Int
  var packet: ContextPacket
  var previous: (seq: Int, packet: ContextPacket)?
  /// Which messages the packet before did not hold.
  private(set) var isNew: [Bool] = []
  /// Messages that the packet before held and this one does not.
  private(set) var gone: [JSONValue] = []

  init?(_ event: Event, previous: Event?) {
    guard let packet = try? ContextPacket(decoding: event.data) else { return nil }
    seq = event.seq
    step = event.step
    self.packet = packet
    if let previous, let old = try? ContextPacket(decoding: previous.data) {
      self.previous = (previous.seq, old)
    }
    let before = Set(self.previous?.packet.messages ?? [])
    isNew = packet.messages.map { !before.contains($0) }
    let now = Set(packet.messages)
    gone = (self.previous?.packet.messages ?? []).filter { !now.contains($0) }
  }

  /// Adds all of it; messages that were there before stand in one line where that is asked for.
  func add(to page: inout Page, foldsOld: Bool) {
    var figures = Figures.count(packet.messages.count, "message")
    if packet.tokenEstimate > 0 {
      figures += ", about \(packet.tokenEstimate) tokens"
      if let budget = packet.tokenBudget { figures += " of \(budget)" }
    }
    page.heading("what the model saw", "event \(seq), step \(step): \(figures)")
    addMessages(to: &page, foldsOld: foldsOld)
    for message in gone { Self.add(message, to: &page, sign: "-") }
    add("taken in", packet.included, previous?.packet.included, to: &page)
    add("left out", packet.omittedRefs, previous?.packet.omittedRefs, to: &page)
    let (tools, old) = (packet.toolsDisclosed, previous?.packet.toolsDisclosed)
    if let old, old != tools {
      let added = tools.filter { !old.contains($0) }
      let removed = old.filter { !tools.contains($0) }
      if !added.isEmpty { page.labelled("tools", added.joined(separator: " "), sign: "+") }
      if !removed.isEmpty { page.labelled("tools", removed.joined(separator: " "), sign: "-") }
    } else if !tools.isEmpty {
      page.labelled("tools", tools.joined(separator: " "))
    }
    if !packet.memoryRefs.isEmpty {
      page.labelled("memory", packet.memoryRefs.joined(separator: " "))
    }
  }

  private func addMessages(to page: inout Page, foldsOld: Bool) {
    var index = 0
    while index < packet.messages.count {
      if foldsOld, !isNew[index], let previous {
        let end = isNew[index...].firstIndex(of: true) ?? isNew.endIndex
        page.line(
          "  \(Figures.count(end - index, "message")) as in event \(previous.seq)", .faint)
        index = end
        continue
      }
      Self.add(packet.messages[index], to: &page, sign: isNew[index] && previous != nil ? "+" : " ")
      index += 1
    }
  }

  /// One message, part by part.
  static func add(_ message: JSONValue, to page: inout Page, sign: String) {
    let role = message["role"]?.stringValue ?? "?"
    for part in message["content"]?.arrayValue ?? [message] {
      page.labelled(role, PromptText.text(of: part), sign: sign)
    }
  }

  private func add(
    _ label: String, _ items: [ContextItem], _ old: [ContextItem]?, to page: inout Page
  ) {
    let known = Set(old ?? items)
    for isNew in [false, true] {
      let items = items.lazy.filter { known.contains($0) != isNew }
      for choice in PromptText.choices(items) {
        page.labelled(label, choice, sign: isNew ? "+" : " ")
      }
    }
  }
}
