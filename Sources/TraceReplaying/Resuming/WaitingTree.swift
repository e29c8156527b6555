import AgentRuntime
import AgentTrace
import TraceStorage

/// The runs that stand still and wait for a person, of a run and the agents that it called.
public struct WaitingTree: Sendable {
  /// One of them.
  public struct Member: Sendable {
    /// The run.
    public var run: WaitingRun
    /// What its call ids begin with in the tree: that of each call on the way to it, with a slash. Empty for the
    /// root.
    public var prefix: String
  }

  /// Those that nothing below them holds up, in the order of their calls; at least one.
  public let members: [Member]
  private let path: String

  /// Reads the log of a root, and of the children that it waits for.
  ///
  /// - Throws: as ``WaitingRun/init(path:agent:observe:)`` of the root; of a child too where it cannot be read.
  public init(path: String) throws {
    self.path = path
    members = try Self.members(of: Member(run: try WaitingRun(path: path), prefix: ""), depth: 0)
  }

  static let depthLimit = 64

  private static func members(of member: Member, depth: Int) throws -> [Member] {
    let (run, folder) = (member.run, RunTreeReader.folder(ofLog: member.run.path))
    guard let stop = run.stop, !stop.isFinal, depth < depthLimit else { return [member] }
    var found: [Member] = []
    for (call, child) in run.past.progress.openChildren {
      guard let log = RunTreeReader.log(of: child.runId, in: folder), try LogFiles.holdsEvents(log)
      else { continue }
      found += try members(
        of: Member(run: try WaitingRun(path: log), prefix: member.prefix + call.callId + "/"),
        depth: depth + 1
      ).filter { !$0.run.isOver }
    }
    return found.isEmpty ? [member] : found + (run.calls.isEmpty ? [] : [member])
  }

  /// The run in which a call waits, and the call's id there.
  ///
  /// - Parameter name: the call's id, alone or as the tree has it (`1.1.0/2.1.0`), or the name of a tool.
  /// - Throws: ``ResumeError`` where several runs have such a call.
  public func run(of name: String) throws(ResumeError) -> (run: WaitingRun, call: String) {
    for member in members where !member.prefix.isEmpty && name.hasPrefix(member.prefix) {
      return (member.run, String(name.dropFirst(member.prefix.count)))
    }
    let fitting = members.filter { member in
      member.run.calls.contains {
        $0.call.callId.hasSameUTF8(as: name) || $0.call.name.hasSameUTF8(as: name)
      }
    }
    guard fitting.count < 2 else {
      throw ResumeError(code: .severalCalls(tool: name, waiting: calls), path: path)
    }
    if let only = fitting.first { return (only.run, name) }
    guard members.count > 1 else { return (members[0].run, name) }
    throw ResumeError(code: .noSuchCall(name, waiting: calls), path: path)
  }

  /// The run that has asked a question; the first of them, in the order of calls, and the root where none has.
  public var asking: WaitingRun { (members.first { $0.run.question != nil } ?? members[0]).run }

  /// The run whose question a person answers.
  ///
  /// - Parameter call: the id of the call whose agent asks, as the tree has it (`1.1.0`); of a tree in which one run
  ///   asks, `nil` will do.
  /// - Throws: ``ResumeError`` where several runs ask and none is named, or the one that is named asks nothing.
  public func asking(call: String?) throws(ResumeError) -> WaitingRun {
    let asking = members.filter { $0.run.question != nil }
    let fitting = asking.filter { member in
      call.map { (member.prefix + "/").hasPrefix($0 + "/") } ?? true
    }
    if let only = fitting.first, fitting.count == 1 { return only.run }
    // The run says itself that it asks nothing.
    if asking.isEmpty, call == nil { return self.asking }
    let questions = asking.map { member in
      ResumeError.AskedQuestion(
        call: String(member.prefix.dropLast()), question: member.run.question ?? "")
    }
    throw ResumeError(code: .severalQuestions(of: call, questions), path: path)
  }

  /// Whether any of them waits for a person's word, on a call or to a question.
  public var waits: Bool {
    members.contains { $0.run.question != nil || !$0.run.calls.isEmpty }
  }

  /// All calls that wait for a person, with their ids as the tree has them.
  public var calls: [WaitingCall] {
    members.flatMap { member in
      member.run.calls.map { waiting in
        var waiting = waiting
        waiting.call.callId = member.prefix + waiting.call.callId
        return waiting
      }
    }
  }
}
