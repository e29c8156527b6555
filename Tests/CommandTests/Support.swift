import AgentTrace
import TestSupport
import TraceStorage

extension Command.Outcome {
  /// Standard output as lines of JSON.
  func jsonLines() throws -> [JSONValue] {
    try outputBytes.split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Array($0)) }
  }

  /// Standard output as one JSON value.
  func json() throws -> JSONValue { try JSONValue(parsing: outputBytes) }
}

/// The recorded runs of the project.
enum Fixture {
  static let runs = Project.files(below: "Fixtures/runs", ending: ".jsonl.gz")
  static let torn = Project.files(below: "Fixtures/torn", ending: ".open")
  static let damaged = Project.files(below: "Fixtures/damaged", ending: ".jsonl.gz")

  /// What `show --json` prints of each recorded run, in the order of ``runs``; made once.
  static var shown: [Command.Outcome] {
    get async throws { try await all.value }
  }

  private static let all = Task {
    try await runs.asyncMap { try await Binary.run(["show", $0, "--json"]) }
  }

  /// The full path of a recorded run, by its name without folder and ending.
  static func run(_ name: String) -> String { Project.path("Fixtures/runs/\(name).jsonl.gz") }

  /// The full path of an agent file, by its name without folder and ending.
  static func agent(_ name: String) -> String { Project.path("Fixtures/agents/\(name).yaml") }
}

/// The events of a log.
func readLog(_ path: String) throws -> [Event] {
  var reader = try LogReader(path: path)
  var events: [Event] = []
  while let event = try reader.next() { events.append(event) }
  return events
}

/// Runs a shell script in which `$0` is `agent-eval`.
@discardableResult
func shell(
  _ script: String, _ arguments: [String] = [], in folder: String = Project.root,
  status: Int32? = 0, timeoutSeconds: Double = 60
) async throws -> Command.Outcome {
  try await Command(
    program: "/bin/bash", arguments: ["-c", script, Binary.path] + arguments, folder: folder,
    timeoutSeconds: timeoutSeconds
  ).run(status: status)
}

/// An agent file with one scripted tool, which draws up what it is asked for.
func agentFile(
  name: String = "drafter", result: String = "{done: true}", answer: String = "Done.",
  goal: String? = nil, extra: String = ""
) -> String {
  """
  name: \(name)
  \(goal.map { "goal: \($0)" } ?? "")
  tools:
    - name: draft
      description: Draws something up.
      sideEffect: draft
      scripted: [{ok: \(result)}]
  model:
    script:
      - call: {tool: draft, input: {what: letter}}
      - answer: \(answer)
  \(extra)
  """
}

/// An agent file whose one tool is a command that says it has begun and then sleeps.
let sleeperFile = """
  name: sleeper
  tools:
    - name: nap
      sideEffect: draft
      timeoutSeconds: 60
      command: [/bin/sh, -c, "echo $$ >pid; mv pid begun; exec sleep 50"]
  model:
    script:
      - call: {tool: nap, input: {}}
      - answer: Well rested.
  """

/// Writes a log of the given events, closed or left behind, and returns its path.
@discardableResult
func writeLog(_ events: [Event], to path: String, closes: Bool = true) throws -> String {
  let writer = try LogWriter(creating: path)
  for event in events { try writer.append(event, isEffectAhead: false) }
  return closes ? try writer.close().path : path + ".open"
}

/// What no output may hold: bytes that a terminal acts on, but for the end of a line.
func controlBytes(in bytes: [UInt8]) -> [UInt8] {
  var found = bytes.filter { ($0 < 0x20 && $0 != 0x0a) || $0 == 0x7f }
  // C1 controls are two bytes in UTF-8: C2 80 to C2 9F.
  for (first, second) in zip(bytes, bytes.dropFirst()) where first == 0xc2 && second < 0xa0 {
    found += [first, second]
  }
  return found
}

extension Sequence {
  func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
    var results: [T] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
