import AgentTrace

/// What became of a call that gave nothing back, by the words that a program puts in a result's place.
///
/// A call that somebody or a rule kept from running did not run; of one that was broken off nobody knows what it did.
/// Where a program has a field for that it is read; most have none, and tell it to the model in fixed sentences. A tool
/// may give such a sentence back itself, so that words alone say of no call that it did not run: what it did, nobody knows.
/// See Docs/decisions/0033-words-keep-no-call-from-having-run.md
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
  ///
  /// - Parameter isFramed: whether a tool's own text cannot stand there so: a field says that the program wrote it, or the
  ///   program puts words of its own before whatever this tool gives back.
  func tell(_ result: inout GraphResult, isFramed: Bool = false) {
    guard let text = result.data.value.flatMap(Self.text) else { return }
    func isOne(of sentences: Sentences) -> Bool {
      sentences.contains { beginning, then in
        text.hasPrefix(beginning) && (then.isEmpty || text.contains(then))
      }
    }
    if isOne(of: kept), isFramed {
      result.status = .refused
      result.extra["refusedBy"] = Self.source
    } else if isOne(of: kept) {
      (result.status, result.isEffectUnknown) = (.error, true)
      result.extra[Self.doubt] = Self.source
    } else if isOne(of: brokenOff) {
      (result.status, result.isEffectUnknown) = (.error, true)
    }
  }

  /// Corrects what is known of a call as ``tell(_:isFramed:)`` does, where the program frames what the tool gave back only if
  /// a field says that the call failed or was cancelled.
  func tellFailed(_ result: inout GraphResult) {
    guard result.status != .ok else { return }
    tell(&result, isFramed: result.status != .returned)
  }

  /// Under which key a result says why nobody knows whether its call ran.
  static let doubt = "mayBeRefusedBy"

  /// The text of a result, or of its first part; no more of it than a sentence.
  private static func text(_ data: JSONValue) -> String? {
    let part = data.arrayValue?.first ?? data
    let text = part.stringValue ?? (part["text"] ?? part["error"] ?? part["output"])?.stringValue
    return text?.prefix(utf8Bytes: 1024)
  }
}

extension GraphResult {
  /// Takes in a field's word that the call was kept from running.
  mutating func refuse() {
    (status, isEffectUnknown) = (.refused, false)
    extra[FateWord.doubt] = nil
  }
}

extension CallGraph {
  /// Corrects what is known of calls by the sentences of agents that keep plain lists of messages.
  mutating func tellFates() {
    for index in items.indices {
      guard case .result(var result) = items[index], result.status != .refused,
        !result.isEffectUnknown
      else { continue }
      // A session's own word that a call went well; in lists goose says so of a refused one, too.
      if result.status == .ok, format != .messages { continue }
      FateWord.ofLists.tell(&result)
      items[index] = .result(result)
    }
  }

  /// Takes back what words in the place of results said, where they are the tools' own: of lists that we exported.
  mutating func forgetRefusalsInWords() {
    for index in items.indices {
      guard case .result(var result) = items[index],
        result.extra[FateWord.doubt] == FateWord.source
      else { continue }
      (result.status, result.isEffectUnknown) = (.returned, false)
      result.extra[FateWord.doubt] = nil
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

extension ClaudeCode {
  /// The tools of Claude Code's own whose errors are its words. Not those that run programs: older versions hand on what
  /// such a one printed as it stands.
  static let framedTools: Set<String> = [
    "AskUserQuestion", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep", "LS", "MultiEdit",
    "NotebookEdit", "NotebookRead", "Read", "TodoWrite", "WebFetch", "WebSearch", "Write",
  ]
}

extension Codex {
  /// The tools of Codex' own, whose output stands behind its words: an exit code, a time, or as JSON.
  static let framedTools: Set<String> = [
    "apply_patch", "container.exec", "exec_command", "local_shell", "shell", "shell_command",
    "unified_exec", "update_plan", "view_image", "write_stdin",
  ]
}
