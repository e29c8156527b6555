import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

/// The debugger by commands.
@Suite("The debugger's commands")
struct DebuggerTests {
  private static let log = "Fixtures/runs/hidden-deletion.jsonl.gz"

  @discardableResult
  private static func say(
    _ commands: String, _ log: String = log, in folder: String? = nil, status: Int32 = 0
  ) async throws -> Command.Outcome {
    try await Binary.run(["replay", log, "-c", commands], in: folder, status: status)
  }

  @Test(
    "a command that cannot be followed is told, ends the session with 2, and nothing after it is done",
    arguments: [
      ("nexxt", "did you mean “next”?"), ("st", "step or state"), ("xyzzy", "“help” lists them"),
      ("goto 99", "the log holds events 0 to 22"), ("goto step 9", "the log holds steps 0 to 3"),
      ("goto", "goto takes"), ("goto -1", "goto takes"), ("goto step", "goto takes"),
      ("next x", "no number of times"), ("next 0", "no number of times"),
      ("step sideways", "no number of times"), ("print x", "JSON Pointer"),
      ("print", "JSON Pointer"),
      ("print /data/nothing", "nothing stands at"), ("print /dat", "print knows"),
      ("break", "takes a condition"), ("break tol x", "did you mean “break tool”?"),
      ("break tool", "name of a tool"), ("break tool x\\", "is no glob"),
      ("break verdict denied", "verdicts are allow, deny"),
      ("break event tol_result", "tool_result"),
      ("break step x", "number of a step"), ("break stop now", "takes nothing more"),
      ("break when", "a matcher of an event's data or an expectation"),
      ("break when {$regx: a}", "$regex"), ("break when {maxSteps: many}", "break when data"),
      ("break when expected {maxStep: 1}", "maxSteps"), ("break when {a: ]}", "break when:"),
      ("break when @nowhere.yaml", "nowhere.yaml"), ("delete 7", "no breakpoint “7”"),
      ("search", "takes a text"), ("diff sideways", "diff takes"),
      ("context some", "context takes"), ("why 9.9.9", "no decision of the run"),
      ("show me", "no more"),
      ("continue on", "no more"), ("export", "new file"), ("export /", "/"),
    ])
  func wrong(command: String, says: String) async throws {
    let outcome = try await Self.say("goto 9; \(command); export never.json", status: 2)
    #expect(outcome.errors.contains(says), "\(outcome)")
    #expect(outcome.output.hasSuffix("> \(command)\n"), "\(outcome)")
    #expect(!Project.has("never.json"))
  }

  @Test("commands come from -c, from a file or from standard input, and mean the same")
  func sources() async throws {
    let folder = try TemporaryFolder()
    let log = Project.path(Self.log)
    let lines = "goto step 2\nnext\nbreak tool {list,delete}_*; continue\nwhy 2.1.1\n"
    try folder.write("commands", "# a comment\n\n" + lines)
    let text = lines.split(separator: "\n").joined(separator: ";")
    let given = try await Self.say(text, log)
    let repeated = try await Binary.run(
      [
        "replay", log, "-c", "goto step 2", "-c", "next; break tool {list,delete}_*", "-c",
        "continue;why 2.1.1",
      ])
    #expect(repeated.output == given.output)
    let file = try await Binary.run(
      ["replay", log, "--commands", "commands"], in: folder.path
    ).output
    let input = try await Binary.run(["replay", log], input: Array(lines.utf8)).output
    let dash = try await Binary.run(
      ["replay", log, "--commands", "-"], input: Array(lines.utf8)
    ).output
    #expect(file.hasSuffix(given.output) && input == file && dash == file)
    #expect(given.output.contains("is event 6 /data/1/id"))
  }

  @Test("an empty line on standard input says the last command again, and quit ends it")
  func repeating() async throws {
    let typed = try await Binary.run(
      ["replay", Self.log], input: Array("next\n\n\nquit\nnext\n".utf8))
    let said = try await Self.say("next;next;next")
    #expect(typed.lines.filter { $0.hasPrefix("> ") } == ["> next", "> ", "> ", "> quit"])
    #expect(typed.output.contains("\n    3  call") && !typed.output.contains("    4  allowed"))
    #expect(said.output.contains("\n    3  call"))
  }

  @Test(
    "what print says is JSON for whoever reads it from a pipe, and the state alone has a way of its own"
  )
  func values() async throws {
    let log = "Fixtures/runs/refund-approved.jsonl.gz"
    var reader = try LogReader(path: Project.path(log))
    var state = AgentState()
    while let event = try reader.next() {
      state.apply(event)
      let seq = event.seq
      let alone = try await Binary.run(["replay", log, "--event", "\(seq)", "--json"])
      #expect(try alone.json() == state.encoded, "event \(seq)")
      guard seq % 5 == 0 else { continue }
      let printed = try await Self.say("goto \(seq); print /state; print /event", log)
      #expect(printed.lines.count == 2 && printed.lines[0] + "\n" == alone.output)
      #expect(try JSONValue(parsing: printed.lines[1])["seq"]?.intValue == seq)
      // What else is asked for is told as ever, and values stand on a line.
      let mixed = try await Self.say("goto \(seq); state; print /state", log)
      #expect(mixed.lines.last == printed.lines[0] && mixed.lines[0] == "> goto \(seq)")
    }
    let gone = try await Binary.run(["replay", log, "--event", "99", "--json"], status: 2)
    #expect(gone.errors.contains("the log holds events 0 to 18"))
  }

  @Test("export writes the event or the step to a new file, and never over another")
  func export() async throws {
    let folder = try TemporaryFolder()
    let log = Project.path(Self.log)
    try await Self.say("goto 9; export event.json; export step step.json", log, in: folder.path)
    let event = try JSONValue(parsing: try folder.read("event.json"))
    #expect(event["seq"] == 9 && event["data"]?["calls"]?.arrayValue?.count == 3)
    let step = try await Binary.run(["replay", log, "--step", "2", "--json"])
    #expect(try folder.read("step.json") == step.outputBytes)
    let again = try await Self.say("export event.json", log, in: folder.path, status: 2)
    #expect(again.errors.contains("event.json is there already"))
    #expect(try JSONValue(parsing: try folder.read("event.json")) == event)
  }

  @Test("an expectation may stand in a file, and of a case file it is what the case expects")
  func expectationFile() async throws {
    let folder = try TemporaryFolder()
    try folder.write("case.yaml", "caseId: a\ninput: x\nexpected:\n  toolsNotCalled: [delete_*]\n")
    try folder.write("plain.json", #"{"toolsNotCalled": ["delete_*"]}"#)
    for file in ["case.yaml", "plain.json"] {
      let told = try await Self.say(
        "break when @\(file); continue", Project.path(Self.log), in: folder.path)
      #expect(told.output.contains("   14  started    delete_message"), "\(told)")
    }
  }

  @Test("run --debug tells why the first event of the first failure came about")
  func debug() async throws {
    let cases = "Fixtures/failing-cases"
    let plain = try await Binary.run(
      ["run", cases, "--filter", "newsletters-without-deletions"], status: 1)
    let debugged = try await Binary.run(
      ["run", cases, "--filter", "newsletters-without-deletions", "--debug"], status: 1)
    let replayed = try await Self.say("goto 9; why")
    #expect(debugged.output == plain.output + "\n" + replayed.output, "\(debugged)")
    let passed = try await Binary.run(["run", "EvalCases/stops.yaml", "--debug"])
    #expect(!passed.output.contains("> why"))
    try await Binary.run(["run", cases, "--debug", "--json"], status: 64)
  }

  @Test("every failing case of the fixtures can be looked at where it failed")
  func everyFailure() async throws {
    let results = try await Binary.run(["run", "Fixtures/failing-cases", "--json"], status: 1)
      .json()
    for result in results["cases"]?.arrayValue ?? [] {
      let id = result["caseId"]?.stringValue ?? ""
      let debugged = try await Binary.run(
        ["run", "Fixtures/failing-cases", "--filter", id, "--debug"], status: 1)
      #expect(debugged.output.contains("\n> why\n"), "\(id)")
    }
  }

  @Test("closing the output early ends it quietly")
  func closedOutput() async throws {
    let outcome = try await shell(
      "set -o pipefail; \"$0\" replay Fixtures/runs/hundred-steps.jsonl.gz -c \"$1\" | head -n 1",
      [Array(repeating: "next", count: 400).joined(separator: ";")])
    #expect(outcome.lines.count == 1)
  }
}
