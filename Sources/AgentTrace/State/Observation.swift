/// Something the agent has seen, in at most 512 bytes. The data stay in the log.
public struct Observation: Sendable, Hashable {
  /// Where an observation comes from.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A decision.
    case model
    /// A call's result.
    case tool
    /// A verdict.
    case policy
    /// A person.
    case human
    /// The runtime itself, such as a note that was read or a run that goes on.
    case system
  }

  /// The most bytes of a summary.
  public static let summaryLimitBytes = 512

  /// The `callId` of a result, else `<step>.<kind>.<n>` with n from 1.
  public var id: String
  /// Where it comes from.
  public var kind: Kind
  /// What was seen, in words, or the beginning of the data as text.
  public var summary: String
  /// The number of the event that carries the data.
  public var seq: Int

  /// The summary is cut to ``summaryLimitBytes``.
  public init(id: String, kind: Kind, summary: String, seq: Int) {
    self.id = id
    self.kind = kind
    self.summary = summary.prefix(utf8Bytes: Self.summaryLimitBytes)
    self.seq = seq
  }

  init(reader: PayloadReader) throws(PayloadError) {
    id = try reader.string("id")
    kind = try reader.enumeration("kind", Kind.self, "a kind of observation")
    summary = try reader.string("summary")
    seq = try reader.optionalInt("seq") ?? 0
  }

  func encoded(withEventNumbers: Bool) -> JSONValue {
    var object: JSONObject = [
      "id": .string(id), "kind": .string(kind.rawValue), "summary": .string(summary),
    ]
    if withEventNumbers { object["seq"] = JSONValue(seq) }
    return .object(object)
  }

  /// Appends the canonical bytes of what ``encoded(withEventNumbers:)`` says.
  func append(to bytes: inout [UInt8], withEventNumbers: Bool) {
    bytes.append(contentsOf: "{\"id\":".utf8)
    CanonicalJSON.appendString(id, to: &bytes)
    bytes.append(contentsOf: ",\"kind\":".utf8)
    CanonicalJSON.appendString(kind.rawValue, to: &bytes)
    if withEventNumbers {
      bytes.append(contentsOf: ",\"seq\":".utf8)
      JSONNumber(seq).append(to: &bytes)
    }
    bytes.append(contentsOf: ",\"summary\":".utf8)
    CanonicalJSON.appendString(summary, to: &bytes)
    bytes.append(UInt8(ascii: "}"))
  }
}

/// The last 1,000 observations, and a count and running digest of the older ones.
public struct RecentObservations: Sendable, Hashable {
  /// How many stay.
  public static let limit = 1_000

  private var kept: [Observation] = []
  /// Where the retained ones begin in `kept`; the rest is cleared away now and then.
  private var head = 0
  /// How many are no longer retained.
  public private(set) var olderCount = 0
  /// SHA-256 over each older one's predecessor digest and canonical form.
  public private(set) var olderDigest = Digest.zero

  /// Nothing observed yet.
  public init() {}

  /// The retained ones, oldest first.
  public var recent: ArraySlice<Observation> { kept[head...] }

  mutating func append(_ observation: Observation) {
    kept.append(observation)
    guard kept.count - head > Self.limit else { return }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(2 * Observation.summaryLimitBytes)
    olderDigest.append(to: &bytes)
    kept[head].append(to: &bytes, withEventNumbers: false)
    olderDigest = Digest(of: bytes)
    olderCount += 1
    head += 1
    if head >= Self.limit {
      kept.removeFirst(head)
      head = 0
    }
  }

  /// The id of the next observation of a kind in a step.
  func nextID(step: Int, kind: Observation.Kind) -> String {
    let stepPrefix = String(step) + "."
    let prefix = stepPrefix + kind.rawValue + "."
    for observation in recent.reversed() {
      guard observation.id.hasPrefix(stepPrefix) else { break }
      guard observation.id.hasPrefix(prefix) else { continue }
      return prefix + String((Int(observation.id.dropFirst(prefix.count)) ?? 0) + 1)
    }
    return prefix + "1"
  }

  init(reader: PayloadReader) throws(PayloadError) {
    olderCount = try reader.int("olderCount")
    olderDigest = try reader.required("olderDigest", "a SHA-256 digest") {
      $0.stringValue.flatMap(Digest.init(hex:))
    }
    for item in try reader.objects("recent") { kept.append(try Observation(reader: item)) }
  }

  func encoded(withEventNumbers: Bool) -> JSONValue {
    [
      "olderCount": JSONValue(olderCount), "olderDigest": .string(olderDigest.hex),
      "recent": .array(recent.map { $0.encoded(withEventNumbers: withEventNumbers) }),
    ]
  }

  /// Appends the canonical bytes of what ``encoded(withEventNumbers:)`` says.
  func append(to bytes: inout [UInt8], withEventNumbers: Bool) {
    bytes.append(contentsOf: "{\"olderCount\":".utf8)
    JSONNumber(olderCount).append(to: &bytes)
    bytes.append(contentsOf: ",\"olderDigest\":".utf8)
    CanonicalJSON.appendString(olderDigest.hex, to: &bytes)
    bytes.append(contentsOf: ",\"recent\":[".utf8)
    var isFirst = true
    for observation in recent {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      observation.append(to: &bytes, withEventNumbers: withEventNumbers)
    }
    bytes.append(contentsOf: "]}".utf8)
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.olderCount == right.olderCount && left.olderDigest == right.olderDigest
      && left.recent == right.recent
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(olderCount)
    hasher.combine(olderDigest)
  }
}
