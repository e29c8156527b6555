import AgentTrace

/// Keeps what requests newly show within a line of the log: a dozen images at once are more than one takes.
///
/// Who asks on sends all that was said before once more. What a packet held whole is told by a reference from then on,
/// so only what is new counts; what was cut stays cut, so that a message is the same in each packet.
struct ShownParts {
  /// The most bytes of a part of a message, or of a message that has none.
  private static let partLimitBytes = ExchangeRecorder.valueLimitBytes
  /// What is less may always stand.
  private static let largeBytes = 64 << 10
  /// How many bytes of large parts a request may newly show: less than a line takes, for all else that it says.
  private static let newBytes = 5 << 20
  /// The same of the values in them.
  private static let newValues = 1 << 17

  private var whole: Set<Digest> = []
  private var cut: Set<Digest> = []
  /// Large results that have events of their own, to whose texts a packet refers.
  private var results: Set<Digest> = []

  /// Takes in what came of a call, as its event says it.
  mutating func take(result data: JSONValue) {
    guard CanonicalJSON.byteCount(of: data) > Self.largeBytes else { return }
    results.insert(Digest(of: data))
  }

  /// The messages of a request, with a `$cut` in the place of what is too large.
  ///
  /// - Complexity: O(*n*) in the bytes of the messages.
  mutating func bounded(_ messages: [JSONValue]) -> [JSONValue] {
    var left = (bytes: Self.newBytes, values: Self.newValues)
    return messages.map { message in
      guard var object = message.objectValue, let parts = object["content"]?.arrayValue else {
        return message.cut(toBytes: Self.partLimitBytes)
      }
      object["content"] = .array(parts.map { bounded($0, &left) })
      return .object(object)
    }
  }

  private mutating func bounded(
    _ part: JSONValue, _ left: inout (bytes: Int, values: Int)
  ) -> JSONValue {
    let bytes = CanonicalJSON.byteCount(of: part)
    guard bytes > Self.largeBytes, let fields = part.objectValue else { return part }
    func cut(to limit: Int) -> JSONValue { .object(fields.mapValues { $0.cut(toBytes: limit) }) }
    guard !part.isLarger(thanBytes: Self.partLimitBytes) else {
      return cut(to: Self.partLimitBytes / 2)
    }
    let digest = Digest(of: part)
    if whole.contains(digest) { return part }
    let values = CanonicalJSON.valueCount(of: part)
    // Its texts; other values are said again.
    let isReferred = fields["data"].map { results.contains(Digest(of: $0)) } ?? false
    guard !self.cut.contains(digest), isReferred || bytes <= left.bytes, values <= left.values
    else {
      self.cut.insert(digest)
      return cut(to: Self.largeBytes / 2)
    }
    left = (left.bytes - (isReferred ? 0 : bytes), left.values - values)
    whole.insert(digest)
    return part
  }
}
