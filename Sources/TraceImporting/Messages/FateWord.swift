import AgentTrace

/// What became of a call that gave nothing back, by the words that a program puts in a result's place.
///
/// A call that somebody or a rule kept from running did not run; of one that was broken off nobody knows what it did.
/// Where a program has a field for that it is read; most have none, and tell it to the model in fixed sentences.
struct FateWord: Sendable {
  /// How texts begin, and what must stand behind that, if anything.
  typealias Sentences = [(beginning: String, then: String)]

  /// They say that the call did not run.
  var kept: Sentences
  /// They say that it was broken off, or that nobody knows.
  var brokenOff: Sentences

  /// How a result that says so came about.
  static let source: JSONValue = "the words of the result"

  /// Corrects what is known of a call by what stands in the place of its result.
  func tell(_ result: inout GraphResult) {
    guard let text = result.data.value.flatMap(Self.text) else { return }
    func isOne(of sentences: Sentences) -> Bool {
      sentences.contains { beginning, then in
        text.hasPrefix(beginning) && (then.isEmpty || text.contains(then))
      }
    }
    if isOne(of: kept) {
      result.status = .refused
      result.extra["refusedBy"] = Self.source
    } else if isOne(of: brokenOff) {
      result.status = .error
      result.isEffectUnknown = true
    }
  }

  /// The text of a result, or of its first part; no more of it than a sentence.
  private static func text(_ data: JSONValue) -> String? {
    let part = data.arrayValue?.first ?? data
    let text = part.stringValue ?? (part["text"] ?? part["error"] ?? part["output"])?.stringValue
    return text?.prefix(utf8Bytes: 1024)
  }
}

extension CallGraph {
  /// Corrects what is known of calls by the sentences of agents that keep plain lists of messages.
  mutating func tellFates() {
    for index in items.indices {
      guard case .result(var result) = items[index], result.status != .refused,
        !result.isEffectUnknown
      else { continue }
      FateWord.ofLists.tell(&result)
      items[index] = .result(result)
    }
  }

  /// Takes back what words in the place of results said, where they are the tools' own: of lists that we exported.
  mutating func forgetRefusalsInWords() {
    for index in items.indices {
      guard case .result(var result) = items[index], result.extra["refusedBy"] == FateWord.source
      else { continue }
      result.status = .returned
      result.extra["refusedBy"] = nil
      items[index] = .result(result)
    }
  }
}

extension FateWord {
  /// What Roo, Cline, goose, opencode and others tell a model whose calls they keep in lists of a known interface.
  static let ofLists = FateWord(
    kept: [
      ("The user denied this operation", ""),
      ("{\"status\":\"denied\"", "The user denied this operation"),
      ("Skipping tool due to user rejecting a previous tool", ""),
      ("The user has declined to run this tool", ""),
      ("The user rejected permission to use this specific tool call", ""),
      ("The user doesn't want to proceed with this tool use", ""),
      ("The user doesn't want to take this action right now", ""),
      ("exec command rejected by user", ""), ("User did not allow tool call", ""),
    ],
    brokenOff: [("[Request interrupted by user", "")])

  static let claudeCode = FateWord(
    kept: [
      ("The user doesn't want to proceed with this tool use", ""),
      ("The user doesn't want to take this action right now", ""),
      ("Permission to use ", " denied"),
      ("Permission for this ", " denied"),
      ("Claude requested permissions to ", ""),
      ("The agent proposed a plan that was rejected by the user", ""),
      ("[Tool call skipped: ", ""),
      ("PreToolUse:", " hook error: "),
      ("Hook PreToolUse:", " denied "),
    ],
    brokenOff: [
      ("[Request interrupted by user", ""), ("[Tool call interrupted: ", ""),
      ("[Tool call did not complete: ", ""), ("[Tool call result not in this copy: ", ""),
      ("[Tool result missing", ""),
    ])

  static let codex = FateWord(
    kept: [
      ("exec command rejected by user", ""), ("patch rejected by user", ""),
      ("user rejected MCP tool call", ""), ("err: \"user rejected MCP tool call", ""),
      ("This action was rejected due to unacceptable risk", ""),
      ("exec_command failed for ", "Rejected("),
    ],
    brokenOff: [("aborted by user", ""), ("Wall time: ", "seconds\naborted by user")])

  static let geminiCli = FateWord(
    kept: [
      ("Tool execution denied by policy", ""), ("User did not allow tool call", ""),
      ("[Operation Cancelled] Reason: User did not allow tool call", ""),
    ],
    brokenOff: [("[Operation Cancelled]", ""), ("User cancelled", ""), ("User aborted", "")])
}
