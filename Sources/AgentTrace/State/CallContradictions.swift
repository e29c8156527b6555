/// Finds what an event says of its call that does not fit what was said of that call before.
///
/// A runtime of ours writes no such thing: a call begins once as each of its attempts, and never after a result
/// other than an error.
struct CallContradictions: Sendable, Hashable {
  /// What does not fit.
  enum Fault: Sendable, Hashable {
    /// The event names another tool than the call.
    case namesAnotherTool
    /// The call begins though it has ended, or once more as an attempt that has begun.
    case beginsAgain
    /// The call has a result, and has not begun again since.
    case endsAgain
  }

  private struct Start: Sendable, Hashable {
    var attempt, seq: Int
  }

  /// The last start of each call, by its place, where that is not its first attempt alone: of few calls.
  private var starts: [Int: Start] = [:]

  /// What does not fit in the word of an event; `nil` where nothing is wrong.
  ///
  /// - Parameters:
  ///   - note: the event's word, not yet taken in by its call.
  ///   - call: the last call of its id.
  ///   - index: where that call stands among the others.
  func fault(in note: CallNote, of call: CallOutline, at index: Int) -> Fault? {
    if let tool = note.tool, !tool.hasSameUTF8(as: call.tool), !tool.isEmpty, !call.tool.isEmpty {
      return .namesAnotherTool
    }
    switch note.type {
    case .toolStarted:
      switch call.status {
      case nil: return nil
      // A call that failed may be tried again, and so may one of which a person said that it did not happen.
      case .error?: return nil
      case .unknown?:
        return note.attempt ?? 1 <= starts[index]?.attempt ?? 1 ? .beginsAgain : nil
      case .ok?, .refused?, .returned?: return .beginsAgain
      }
    case .toolResult:
      // What became of a call of unknown effect may be told later.
      guard let seq = call.resultSeq, call.status != .unknown,
        starts[index].map({ $0.seq < seq }) ?? true
      else { return nil }
      return .endsAgain
    default: return nil
    }
  }

  /// Takes in a word that its call is about to take in.
  mutating func take(_ note: CallNote, of call: CallOutline, at index: Int) {
    guard note.type == .toolStarted else { return }
    let attempt = note.attempt ?? 1
    guard call.startedSeq != nil || attempt != 1 else { return }
    starts[index] = Start(attempt: attempt, seq: note.seq)
  }
}
