public import AgentTrace

/// The spans of a run that is being made, each once it has ended: what a server of traces is sent in the meantime.
///
/// Spans are derived from events alone, so that what was sent is what `export otlp` writes of the closed log.
/// Where one turned out otherwise in the end, ``Exporter/rest(of:behind:)`` has it once more. Of what is sent no more is
/// kept than a mark for each span.
public struct SpanFeed: Sendable {
  /// Spans in one request.
  public struct Batch: Sendable {
    /// The request, `ExportTraceServiceRequest` in protocol buffers.
    public var body: [UInt8]
    fileprivate var marks: [[UInt8]: Int]
  }

  /// The spans that a server has.
  public struct Sent: Sendable {
    fileprivate var marks: [[UInt8]: Int] = [:]

    /// None.
    public init() {}

    /// Whether a server has a span as it is.
    func holds(_ span: ExportSpan) -> Bool { marks[span.id] == SpanFeed.mark(of: span) }
  }

  /// What a server has.
  public private(set) var sent = Sent()

  /// A run that is a part of this one: of an agent that it called, or of a task of it.
  public struct Child: Sendable {
    /// Its identifier.
    public var runId: String
    /// Where its spans stand.
    public var place: SpanPlace
  }

  private let version: String
  private let place: SpanPlace?
  private var fold = StoryFold(showsContexts: true)
  private var calls = PipelineCalls(tellsRuns: true)
  private var children: [Child] = []
  private var hasNews = false

  /// A run without events.
  ///
  /// - Parameters:
  ///   - version: the program's, as spans say it.
  ///   - place: where its spans stand; `nil` for a trace of its own.
  public init(version: String, at place: SpanPlace? = nil) {
    self.version = version
    self.place = place
  }

  /// Takes in the run's next event.
  public mutating func take(_ event: Event) {
    let told = calls.told(by: event)
    for one in told.before + [event] + told.behind { fold.apply(one) }
    switch event.type {
    case .modelResult, .decision, .toolResult: hasNews = true
    default: break
    }
    for one in [event] + told.behind where one.type == .toolStarted { noteChild(of: one) }
    if !told.before.isEmpty || !told.behind.isEmpty { hasNews = true }
  }

  private mutating func noteChild(of started: Event) {
    let run = started.data["child"] ?? started.data[PipelineCalls.runKey]
    guard let runId = run?["runId"]?.stringValue, let callId = started.data["callId"]?.stringValue
    else { return }
    let trace = place?.trace ?? ExportSpan.trace(of: fold.story.runId)
    children.append(
      Child(runId: runId, place: SpanPlace(below: callId, of: fold.story.runId, in: trace)))
  }

  /// The runs that are parts of this one and that were started since this was asked last.
  public mutating func takeChildren() -> [Child] {
    defer { children = [] }
    return children
  }

  /// The spans that have ended since this was asked last; `nil` where there are none.
  ///
  /// - Complexity: O(*n*) in what happened since, and in calls that go on.
  public mutating func ended() -> Batch? {
    guard hasNews else { return nil }
    hasNews = false
    var story = fold.story
    story.identity = story.runId
    let spans = SpanExport.ended(of: story, at: place)
    fold.forgetEnded()
    guard !spans.isEmpty else { return nil }
    var marks: [[UInt8]: Int] = [:]
    for span in spans { marks[span.id] = Self.mark(of: span) }
    return Batch(body: OtlpExport.message(spans, of: story, version: version), marks: marks)
  }

  /// Takes note that a server has what stands in a batch.
  public mutating func confirm(_ batch: Batch) {
    sent.marks.merge(batch.marks) { _, new in new }
  }

  private static func mark(of span: ExportSpan) -> Int { span.message.encoded.hashValue }
}

extension RunStory {
  /// The numbers of the replies whose decisions are told.
  private var decidedReplies: Set<Int> {
    var found: Set<Int> = []
    for case .turn(let turn) in items { if let seq = turn.modelSeq { found.insert(seq) } }
    return found
  }

  /// Whether nothing more will be said of an item that has a span.
  func hasEnded(_ item: Item, decided: Set<Int>) -> Bool {
    switch item {
    case .said, .turn: false
    case .result: true
    case .model(let call):
      call.result.error != nil || call.result.purpose != ModelPurpose.decide.rawValue
        || decided.contains(call.seq)
    }
  }

  /// Leaves out what spans that have ended were made of; calls that nothing came back of stay.
  mutating func forgetEnded() {
    let decided = decidedReplies
    var answered: Set<String> = []
    for case .result(let result) in items { answered.insert(result.callId) }
    items = items.filter { item in
      switch item {
      case .said: false
      case .turn(let turn): turn.calls.contains { !answered.contains($0.callId) }
      default: !hasEnded(item, decided: decided)
      }
    }
    for id in answered { (verdicts[id], started[id], attempts[id]) = (nil, nil, nil) }
    granted.subtract(answered)
    taskCalls.subtract(answered)
  }
}
