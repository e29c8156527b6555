import AgentTrace

/// What programs say of the run.
struct ProgramExpectation: EndExpectation {
  var programs: [ProgramCheck]

  static let key = "exec"
  static let summary = ExpectationSummary(
    takes: "a list of programs", holds: "programs judge along")

  static var schema: JSONValue {
    ExpectationSchema.list("Programs that judge along.", ExpectationSchema.ref("program"))
  }
  static var schemaParts: JSONObject {
    [
      "program": [
        "type": "object", "additionalProperties": false, "required": ["command"],
        "properties": [
          "command": [
            "description": "The program and its arguments; a path starts from this file's folder.",
            "type": "array", "minItems": 1, "items": ["type": "string"],
            "prefixItems": [["type": "string", "minLength": 1]],
          ],
          "timeoutSeconds": [
            "description": "After so many seconds it is stopped; 10 without it.", "type": "number",
            "exclusiveMinimum": 0, "maximum": 3600,
          ],
          "maxOutputBytes": [
            "description": "More output than this is refused; 1 MiB without it.",
            "type": "integer", "minimum": 1, "maximum": 16_777_216,
          ],
        ],
      ]
    ]
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] { [] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.list(value, at: pointer) { $0.program($1, at: $2) }.map(Self.init(programs:))
  }

  var needs: TrajectoryNeeds { [.all, .outsiders] }
  var facts: Facts { .timeline }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] {
    guard let elements = value.arrayValue, elements.allSatisfy({ $0.objectValue != nil }) else {
      return AskedPart.whole(key, value)
    }
    return AskedPart.elements(key, value)
  }
  /// What a program makes of a run nobody knows.
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { false }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    programs.enumerated().map { run.program($1, "\(Self.key)[\($0)]") }
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check(
      "a program that was not started", [["command": ["./check"]]], on: Run("a"), is: .unverifiable)
    book.add("a command that is no list", mistaken: ["exec": [["command": "./check"]]])
  }
}

/// A program that judges a run.
public struct ProgramCheck: Sendable, Hashable {
  /// The program and its arguments; paths start from the case file's folder.
  public var command: [String]
  /// After so many seconds it is stopped.
  public var timeoutSeconds = 10.0
  /// More than so many bytes of output are refused.
  public var outputLimitBytes = 1 << 20
  /// The folder it is started in; `nil` where the file that names it is not known.
  public var folder: String?
}

/// What a program said of a run.
public struct ProgramAnswer: Sendable, Hashable {
  /// Its word.
  public var outcome: Outcome
  /// Why, in its words.
  public var message: String
  /// The events that show it.
  public var events: [Int]

  /// Without events, none shows it.
  public init(outcome: Outcome, message: String, events: [Int] = []) {
    self.outcome = outcome
    self.message = message
    self.events = events
  }
}

extension ExpectationReader {
  fileprivate mutating func program(_ value: JSONValue, at pointer: JSONPointer) -> ProgramCheck? {
    let keys = ["command", "timeoutSeconds", "maxOutputBytes"]
    guard
      let object = mapping(value, at: pointer, keys: keys, "a mapping with a command")
    else { return nil }
    guard let command = object["command"]?.arrayValue,
      !command.isEmpty, command.allSatisfy({ $0.stringValue?.utf8.contains(0) == false }),
      command[0].stringValue != ""
    else { return refuse(pointer, "needs `command`: a list of texts, the program first") }
    var program = ProgramCheck(command: command.compactMap(\.stringValue))
    if let value = object["timeoutSeconds"] {
      if let seconds = value.doubleValue, seconds > 0, seconds <= 3600 {
        program.timeoutSeconds = seconds
      } else {
        report(
          pointer.appending("timeoutSeconds"), "must be a number of seconds, at most 3600")
      }
    }
    if let value = object["maxOutputBytes"] {
      if let bytes = value.intValue, (1...(16 << 20)).contains(bytes) {
        program.outputLimitBytes = bytes
      } else {
        report(pointer.appending("maxOutputBytes"), "must be a whole number from 1 to 16777216")
      }
    }
    return program
  }
}

extension JudgedRun {
  fileprivate func program(_ program: ProgramCheck, _ name: String) -> ExpectationOutcome {
    let expected = CallWording.short(program.command.joined(separator: " "))
    guard let answer = aids.programs[program] else {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable,
        message: "Programs are started only with --exec.", expected: expected)
    }
    return ExpectationOutcome(
      expectation: name, outcome: answer.outcome, events: answer.events,
      message: CallWording.short(answer.message), expected: expected)
  }
}
