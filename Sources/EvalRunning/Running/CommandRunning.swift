public import AgentRuntime
public import AgentTrace

/// Runs an agent that is a command and records what it asks of models; passed in by whoever may start
/// programs.
///
/// - Throws: where the command could not be started, or its run not be recorded.
public typealias CommandRunner =
  @Sendable (AgentDefinition, CommandRequest) async throws -> CommandRecording

/// What a command is run for.
public struct CommandRequest: Sendable {
  /// What it is asked to do.
  public var input: String
  /// Where the log goes.
  public var files: RunFiles
  /// The case that the run is for; `nil` outside of one.
  public var caseId: String?
  /// Which trial of the case, from 1; `nil` where it is run once.
  public var trial: Int?
  /// Words to find the run by later.
  public var tags: [String] = []
  /// What ends it early.
  public var cancellation: Cancellation
  /// Who is asked for approvals in place of the agent's own person; `nil` for nobody else.
  public var person: (any Person)?
  /// Told the log's path once nothing of it is taken back any more.
  public var willRecord: @Sendable (String) -> Void = { _ in }
  /// Told each event once it is kept, from any task.
  public var observe: @Sendable (Event) -> Void = { _ in }

  /// Without more, for no case, and not to be cut short. Trial, tags and person can be set afterwards.
  public init(
    input: String, files: RunFiles, caseId: String? = nil,
    cancellation: Cancellation = Cancellation()
  ) {
    self.input = input
    self.files = files
    self.caseId = caseId
    self.cancellation = cancellation
  }
}

/// What came of a command.
public struct CommandRecording: Sendable {
  /// The log's path.
  public var log: String
  /// Whether it ended well.
  public var isSuccess: Bool
  /// The end of what it wrote to standard error; empty where that is nothing.
  public var errors: String

  /// What there is once the command has ended.
  public init(log: String, isSuccess: Bool, errors: String) {
    self.log = log
    self.isSuccess = isSuccess
    self.errors = errors
  }

  /// What a command that did not end well wrote last to standard error, in a sentence; `nil` where that is nothing.
  ///
  /// No log holds it, and often it alone says why there is nothing to judge. Lines that name a place in a
  /// stack are left out, so that the error behind them is among the last.
  var lastWords: String? {
    guard !isSuccess else { return nil }
    let lines = errors.split(whereSeparator: \.isNewline).map { $0.trimmingWhiteSpace() }
      .filter { !$0.isEmpty && !$0.hasPrefix("at ") }
    guard !lines.isEmpty else { return nil }
    return "the command did not end well; its last words on standard error: "
      + lines.suffix(4).joined(separator: " | ")
  }
}

extension Substring {
  fileprivate func trimmingWhiteSpace() -> Substring {
    var text = self[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
