import AgentTrace

/// One part of a response in a chat of VS Code: a text, a tool that it was asked to run, or something to look at.
struct VSCodePart {
  let placed: ObjectJournal.Placed
  /// Its number in the response.
  let index: Int
  /// Whether a round told of it already.
  var isTold = false

  init(of placed: ObjectJournal.Placed, index: Int) {
    self.placed = placed
    self.index = index
  }

  static func all(of request: ObjectJournal.Placed) -> [VSCodePart] {
    request.elements("response").enumerated().map { VSCodePart(of: $1, index: $0) }
  }

  private var value: JSONValue { placed.value }
  private var kind: String { value["kind"]?.stringValue ?? "" }

  // MARK: Calls

  var isCall: Bool { ["toolInvocationSerialized", "toolInvocation"].contains(kind) }
  var id: String? { value["toolCallId"]?.stringValue }
  var tool: String { value["toolId"]?.stringValue ?? "" }
  /// The tool by the name that models call it by.
  var name: String { Self.names[tool] ?? tool }

  /// Whether it is the call of an id, which Copilot makes longer to tell calls of one id apart.
  func isOf(id other: String) -> Bool {
    guard let id else { return false }
    return Self.bare(id).hasSameUTF8(as: Self.bare(other))
  }

  private static func bare(_ id: String) -> String {
    var id = id[...]
    let digits = id.reversed().prefix { $0.isASCII && $0.isNumber }.count
    let mark = "__vscode-"
    if digits > 0, id.dropLast(digits).hasSuffix(mark) { id = id.dropLast(digits + mark.count) }
    return String(id)
  }

  /// A name as it is compared, whoever wrote it: `copilot_runInTerminal` is `run_in_terminal`.
  static func plain(_ name: String) -> String {
    let name = names[name] ?? name
    let prefix = "copilot_"
    return ToolWord.plain(name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name)
      .filter { $0 != "_" }
  }

  /// Whether it is the same as another, which has no id to tell that by.
  func isSame(as other: VSCodePart) -> Bool { value == other.value }

  var subAgent: String? { value["subAgentInvocationId"]?.stringValue }
  var isOfSubAgent: Bool { subAgent != nil || value["fromSubAgent"]?.boolValue == true }
  /// The agent that it begins, where it does.
  var agentName: String? { special?["agentName"]?.stringValue }

  private var special: JSONValue? { value["toolSpecificData"] }
  private var details: JSONValue? { value["resultDetails"] }

  /// What the tool was given in the end, where all of it is told: by its server's protocol, or as a person left it.
  var input: JSONValue? {
    if let raw = special?["rawInput"], special?["kind"] == "input" { return raw }
    if let edited = special?["commandLine"]?["userEdited"]?.stringValue {
      return ["command": .string(edited)]
    }
    return details?["input"]?.stringValue.flatMap(JSONText.parse)
  }

  /// What the call was given, as far as it is told.
  var told: Told {
    let command = special?["commandLine"]?["original"] ?? special?["command"]
    if special?["kind"] == "terminal", let command, command.stringValue != nil {
      // It was given more than this.
      return .cut(
        String(CanonicalJSON.string(["command": command], form: .plain).dropLast()) + ",")
    }
    return input.map(Told.there) ?? .absent
  }

  /// What it gave back, where that is told beside what a person sees of it.
  var data: Told? {
    if let output = details?["output"] { return .there(output) }
    let said = special?["kind"] == "subagent" ? special?["result"] : special?["output"]
    return said?.stringValue.map { .there(.string($0)) }
  }

  /// What stands in the place of a result that a person kept to themselves.
  static let notShared = "The tool executed but the user chose not to share the results"

  /// What a person or a rule said to the call (`ToolConfirmKind`); `nil` where that is not told, or nobody said it yet.
  private var confirmation: Int? { value["isConfirmed"]?["type"]?.intValue }
  private var isDenied: Bool { confirmation == 0 }
  var isSkipped: Bool { confirmation == 5 }
  /// Of versions before there was anything to say behind a call.
  private var isKept: Bool { value["isConfirmed"] == false }

  /// Whether it is over, however it ended.
  var saysHowItEnded: Bool {
    if isKept || isDenied || isSkipped { return true }
    let isConfirmed = confirmation != nil || value["isConfirmed"] == true
    return isConfirmed && value["isComplete"]?.boolValue == true
  }

  /// Tells a result what became of its call.
  ///
  /// A call that was denied or skipped may have run before that, where a person had to let its result through.
  func tell(_ result: inout GraphResult, hasResult: Bool) {
    if isKept { return result.refuse() }
    let isShared = result.data != .redacted
    if isDenied || isSkipped && isShared && result.status != .refused {
      (result.status, result.isEffectUnknown) = (.error, true)
      result.extra[FateWord.doubt] = "isConfirmed"
      return
    }
    let hasFailed =
      value["resultError"]?.saysError == true || details?["isError"]?.boolValue == true
    if hasFailed, result.status == .returned { result.status = .error }
  }

  /// Where it has members that nobody knows and that may be calls.
  var unread: [JSONPointer] {
    UnknownMember.places(
      in: value.objectValue ?? [:], besides: Self.known, quiet: [], at: placed.pointer())
  }

  private static let known: Set<String> = [
    "kind", "toolId", "toolCallId", "presentation", "invocationMessage", "pastTenseMessage",
    "originMessage", "isConfirmed", "isComplete", "source", "resultDetails", "resultError",
    "toolSpecificData", "subAgentInvocationId", "fromSubAgent", "generatedTitle", "icon",
    "isAttachedToThinking", "confirmationMessages",
  ]

  // MARK: Anything else

  /// What it adds to what is said; `nil` for what is no text.
  var text: String? {
    switch kind {
    case "": return value["value"]?.stringValue ?? value.stringValue
    case "markdownContent", "markdownVuln":
      return (value["content"]?["value"] ?? value["content"])?.stringValue
    case "inlineReference":
      if let name = value["name"]?.stringValue { return name }
      let place = value["inlineReference"]
      let path = (place?["path"] ?? place?["uri"]?["path"] ?? place?["location"]?["uri"]?["path"])?
        .stringValue
      return path.map { SourceFiles.lastComponent(of: $0) } ?? place?["name"]?.stringValue ?? ""
    default: return nil
    }
  }

  /// Whether it is something to look at, and no call of a tool.
  var isSilent: Bool { Self.silent.contains(kind) || value.saysNothing }

  private static let silent: Set<String> = [
    "autoModeResolution", "changesSummary", "clearToPreviousToolInvocation", "codeCitation",
    "codeblockUri", "command", "confirmation", "disabledClaudeHooks", "elicitation",
    "elicitation2", "elicitationSerialized", "extensions", "externalEdit", "hook",
    "mcpServersStarting", "move", "multiDiffData", "notebookEdit", "notebookEditGroup",
    "planReview", "prepareToolInvocation", "progressMessage", "progressTask",
    "progressTaskResult", "progressTaskSerialized", "pullRequest", "questionCarousel",
    "reference", "textEdit", "textEditGroup", "thinking", "treeData", "undoStop",
    "voiceProgress", "warning", "workspaceEdit",
  ]

  /// By which names models call the tools that Copilot adds to VS Code under other ones.
  private static let names: [String: String] = [
    "copilot_runInTerminal": "run_in_terminal",
    "copilot_getTerminalOutput": "get_terminal_output", "copilot_applyPatch": "apply_patch",
    "copilot_searchCodebase": "semantic_search",
    "copilot_searchWorkspaceSymbols": "search_workspace_symbols",
    "copilot_listCodeUsages": "list_code_usages",
    "copilot_updateUserPreferences": "update_user_preferences",
    "copilot_getVSCodeAPI": "get_vscode_api", "copilot_testFailure": "test_failure",
    "copilot_runTests1": "run_tests", "copilot_findFiles": "file_search",
    "copilot_findTextInFiles": "grep_search", "copilot_readFile": "read_file",
    "copilot_listDirectory": "list_dir", "copilot_getErrors": "get_errors",
    "copilot_getDocInfo": "get_doc_info", "copilot_getChangedFiles": "get_changed_files",
    "copilot_readProjectStructure": "read_project_structure",
    "copilot_createNewWorkspace": "create_new_workspace",
    "copilot_createNewJupyterNotebook": "create_new_jupyter_notebook",
    "copilot_insertEdit": "insert_edit_into_file", "copilot_createFile": "create_file",
    "copilot_replaceString": "replace_string_in_file",
    "copilot_multiReplaceString": "multi_replace_string_in_file",
    "copilot_editNotebook": "edit_notebook_file",
    "copilot_runNotebookCell": "run_notebook_cell",
    "copilot_readNotebookCellOutput": "read_notebook_cell_output",
    "copilot_installExtension": "install_extension", "copilot_fetchWebPage": "fetch_webpage",
    "copilot_memory": "memory", "copilot_findTestFiles": "test_search",
    "copilot_getProjectSetupInfo": "get_project_setup_info",
    "copilot_getSearchResults": "get_search_view_results", "copilot_githubRepo": "github_repo",
    "copilot_openSimpleBrowser": "open_simple_browser",
    "copilot_createDirectory": "create_directory",
    "copilot_runVscodeCommand": "run_vscode_command", "copilot_toolReplay": "tool_replay",
    "copilot_editFiles": "edit_files",
  ]
}
