import AgentTrace

/// A row of `runs` with its rows of `calls` and `tags`.
struct IndexedRun: Sendable {
  /// What could be read of a log.
  enum Status: String, Sendable {
    case closed
    /// A writer holds it, or died between two events.
    case unfinished
    /// The last block is cut short.
    case torn
    /// Read up to the damage.
    case damaged
    /// Nothing could be read.
    case unreadable
  }

  enum ReadFrom: String, Sendable {
    case summary
    case body
    case nothing
  }

  struct StopFact: Sendable {
    var reason: String
    var detail: String?
    var isFinal: Bool
    var answer: String?
  }

  var path: String
  var stamp: FileStamp
  var status: Status
  var error: String?
  var readFrom: ReadFrom
  var start = Start()
  var ending: StopFact?
  var totals = Totals()
  var calls = CallList()
  /// Tells which of them a simulated user made.
  var simulatedUser = SimulatedUser()
  var elapsedMicroseconds = 0
  var events = 0
  var sealDigest: String?
}

extension IndexedRun {
  /// What the first event says.
  struct Start: Sendable {
    var runId: String?
    var caseId: String?
    var trial: Int?
    var agent: String?
    var agentVersion: String?
    var model: String?
    /// Canonical JSON.
    var models: String?
    var actorId: String?
    var tenantId: String?
    var route: String?
    var parentRunId: String?
    var parentRelation: String?
    /// How many calls of agents lead to the run, from the task of a pipeline on; 0 for one that is a part of none.
    var depth = 0
    var origin = "recorded"
    var goal: String?
    var startedAt: String?
    var tags: [String] = []

    /// The most tags of a run that are kept.
    static let tagLimit = 256

    init() {}

    /// The most bytes of settings that are kept: what a request may hold besides can be large.
    static let modelsLimitBytes = 64 << 10

    /// The data that are looked at.
    static let keys: [StaticString] = [
      "agent", "case", "goal", "model", "models", "parent", "policyContext", "recorded",
      "source", "tags",
    ]

    /// Reads each value by itself: one that is not what it should be is missing, the others count.
    init(_ event: Event) {
      runId = IndexText.name(event.runId)
      startedAt = event.time.flatMap(IndexText.instant)
      guard event.type == .runStarted else { return }
      let data = event.data
      caseId = data["case"]?["caseId"]?.stringValue.map(IndexText.name)
      trial = data["case"]?["trial"]?.intValue
      agent = data["agent"]?["name"]?.stringValue.map(IndexText.name)
      agentVersion = data["agent"]?["version"]?.stringValue.map(IndexText.name)
      model = data["model"]?["name"]?.stringValue.map(IndexText.name)
      models = data["models"].flatMap { models in
        guard models.objectValue != nil else { return nil }
        let text = CanonicalJSON.string(models, form: .plain)
        return text.utf8.count <= Self.modelsLimitBytes ? text : nil
      }
      let context = data["policyContext"]
      actorId = context?["actorId"]?.stringValue.map(IndexText.name)
      tenantId = context?["tenantId"]?.stringValue.map(IndexText.name)
      route = context?["route"]?.stringValue.map(IndexText.name)
      parentRunId = data["parent"]?["runId"]?.stringValue.map(IndexText.name)
      parentRelation = data["parent"]?["relation"]?.stringValue.map(IndexText.name)
      if ParentRun.isPart(data["parent"]) {
        depth = min(max(1, data["parent"]?["depth"]?.intValue ?? 1), 1_000)
      }
      if let format = data["source"]?["format"]?.stringValue { origin = IndexText.name(format) }
      goal = data["goal"].flatMap(IndexText.beginning)
      tags = (data["tags"]?.arrayValue ?? []).prefix(Self.tagLimit).compactMap {
        $0.stringValue.map(IndexText.name)
      }
    }
  }
}

/// Text from a log as an index keeps it: bounded, whatever the log holds.
enum IndexText {
  static let limitBytes = 512
  /// How many bytes of a name too long to keep stand before its digest.
  static let headBytes = 448

  /// A name: as it is, or cut with a piece of its digest, so that two names never become one.
  static func name(_ text: String) -> String {
    guard text.utf8.count > limitBytes else { return text }
    let digest = Digest(of: Array(text.utf8)).hex.prefix(16)
    return "\(text.prefix(utf8Bytes: headBytes))…\(digest)"
  }

  /// The beginning of a value: of its text, or of its canonical JSON; nothing of `null`.
  static func beginning(_ value: JSONValue) -> String? {
    switch value {
    case .null: nil
    case .string(let text): text.prefix(utf8Bytes: limitBytes)
    case .cut(_, let head): head.prefix(utf8Bytes: limitBytes)
    default: CanonicalJSON.prefix(of: value, limitBytes: limitBytes)
    }
  }

  /// A time of an event in one form, so that text order is time order; `nil` where it is none.
  /// (RFC 3339 §5.6, in UTC.)
  static func instant(_ text: String) -> String? {
    let bytes = Array(text.utf8.prefix(64))
    guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z") else { return nil }
    let form = Array("dddd-dd-ddTdd:dd:dd".utf8)
    for (byte, expected) in zip(bytes, form) {
      guard expected == UInt8(ascii: "d") ? isDigit(byte) : byte == expected else { return nil }
    }
    var fraction: [UInt8] = []
    if bytes.count > 20 {
      guard bytes[19] == UInt8(ascii: "."), bytes[20..<(bytes.count - 1)].allSatisfy(isDigit) else {
        return nil
      }
      fraction = Array(bytes[20..<(bytes.count - 1)].prefix(6))
    }
    fraction += Array(repeating: UInt8(ascii: "0"), count: 6 - fraction.count)
    return String(decoding: bytes[..<19], as: UTF8.self) + "."
      + String(decoding: fraction, as: UTF8.self) + "Z"
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
