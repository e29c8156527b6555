import AgentRuntime
import AgentTrace

/// The keys `command` and `code` of a tool.
enum CommandFile {
  static let command = Shape<CommandDefinition>([
    "anyOf": [arguments.schema(), detailed.schema()]
  ]) { value, reader in
    switch value {
    case .object: return detailed.read(value, reader)
    case .array: return arguments.read(value, reader).map { CommandDefinition(arguments: $0) }
    default:
      return reader.refuseKind(of: value, expected: "a list of program and arguments, or a mapping")
    }
  }

  /// Of a tool, whose input never becomes a part of a command line as that of a pipeline's task does.
  static let ofTool = command.map { command, reader -> CommandDefinition? in
    let texts = command.arguments + command.environment.set.values
    if texts.contains(where: { $0.contains("${input.") || $0.contains("${input}") }) {
      reader.report(
        "“${input…}” is given to the program as it stands",
        hint: "a tool's command gets the call's input on standard input, as JSON", as: .warning)
    }
    return command
  }

  static let arguments = Shape<[String]>.list(of: argument, atLeast: 1)

  static let argument = Shape<String>.text(
    ["type": "string", "pattern": "^[^\\u0000]*$"], expected: "text without zero bytes"
  ) { !$0.utf8.contains(0) }

  private static let detailed = Shape<CommandDefinition>.record(
    CommandDefinition(arguments: []),
    [
      Field(
        "arguments", arguments, \.arguments, required: true,
        "The program and its arguments; one with a slash is relative to this file's folder."),
      Field(
        "outputLimitBytes", .count(1...(64 << 20)), \.outputLimitBytes,
        "The most bytes of standard output; 1048576 where it is left out."),
      Field(
        "outputLimit", .word, \.outputLimit,
        "What becomes of more: cut (its beginning is the result) or error; cut where it is left out."
      ),
      Field(
        "environment", environment, \.environment, "What its environment holds besides the usual."),
      Field("limits", limits(ProcessLimits()), \.limits, "What each of its processes may use."),
      Field(
        "noEffectExitCodes", .list(of: .count(1...255)), \.noEffectExitCodes,
        "The exit codes with which it says that it has done nothing; behind any other but 0 nobody knows."
      ),
    ])

  // MARK: Code

  private struct CodeDraft: Sendable {
    var language: String?
    var interpreter: [String]?
    var definition = CodeDefinition(interpreter: [])
  }

  /// Interpreters by the names of their languages, and what a file of theirs is called.
  private static let languages: [(name: String, interpreter: [String], fileName: String)] = [
    ("python", ["python3", "-I"], "program.py"), ("node", ["node"], "program.js"),
    ("sh", ["/bin/sh"], "program.sh"),
  ]

  static let code = Shape<CodeDraft>.record(
    CodeDraft(),
    [
      Field(
        "language", .word(languages.map(\.name)), \.language,
        "What the programs are written in: python, node or sh."),
      Field(
        "interpreter", arguments, \.interpreter,
        "The interpreter and its arguments, in place of a language; the path of the program follows."
      ),
      Field(
        "network", .word, \.definition.network,
        "off (as far as the system allows), required-off (or nothing runs) or on; off where it is left out."
      ),
      Field(
        "isolation", .word, \.definition.isolation,
        "Whether they have a root, a home and processes of their own: required (or nothing runs), best (as far as the system allows) or none; required where it is left out."
      ),
      Field(
        "visible", .list(of: CommandFile.argument), \.definition.visible,
        "What they see of the system besides what every program needs, read-only: files or folders."
      ),
      Field(
        "quotaBytes", .count(4_096...(64 << 30)), \.definition.quotaBytes,
        "The most bytes that all they write may take; 134217728 where it is left out."),
      Field(
        "outputLimitBytes", .count(1...(1 << 20)), \.definition.outputLimitBytes,
        "The most bytes of each output; 65536 where it is left out."),
      Field(
        "files", .list(of: fileName), \.definition.files,
        "Files that a program may leave in its folder, for the result."),
      Field(
        "environment", environment, \.definition.environment,
        "What its environment holds besides the usual."),
      Field(
        "limits", limits(CodeDefinition(interpreter: []).limits), \.definition.limits,
        "What each of its processes may use; a gibibyte of memory, 60 seconds of processor time, 256 open files and 64 MiB for a file where it is left out."
      ),
      Field(
        "maxProcesses", .count(1...10_000), \.definition.maxProcesses,
        "How many processes it may have at a time; 32 where it is left out."),
    ],
    constraints: ["oneOf": [["required": ["language"]], ["required": ["interpreter"]]]]
  ).map { draft, reader -> CodeDefinition? in
    var definition = draft.definition
    switch (draft.language, draft.interpreter) {
    case (let name?, nil):
      guard let language = languages.first(where: { $0.name.hasSameUTF8(as: name) }) else {
        return nil
      }
      definition.interpreter = language.interpreter
      definition.fileName = language.fileName
    case (nil, let interpreter?): definition.interpreter = interpreter
    default:
      return reader.lacks("needs either “language” or “interpreter”")
    }
    return definition
  }

  /// A name within a folder, so that no link to elsewhere is followed on the way to it.
  private static let fileName = Shape<String>.text(
    ["type": "string", "pattern": "^[^/\\u0000]+$", "not": ["enum": [".", ".."]]],
    expected: "the name of a file, without a slash"
  ) { text in
    !text.isEmpty && text != "." && text != ".."
      && !text.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
  }

  // MARK: Surroundings

  static let environment = Shape<CommandEnvironment>.record(
    CommandEnvironment(),
    [
      Field(
        "pass", .list(of: variable), \.pass,
        "Names of variables that are passed on; neither this file nor a log holds their values."),
      Field("set", variables, \.set, "Variables with their values."),
    ])

  private static let variable = Shape<String>.text(
    ["type": "string", "pattern": .string(namePattern)],
    expected: "the name of a variable: letters, digits and _"
  ) { isVariable($0) }

  static let variables = Shape<[String: String]>([
    "type": "object", "propertyNames": ["pattern": .string(namePattern)],
    "additionalProperties": argument.schema(),
  ]) { value, reader in
    guard case .object(let object) = value else {
      return reader.refuseKind(of: value, expected: "a mapping")
    }
    var variables: [String: String] = [:]
    for member in object {
      reader.within(.key(member.key)) {
        if !isVariable(member.key) {
          reader.report("should be named by letters, digits and _ alone")
        } else if let text = argument.read(member.value, reader) {
          variables[member.key] = text
        }
      }
    }
    return variables
  }

  private static let namePattern = "^[A-Za-z_][A-Za-z0-9_]*$"

  static func isVariable(_ name: String) -> Bool {
    guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return name.utf8.allSatisfy(isWord)
  }

  /// Whether a byte is a letter, a digit or “_”.
  static func isWord(_ byte: UInt8) -> Bool {
    (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x5f
  }

  /// - Parameter start: what holds where a key is left out.
  static func limits(_ start: ProcessLimits) -> Shape<ProcessLimits> {
    .record(
      start,
      [
        Field(
          "memoryBytes", .count((1 << 20)...(1 << 50)), \.memoryBytes,
          "Bytes of address space of each process."),
        Field(
          "cpuSeconds", .count(1...1_000_000), \.cpuSeconds,
          "Seconds of processor time of each process."),
        Field("openFiles", .count(8...1_000_000), \.openFiles, "Open files of each process."),
        Field(
          "fileBytes", .count(0...(1 << 50)), \.fileBytes, "Bytes of a file that it writes."),
      ])
  }
}
