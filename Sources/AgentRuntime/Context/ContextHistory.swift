public import AgentTrace

/// What the making of contexts needs of earlier events besides the state: the last summary, and which
/// tools have succeeded. A bounded fold over a run's events.
public struct ContextHistory: Sendable, Hashable {
  /// A shorter form of what the prompt has no room for.
  public struct Summary: Sendable, Hashable {
    /// The number of the `model_result` that holds it.
    public var seq: Int
    /// What the model wrote.
    public var text: String
    /// The id of the last observation that it tells of.
    public var through: String

    /// What packets call it.
    var ref: String { "summary:\(seq)" }
  }

  /// What the events before the first step say that instructions may name.
  public struct Start: Sendable, Hashable {
    /// What the run was started with.
    var input: JSONValue = .null
    /// When it was started, in UTC; `nil` where the log does not say.
    var time: String?
    /// The notes that were read then, by scope and key, each with the number of its event.
    var notes: [String: Note] = [:]

    /// A note, and the event that holds it.
    struct Note: Sendable, Hashable {
      var value: JSONValue?
      var seq: Int
    }
  }

  /// How many tools are kept by name.
  static let toolLimit = 10_000

  /// The last one; `nil` before the first.
  public private(set) var summary: Summary?
  /// The tools of which a call has succeeded, in the order of their first successes.
  public private(set) var succeeded: [String] = []
  /// What instructions may name.
  private(set) var start = Start()
  /// The tools that sources have offered.
  public private(set) var listed = ListedTools()
  /// Tries of a summary for the packet that comes next.
  private(set) var summaryAttempts = 0
  /// Whether one of them gave a summary.
  private(set) var isSummarized = false
  /// Tries without a summary since the last one that gave one.
  private(set) var failedSummaries = 0
  /// What the last of them says about another one for the same packet.
  private(set) var summaryRetry = ModelAnswer.Retry.atOnce
  private var names: Set<[UInt8]> = []
  private var plans = ThoughtHistory()
  private var reflections = ThoughtHistory()
  /// How many calls of the last decision have a result.
  private(set) var resultsOfDecision = 0
  /// How many of these are not `ok`.
  private(set) var failuresOfDecision = 0

  /// What the run's plans, or its looks back, came to.
  func thoughts(for purpose: ModelPurpose) -> ThoughtHistory {
    purpose == .plan ? plans : reflections
  }

  /// Nothing has happened yet.
  public init() {}

  /// Takes in the next event of the run, in log order.
  public mutating func take(_ event: Event) {
    switch event.type {
    case .runStarted:
      start.input = event.data["input"] ?? event.data["goal"] ?? .null
      start.time = event.time
      listed.take(event)
    case .memoryRead where event.step == 0:
      guard let note = try? MemoryNote(decoding: event.data),
        start.notes.count < MemoryLimits.notes * 3
      else { return }
      start.notes["\(note.scope)/\(note.key)"] = Start.Note(value: note.value, seq: event.seq)
    case .runResumed, .toolsListed: listed.take(event)
    case .contextBuilt:
      summaryAttempts = 0
      summaryRetry = .atOnce
      isSummarized = false
      plans.takePacket()
      reflections.takePacket()
    case .modelResult:
      switch event.data["purpose"]?.stringValue.flatMap(ModelPurpose.init) {
      case .summarize?: takeSummary(event)
      case .plan?: plans.take(event)
      case .reflect?: reflections.take(event)
      case .decide?, .human?, .judge?, nil: break
      }
    case .decision: (resultsOfDecision, failuresOfDecision) = (0, 0)
    case .toolResult:
      if event.data["executedBy"] == nil {
        resultsOfDecision += 1
        if event.data["status"] != "ok" { failuresOfDecision += 1 }
      }
      guard event.data["status"] == "ok", let tool = event.data["tool"]?.stringValue,
        names.count < Self.toolLimit, names.insert(Array(tool.utf8)).inserted
      else { return }
      succeeded.append(tool)
    default: break
    }
  }

  private mutating func takeSummary(_ event: Event) {
    summaryAttempts += 1
    guard let text = event.data["reply"]?["text"]?.stringValue, text.isSaid,
      let through = event.data["through"]?.stringValue
    else {
      failedSummaries += 1
      let result = try? ModelResult(decoding: event.data)
      summaryRetry = result.map(ModelAnswer.Retry.init(of:)) ?? .atOnce
      return
    }
    summary = Summary(seq: event.seq, text: text, through: through)
    isSummarized = true
    failedSummaries = 0
  }
}
