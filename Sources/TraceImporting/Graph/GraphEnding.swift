import AgentTrace

/// How a run ended, by the words that interfaces have for how a reply ended. Stopping is not success: a refusal,
/// a filter, a limit, or a call that nobody ran ends a run as well.
enum FinishWord {
  /// The model ended its turn by itself.
  static let ended: Set<String> = [
    "stop", "end_turn", "endturn", "completed", "stop_sequence", "finish", "eos", "end", "success",
    "finish_reason_stop",
  ]
  static let limits: Set<String> = [
    "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded",
    "incomplete", "maxtokens", "finish_reason_max_tokens",
  ]

  /// A word without the enumeration before it that Python prints with it, as in `FinishReason.LENGTH`.
  static func withoutEnumeration(_ word: String) -> String {
    let parts = word.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].hasSuffix("Reason"), !parts[1].isEmpty else { return word }
    return String(parts[1])
  }

  /// Whether a word for how a run ended says that it did not end by itself, or has not ended.
  static func isBrokenOff(_ word: String) -> Bool {
    let word = word.lowercased()
    return brokenOff.contains(word)
      || ["error", "exceed", "exception", "limit", "max_", "timed", "timeout"]
        .contains(where: word.contains)
  }

  private static let brokenOff: Set<String> = [
    "aborted", "canceled", "cancelled", "error", "errored", "failed", "failure", "in_progress",
    "interrupted", "paused", "pending", "queued", "requires_action", "running", "waiting",
  ]

  /// How a run ends whose last reply is this; `nil` where that says nothing about it.
  static func ending(of reply: GraphReply, field: JSONPointer? = nil) -> ParsedEnding? {
    let failed = ParsedEnding(reason: .modelFailure, detail: StopDetail.error, field: field)
    guard reply.error == nil else { return failed }
    let word = reply.finish?.lowercased() ?? ""
    if let refusal = reply.refusal {
      return ParsedEnding(reason: .blocked, detail: refusal, field: field)
    }
    if reply.failure != nil { return failed }
    let byWord = ending(ofText: word, field: field)
    if byWord?.reason == .budgetExhausted { return byWord }
    if reply.isUnfinished || reply.isCommentary { return nil }
    // Where something in it may be a call that was not read, it may be no end.
    let isAnswer = reply.calls.isEmpty && reply.unread.isEmpty && reply.saysSomething
    return isAnswer ? byWord : nil
  }

  /// How a run ends whose last reply is text, by the word for how that ended; `nil` where that says nothing about it.
  static func ending(ofText word: String?, field: JSONPointer? = nil) -> ParsedEnding? {
    let word = word?.lowercased() ?? ""
    if limits.contains(word) {
      return ParsedEnding(reason: .budgetExhausted, detail: StopDetail.maxTokens, field: field)
    }
    guard word.isEmpty || ended.contains(word) else { return nil }
    return ParsedEnding(reason: .success, detail: StopDetail.finalAnswer, field: field)
  }
}

/// How a run ended, by its format's rule.
struct ParsedEnding: Hashable {
  var reason: StopReason
  var detail: String
  /// The field of the source that says so, where it is one outside the messages.
  var field: JSONPointer?

  /// Whether nothing says so but the form of the last reply.
  var isByForm: Bool {
    reason == .success && detail == StopDetail.finalAnswer && field == nil
  }

  /// Whether it waits for a person: what was said last is a question, and no answer.
  var waitsForPerson: Bool { reason == .blocked && detail == StopDetail.human }

  /// Whether it is the end that a refusal of a kind makes.
  func isRefusal(_ kind: String) -> Bool { reason == .blocked && detail == kind }
}

extension GraphReply {
  /// Whether its text has a sign that shows, or may have: one that has none is no answer, whatever stopped it.
  var saysSomething: Bool {
    guard let text = text.value?.stringValue else { return text != .absent }
    return !text.unicodeScalars.allSatisfy { $0.isHidden || $0.properties.isWhitespace }
  }

  /// What kind of refusal it is, as a stop's detail; `nil` for none.
  var refusal: String? {
    isRefusal
      ? RefusalWord.detail(ofRefusal: finish) : RefusalWord.detail(ofFinish: finish)
  }
}

extension CallGraph {
  /// How a list of messages ends by its form: in a reply of the run's own agent that ended by itself, or nobody
  /// knows how.
  var endingByForm: ParsedEnding? {
    guard let last = items.last, case .reply(let reply) = last, reply.agent == nil else {
      return nil
    }
    return FinishWord.ending(of: reply)
  }

  /// How a session ends that does not say that it is over: as a refusal where that is the last of it.
  var endingByRefusal: ParsedEnding? { endingByForm.flatMap { $0.reason == .blocked ? $0 : nil } }
}
