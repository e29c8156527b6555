/// What a log lacks: `none` or `partial` for each channel that is not recorded whole.
///
/// There are a handful at most, looked up many times for each run: names in their order, found by halving, cost
/// less than hashing them.
public struct RecordedChannels: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  private struct Channel: Sendable, Hashable {
    var name: String
    var extent: String
  }

  /// By the bytes of their names, each name once.
  private var channels: [Channel] = []

  /// Everything is recorded.
  public init() {}

  /// Of a name that stands twice, the last counts.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, extent) in elements { self[name] = extent }
  }

  /// What a log says under `recorded`. Any value but a text counts as `partial`.
  init(_ object: JSONObject) {
    channels.reserveCapacity(object.count)
    for member in object {
      channels.append(Channel(name: member.key, extent: member.value.stringValue ?? "partial"))
    }
  }

  /// Takes in a channel of a list in which names grow.
  ///
  /// - Returns: whether its name does stand behind the others.
  package mutating func append(_ name: String, _ extent: String) -> Bool {
    guard channels.last?.name.precedesByUTF8(name) ?? true else { return false }
    channels.append(Channel(name: name, extent: extent))
    return true
  }

  /// Every channel that is not whole, by the bytes of its name.
  public var all: [(name: String, extent: String)] { channels.map { ($0.name, $0.extent) } }

  /// Whether everything is recorded.
  public var isEmpty: Bool { channels.isEmpty }

  /// What there is of a channel: `none`, `partial`, or `nil` where it is recorded whole.
  ///
  /// - Complexity: O(log n); to set one that was not there, O(n).
  public subscript(name: String) -> String? {
    get {
      let place = place(of: name)
      return place < channels.count && channels[place].name.hasSameUTF8(as: name)
        ? channels[place].extent : nil
    }
    set {
      let place = place(of: name)
      let isThere = place < channels.count && channels[place].name.hasSameUTF8(as: name)
      switch (newValue, isThere) {
      case (let extent?, true): channels[place].extent = extent
      case (let extent?, false): channels.insert(Channel(name: name, extent: extent), at: place)
      case (nil, true): channels.remove(at: place)
      case (nil, false): break
      }
    }
  }

  /// Takes in what something else says: of each channel the worse counts.
  public mutating func formUnion(_ others: RecordedChannels) {
    for other in others.channels where self[other.name] != "none" {
      self[other.name] = other.extent
    }
  }

  private func place(of name: String) -> Int {
    channels.partitionPoint { $0.name.precedesByUTF8(name) }
  }

  /// The wire form.
  var object: JSONObject { JSONObject(channels.map { ($0.name, .string($0.extent)) }) }
}

extension RecordedChannels {
  /// What lacks, in words: `calls partial, results none`.
  package var words: String { all.map { "\($0.name) \($0.extent)" }.joined(separator: ", ") }
}
