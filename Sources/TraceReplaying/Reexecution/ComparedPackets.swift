@_spi(Scanning) import AgentTrace

/// Compares recorded packets with those that are made now, one after the other, without comparing again
/// what both took over from the ones before.
struct ComparedPackets {
  /// Two lists that are equal.
  private struct Pair {
    var recorded: [JSONValue] = []
    var now: [JSONValue] = []

    init() {}

    /// `nil` where one of them is no list.
    init?(recorded: [JSONValue]?, now: [JSONValue]?) {
      guard let recorded, let now else { return nil }
      (self.recorded, self.now) = (recorded, now)
    }
  }

  private var lists = [Pair](repeating: Pair(), count: ContextPacket.listPointers.count)
  /// How far ahead an item is looked for where some before it went.
  private static let lookahead = 64

  /// Whether two packets say the same; see ``ComparedData``.
  ///
  /// - Complexity: a comparison of addresses for each item that both packets before held.
  mutating func areSame(_ recorded: Event, _ now: Event) -> Bool {
    var (rest, restNow) = (recorded, now)
    var pairs: [Pair?] = []
    for pointer in ContextPacket.listPointers {
      let pair = Pair(
        recorded: JSONValue.object(recorded.data)[pointer]?.arrayValue,
        now: JSONValue.object(now.data)[pointer]?.arrayValue)
      pairs.append(pair)
      guard pair != nil else { continue }
      rest.data.removeList(at: pointer)
      restNow.data.removeList(at: pointer)
    }
    guard ComparedData.areSame(rest, restNow) else { return false }
    for (list, pair) in pairs.enumerated() {
      guard let pair else { continue }
      guard areSame(pair, after: lists[list]) else { return false }
      lists[list] = pair
    }
    return true
  }

  private func areSame(_ pair: Pair, after before: Pair) -> Bool {
    guard pair.recorded.count == pair.now.count else { return false }
    return pair.recorded.withUnsafeBufferPointer { recorded in
      pair.now.withUnsafeBufferPointer { now in
        before.recorded.withUnsafeBufferPointer { recordedBefore in
          before.now.withUnsafeBufferPointer { nowBefore in
            var follow = 0
            for index in recorded.indices {
              let end = min(recordedBefore.count, follow + Self.lookahead)
              let place = (follow..<max(follow, end)).first {
                recorded.isIdentical(index, to: recordedBefore, $0)
              }
              follow = (place ?? follow) + 1
              if let place, now.isIdentical(index, to: nowBefore, place) { continue }
              guard recorded[index] == now[index] else { return false }
            }
            return true
          }
        }
      }
    }
  }
}

extension JSONObject {
  /// Takes an array of a packet out.
  fileprivate mutating func removeList(at pointer: JSONPointer) {
    guard let key = pointer.tokens.first else { return }
    guard pointer.tokens.count > 1, var inner = self[key]?.objectValue else {
      self[key] = nil
      return
    }
    inner.removeList(at: JSONPointer(tokens: Array(pointer.tokens.dropFirst())))
    self[key] = .object(inner)
  }
}
