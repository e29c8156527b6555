public import AgentRuntime
public import AgentTrace
public import TraceJudging

/// A run that is wanted: what goes in, and what must be seen to have happened.
public struct EvalCase: Sendable {
  /// Unique among all cases that are loaded together.
  public var caseId: String
  /// What the agent is asked to do; may be empty where there is a recording.
  public var input: String
  /// The path of the recorded run, seen from where this process works.
  public var recording: String?
  /// What the recorded run is called where that is not its path: the file that it was imported from.
  public var recordingName: String?
  /// Which of many runs it is judged on; `nil` for all.
  public var filter: RunFilter?
  /// The id of the case that it is made of, which is put on many runs; `nil` for one that stands in a file so.
  public var rule: String?
  /// Whether it only tells of a run that no case is for, of those that were put on it: nothing is judged, and nothing
  /// is accepted.
  public var isOfNoRule = false
  /// Why it cannot be judged, which is told in place of an outcome; `nil` where it can.
  public var fault: String?
  /// The path of the agent file, seen from where this process works.
  public var agent: String?
  /// The agent that stands in the case itself, in place of a file: a command.
  public var writtenAgent: WrittenAgent?
  /// The path of the pipeline file that is run in place of an agent, seen from where this process works.
  public var pipeline: String?
  /// What a pipeline is given, where that is no text.
  public var pipelineInput: JSONValue?
  /// The file of what is run: an agent's or a pipeline's; `nil` where none stands in a file.
  public var runFile: String? { agent ?? pipeline }
  /// Whether there is an agent, or a pipeline, to run.
  public var hasAgent: Bool { runFile != nil || writtenAgent != nil }
  /// A person written down, in place of the agent file's own.
  public var human: ScriptedPerson?
  /// What the file says of that person; `nil` where it says nothing.
  var humanSource: JSONValue?
  /// What else it says of the run that is made for it.
  public var conditions = CaseConditions()
  /// Whether what has changed since it was accepted counts as worse.
  public var isStrict = false
  /// The folder in which judgements of models are kept, seen from where this process works; `nil` for
  /// the usual one.
  public var judgements: String?
  /// How often it is run live, and when it passes then; `nil` for once.
  public var plan: TrialPlan?
  /// Changes to its run that it lets pass on purpose; see `RunMutants`.
  public var tolerances: [ToleratedChange] = []
  /// What it shares with other cases: a scenario, a document; see `CaseResult.cluster`.
  public var cluster: String?
  /// Words to choose cases by.
  public var tags: [String]
  /// Why it is left out; `nil` for a case that is run.
  public var skip: CaseSkip?
  /// What must be seen to have happened.
  public var expected: Expectations
  /// The file that it stands in, as the caller named it, and where it begins there.
  public var path: String
  /// Where in ``path`` it begins.
  public var position: TextPosition

  /// A case may name neither agent nor recording: nothing need be there to be judged.
  public init(
    caseId: String, input: String = "", recording: String? = nil, agent: String? = nil,
    human: ScriptedPerson? = nil, tags: [String] = [], skip: CaseSkip? = nil,
    expected: Expectations,
    path: String = "", position: TextPosition = TextPosition(line: 1, column: 1)
  ) {
    self.caseId = caseId
    self.input = input
    self.recording = recording
    self.agent = agent
    self.human = human
    self.tags = tags
    self.skip = skip
    self.expected = expected
    self.path = path
    self.position = position
  }
}

extension EvalCase {
  /// What of the case goes into the making of its run: its input, its person, and what it says of the agent.
  public var runSource: JSONValue {
    [
      "input": .string(input), "pipelineInput": pipelineInput ?? .null,
      "human": humanSource ?? .null,
      "conditions": .object(conditions.source),
      "policy": conditions.policy.map { .object($0.source) } ?? .null,
    ]
  }

  /// Whether a text may name a case: 1 to 200 characters, none of them a control character.
  public static func isUsable(caseId: String) -> Bool {
    !caseId.isEmpty && (caseId.utf8.count <= 200 || caseId.unicodeScalars.count <= 200)
      && !caseId.utf8.contains { $0 < 0x20 || $0 == 0x7f }
  }
}
