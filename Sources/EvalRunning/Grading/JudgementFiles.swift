import AgentTrace
import FilePaths
import Glibc
import TraceJudging
import TraceStorage

/// Where judgements of models are kept: `FOLDER/<digest>-<vote>.jsonl.gz`, the digest that of what was
/// asked, shown and of whom.
///
/// A judgement that came to nothing (the model was out of reach, or never replied as asked) stays where
/// it is; the next one of the same vote is `<digest>-<vote>-2.jsonl.gz`, and so on.
public struct JudgementFiles: Sendable {
  /// The folder of judgements unless a case or the caller says else.
  public static let defaultFolder = ".agent-eval/judgements"
  /// How often one vote is asked for, over all runs of the program.
  static let attemptLimit = 100

  let folder: String

  /// What is kept of one vote.
  enum Kept {
    /// The vote.
    case vote(JudgeVote)
    /// Judgements that came to nothing, and where the next one goes; `why` of the last.
    case nothing(next: String, why: String?)
  }

  /// Looks for a vote.
  ///
  /// - Throws: ``CaseError`` where a log is damaged, or is no judgement of this.
  func find(_ digest: Digest, vote: Int, names: [String]) throws -> Kept {
    var why: String?
    for attempt in 1...Self.attemptLimit {
      let path = path(digest, vote: vote, attempt: attempt)
      guard linkStatus(path) != nil else {
        guard linkStatus(path + LogFormat.openSuffix) != nil else {
          return .nothing(next: path, why: why)
        }
        why = "\(path): the judgement broke off, or is being made"
        continue
      }
      switch try KeptJudgement(path, digest, vote: vote, names: names).result {
      case .success(let vote): return .vote(vote)
      case .failure(let reason): why = "\(path): \(reason.description)"
      }
    }
    throw CaseError(
      reason: "judge: \(Self.attemptLimit) judgements came to nothing; "
        + "the last is \(path(digest, vote: vote, attempt: Self.attemptLimit))")
  }

  /// Digests and numbers alone make the name, so that nothing leaves the folder.
  private func path(_ digest: Digest, vote: Int, attempt: Int) -> String {
    let name = attempt == 1 ? "\(vote)" : "\(vote)-\(attempt)"
    return "\(folder)/\(digest.hex.prefix(32))-\(name)\(LogFormat.suffix)"
  }
}

/// A judgement that is kept, read from its log.
private struct KeptJudgement {
  struct Unusable: Error { var description: String }

  /// The vote, or why there is none.
  var result: Result<JudgeVote, Unusable>

  init(_ path: String, _ digest: Digest, vote: Int, names: [String]) throws {
    var reader: LogReader
    var started: RunStarted?
    var answer: (text: String, seq: Int)?
    var stop: Stop?
    var reason: String?
    do {
      reader = try LogReader(path: path)
      while let event = try reader.next() {
        switch event.type {
        case .runStarted: started = try RunStarted(decoding: event.data)
        case .modelResult: reason = event.data["error"]?.stringValue ?? reason
        case .decision:
          switch try DecisionPayload(decoding: event.data).decision {
          case .answer(let text, _): answer = (text, event.seq)
          case .invalid(let fault, _): reason = fault
          default: break
          }
        case .stop: stop = try Stop(decoding: event.data)
        default: break
        }
      }
    } catch {
      throw CaseError(reason: "judge: \(error)")
    }
    guard let started, started.parent?.relation.hasSameUTF8(as: JudgeAgent.relation) == true,
      let input = JudgementInput(started.input), input.vote == vote,
      input.asked.hasSameUTF8(as: digest.hex)
    else {
      // A file that stands in the wrong place must not decide anything.
      throw CaseError(
        reason: "judge: \(path) is no judgement of what this case asks; take it away")
    }
    guard let answer, stop?.reason == .success,
      let reply = try? JudgeReply(parsing: answer.text, names: names)
    else {
      let ending = stop.map { "stopped as \($0.reason.rawValue)" } ?? "broke off"
      result = .failure(
        Unusable(
          description: "the judgement \(ending)" + (reason.map { " (\($0))" } ?? "")))
      return
    }
    result = .success(
      JudgeVote(reply: reply, source: JudgementSource(log: reader.path, seq: answer.seq)))
  }
}
