import AgentTrace
import Testing

@testable import TraceJudging

@Suite("The text of accepted cases")
struct AcceptedTextTests {
  /// Every fact that a baseline of the second version can hold.
  private static let whole = """
    agent-eval/accepted/2
    case "a case"
    skip "not now: é" until 2026-12-31
    input "go\\nthere"
    agent "agents/clerk.yaml"
    agentFile "0123456789abcdef0123456789abcdef"
    human {"approvals":[]}
    recording sha256:0123456789abcdef0123456789abcdef 20000 bytes "../runs/"

    expect stopReason "success"

    run fail
      model "openai/large-2"
      policy ["0123456789abcdef","fedcba9876543210"]
      limits {"maxSteps":8}
      policyContext {}
      goal "go there twice"
      call pay
        by helper
        input /id 1
        verdict approval_required
        approval denied bo
        verdict approval_required
        approval granted "ana b" calls 3
        approval granted ana input
        approval granted ana
        verdict allow
        attempts 2
        status ok
        cited
      stop success final_answer
      incomplete
      invalid 2
      answer "done"
      cites "memory:a b"
      cites 2.1.0
      check stopReason fail
      steps 3

    run pass
      answer none
      steps 0

    """

  /// Every fact that a baseline of the first version can hold.
  private static let sample = """
    agent-eval/accepted/1
    case "a case"
    skip "not now: é" until 2026-12-31

    expect stopReason "success"
    expect toolsCalled[0] {"input":{"id":1},"tool":"look"}
    expect warning maxSteps 3
    expect in base budget.cost 0.5
    expect warning in "my set" "state /a b" sha256:0123456789abcdef0123456789abcdef 20000 bytes "{\\"a\\":"

    run fail
      call look
        by user
        input /id 1
        input "/a b" "x\\u001b\\u202e"
        verdict approval_required
        status ok
      also "look at"
        invalid
        input "" []
        verdict deny
        status refused
      stop budget_exhausted max_steps
      incomplete
      check stopReason fail
      check toolsCalled[0] not_exercised
      steps 3
      tokens 9223372036854775807
      cost 0.25

    run pass
      call pay
        asked
        verdict allow
      steps 0

    """

  private static func fault(_ text: String) -> AcceptedTextError? {
    do throws(AcceptedTextError) {
      _ = try AcceptedText.parse(Array(text.utf8))
      return nil
    } catch { return error }
  }

  /// The sample with a line of it replaced, and what is wrong with it then.
  private static func fault(_ line: String, _ replacement: String) -> AcceptedTextError? {
    let altered = sample.replacing(line, with: replacement)
    #expect(altered != sample)
    return fault(altered)
  }

  // MARK: Damage

  @Test("wherever a text is cut, that is found")
  func cuts() {
    for text in [Self.sample, Self.whole] {
      let bytes = Array(text.utf8)
      for end in bytes.indices {
        let cut = Array(bytes[..<end])
        // Runs are facts of their own: without the last one, or its last facts, a text is whole.
        guard let accepted = try? AcceptedText.parse(cut) else { continue }
        #expect(
          AcceptedText.lines(of: accepted).joined(separator: "\n") + "\n"
            == String(decoding: cut, as: UTF8.self))
        #expect(cut.last == UInt8(ascii: "\n"))
      }
    }
  }

  @Test(
    "whatever byte is changed, the text is refused or says what it says in the one form",
    arguments: [sample, whole])
  func flips(text: String) {
    let bytes = Array(text.utf8)
    var refused = 0
    for index in bytes.indices {
      for bit in 0..<8 {
        var flipped = bytes
        flipped[index] ^= 1 << UInt8(bit)
        do throws(AcceptedTextError) {
          let accepted = try AcceptedText.parse(flipped)
          #expect(
            Array((AcceptedText.lines(of: accepted).joined(separator: "\n") + "\n").utf8) == flipped
          )
        } catch {
          refused += 1
          #expect((1...45).contains(error.line) && !error.message.isEmpty)
        }
      }
    }
    #expect(refused > bytes.count * 4)
  }

  @Test(
    "what is wrong is told with its line",
    arguments: [
      ("agent-eval/accepted/1", "agent-eval/accepted/3", 1, "format version 3"),
      ("agent-eval/accepted/1", "<html>", 1, "no accepted case"),
      ("case \"a case\"\n", "", 2, "the second line names the case"),
      ("case \"a case\"", "case a case", 2, "“case” is too much"),
      ("case \"a case\"", "case \"a\\q\"", 2, "the case's name is missing or malformed"),
      ("run fail", "run perhaps", 11, "the run's outcome"),
      ("verdict deny", "verdict maybe", 21, "the verdict"),
      ("status refused", "status fine", 22, "the status"),
      ("steps 3", "steps -3", 27, "the number"),
      ("steps 3", "steps 03", 27, "not in the form"),
      ("steps 3", "steps 99999999999999999999", 27, "the number"),
      ("cost 0.25", "cost 0.250", 29, "not in the form"),
      ("cost 0.25", "cost 1e999", 29, "the cost"),
      ("cost 0.25", "cost free", 29, "the cost"),
      ("input /id 1", "input /id {1}", 14, "no JSON"),
      ("input /id 1", "input /id [1, 2]", 14, "canonical"),
      ("sha256:0123", "sha256:012x", 9, "a malformed digest"),
      ("  stop budget", "  halt budget", 23, "“halt” is nothing known here"),
      ("    by user", "   by user", 13, "no fact"),
      ("    by user", "\t\tby user", 13, "no fact"),
      ("    by user", "    by user ", 13, "not in the form"),
      ("  call look\n", "", 12, "a fact of no call"),
      ("run fail\n", "", 11, "a fact of no run"),
      ("  incomplete", "<<<<<<< HEAD", 24, "a conflict that Git left behind"),
      ("  incomplete", "  incomplete\r", 24, "carriage return"),
      ("  incomplete", "\n  incomplete", 24, "not in the form"),
      ("expect stopReason \"success\"", "expect stopReason success", 5, "no JSON"),
    ])
  func mistakes(line: String, replacement: String, number: Int, message: String) throws {
    let fault = try #require(Self.fault(line, replacement))
    #expect(fault.line == number, "\(fault)")
    #expect(fault.message.contains(message), "\(fault)")
  }

  @Test(
    "what is wrong with a text of the second version is told with its line",
    arguments: [
      ("accepted/2", "accepted/1", 4, "“input” is nothing known here"),
      ("input \"go\\nthere\"", "input go", 4, "no JSON"),
      (
        "agentFile \"0123456789abcdef0123456789abcdef\"", "agent \"again\"", 6, "“agent” is nothing"
      ),
      ("agent \"agents/clerk.yaml\"", "human {}", 7, "“human” is nothing"),
      ("approval denied bo", "approval perhaps bo", 22, "“granted” or “denied”"),
      ("approval denied bo", "approval denied", 22, "the person"),
      ("ana input", "ana once", 25, "“input”, or “calls”"),
      ("calls 3", "calls 1", 24, "not in the form"), ("calls 3", "calls x", 24, "the number"),
      ("attempts 2", "attempts 1", 28, "not in the form"),
      ("invalid 2", "invalid 0", 33, "not in the form"),
      ("answer none", "answer no", 41, "no JSON"),
      ("    cited", "    asked", 30, "“asked” is nothing known here"),
      ("  limits {\"maxSteps\":8}", "  limits {}\n  limits {}", 16, "“limits” is nothing"),
    ])
  func wholeMistakes(line: String, replacement: String, number: Int, message: String) throws {
    let altered = Self.whole.replacing(line, with: replacement)
    #expect(altered != Self.whole)
    let fault = try #require(Self.fault(altered))
    #expect(fault.line == number, "\(fault)")
    #expect(fault.message.contains(message), "\(fault)")
  }

  @Test("a text of the second version is read, and written again to the byte")
  func soundWhole() throws {
    let accepted = try AcceptedText.parse(Array(Self.whole.utf8))
    #expect(try AcceptedText.bytes(of: accepted) == Array(Self.whole.utf8))
    #expect(accepted.format == 2 && accepted.setting[.agent] == "\"agents/clerk.yaml\"")
    let run = accepted.runs[0]
    let call = run.decisions[0][0]
    #expect(call.verdicts == ["approval_required", "approval_required", "allow"] && call.wasAsked)
    #expect(call.grants.map(\.calls) == [1, 3, nil, 1] && call.attempts == 2 && call.isCited)
    #expect(run.answer == .given("\"done\"") && accepted.runs[1].answer == .none)
    #expect(run.invalidDecisions == 2 && run.cites == ["memory:a b", "2.1.0"])
  }

  @Test("bytes that are no text are refused")
  func foreign() {
    for bytes in [[], [0x0a], [0xff, 0xfe], [UInt8](repeating: 0, count: 100)] {
      #expect(throws: AcceptedTextError.self) { try AcceptedText.parse(bytes) }
    }
    let text = Array(Self.sample.utf8)
    #expect(throws: AcceptedTextError.self) {
      try AcceptedText.parse(text.map { $0 == UInt8(ascii: "k") ? 0xff : $0 })
    }
  }

  @Test("what is too large is refused before it is looked at")
  func limits() throws {
    let head = "agent-eval/accepted/1\ncase a\n"
    let long = head + "expect answer \"" + String(repeating: "a", count: 70_000) + "\"\n"
    #expect(Self.fault(long)?.message.contains("64 KiB") == true)
    let runs = head + String(repeating: "\nrun pass\n  steps 0\n", count: 101)
    #expect(Self.fault(runs)?.message.contains("100 runs") == true)
    let parts =
      head + "\nrun pass\n  call a\n"
      + (0..<65).map { "    input /\($0) 1\n" }.joined() + "  steps 1\n"
    #expect(Self.fault(parts)?.message.contains("64 parts") == true)
    let deep = head + "expect answer " + String(repeating: "[", count: 10_000) + "\n"
    #expect(Self.fault(deep)?.message.contains("no JSON") == true)
    #expect(Self.fault(String(repeating: "\n", count: 5 << 20))?.message.contains("4 MiB") == true)
  }

  @Test("what goes beyond the limits is not written")
  func tooLarge() {
    var accepted = AcceptedCase(caseId: "a")
    accepted.runs = Array(repeating: AcceptedRun(outcome: .pass), count: 101)
    #expect(throws: AcceptedText.TooLarge.self) { try AcceptedText.bytes(of: accepted) }
    var run = AcceptedRun(outcome: .pass)
    run.decisions = Array(repeating: [AcceptedCall(tool: "a tool of some length")], count: 200_000)
    accepted.runs = [run]
    #expect(throws: AcceptedText.TooLarge.self) { try AcceptedText.bytes(of: accepted) }
  }

  // MARK: The text

  @Test("the sample is read, and written again to the byte")
  func sound() throws {
    let accepted = try AcceptedText.parse(Array(Self.sample.utf8))
    #expect(try AcceptedText.bytes(of: accepted) == Array(Self.sample.utf8))
    #expect(accepted.caseId == "a case" && accepted.outcome == .fail)
    #expect(accepted.skip == .init(reason: "not now: é", until: "2026-12-31"))
    #expect(accepted.asked.map(\.fullName).last == "my set.state /a b")
    #expect(accepted.asked.map(\.severity) == [.error, .error, .warning, .error, .warning])
    let run = accepted.runs[0]
    #expect(run.decisions.map(\.count) == [2] && run.decisions[0][1].isInvalid)
    #expect(
      run.decisions[0][0].caller == "user" && run.decisions[0][0].verdict == "approval_required")
    #expect(run.stop == .init(reason: "budget_exhausted", detail: "max_steps") && run.isIncomplete)
    #expect(accepted.runs[1].decisions.first?.first?.wasAsked == true)
    #expect(run.tokens == .max && run.cost == 0.25 && accepted.runs[1].tokens == nil)
  }

  private static func run(_ input: JSONValue, tool: String = "look") -> AcceptedRun {
    AcceptedRun(
      of: RecordedRun.whole([[.init(tool, input)]]), RunNotes(), Judgement(outcomes: []))
  }

  @Test(
    "an input stands leaf by leaf, whatever it holds",
    arguments: [
      ([:], []), (["a": 1, "b": ["c": [true, .null]]], ["/a 1", "/b/c/0 true", "/b/c/1 null"]),
      (["a": 1.0, "b": 1e3, "c": 1.5], ["/a 1", "/b 1000", "/c 1.5"]),
      (["a": [], "b": [:]], ["/a []", "/b {}"]), ("text", ["\"\" \"text\""]),
      (["a b": 1, "a/b": 2, "": 3], ["/ 3", "\"/a b\" 1", "/a~1b 2"]),
      (
        ["t": "\u{1b}[2J\u{7f}\u{202e}\u{e0041}é"],
        ["/t \"\\u001b[2J\\u007f\\u202e\\udb40\\udc41é\""]
      ),
      (["s": "key «redacted:token:0a1b»!"], ["/s \"key «redacted:token»!\""]),
    ] as [(JSONValue, [String])])
  func inputs(input: JSONValue, expected: [String]) {
    let lines = AcceptedText.lines(of: Self.run(input)).filter { $0.hasPrefix("    input ") }
    #expect(lines.map { String($0.dropFirst(10)) } == expected)
  }

  @Test("a long value is a digest, its length and its beginning")
  func longValues() throws {
    let long = String(repeating: "line\n", count: 1_000)
    let call = Self.run(["body": .string(long)]).decisions[0][0]
    let value = try #require(call.arguments.first?.value)
    #expect(value.hasPrefix("sha256:") && value.contains(" 6002 bytes ") && value.utf8.count < 200)
    let other = Self.run(["body": .string(long + "!")]).decisions[0][0]
    #expect(call != other)
    let many = JSONObject((0..<65).map { ("k\($0)", JSONValue($0)) })
    let whole = Self.run(.object(many)).decisions[0][0]
    #expect(whole.arguments.count == 1 && whole.arguments[0].pointer.isEmpty)
    #expect(whole.arguments[0].value.hasPrefix("sha256:"))
    let name = String(repeating: "n", count: 1_000)
    #expect(Self.run([:], tool: name).decisions[0][0].tool.utf8.count < 200)
  }

  @Test("a number that is only written in another way is the same input, also in an older file")
  func numbers() throws {
    let tokens = ["5", "5.0", "0.5e1"].map { JSONNumber(token: $0).map(JSONValue.number) ?? .null }
    let runs = tokens.map { Self.run(["amount": $0, "list": [$0]]) }
    #expect(runs[0] == runs[1] && runs[1] == runs[2])
    #expect(runs[0] != Self.run(["amount": 6, "list": [5]]))
    let accepted = AcceptedCase(caseId: "a", runs: [runs[0]])
    let bytes = try AcceptedText.bytes(of: accepted)
    let older = String(decoding: bytes, as: UTF8.self).replacing("amount 5", with: "amount 5.0")
    #expect(older != String(decoding: bytes, as: UTF8.self))
    #expect(try AcceptedText.parse(Array(older.utf8)) == accepted)
  }

  @Test("neither times nor identifiers change the text")
  func stable() throws {
    var run = RecordedRun()
    run.decide([.init("look", ["id": 1, "b": .bytes([0, 255]), "$same": "x"])])
    run.stop()
    let moved = run.events.map { event in
      var event = event
      event.runId = "another run"
      event.t = event.seq * 1_000
      return event
    }
    let texts = [run.events, moved].map {
      AcceptedText.lines(
        of: AcceptedRun(of: Trajectory(of: $0), RunNotes(), Judgement(outcomes: [])))
    }
    #expect(texts[0] == texts[1])
    var accepted = AcceptedCase(caseId: "a")
    accepted.runs = [
      AcceptedRun(of: Trajectory(of: run.events), RunNotes(), Judgement(outcomes: []))
    ]
    #expect(try AcceptedText.parse(AcceptedText.bytes(of: accepted)) == accepted)
  }

  @Test("runs stand in the order of their text, equal ones once")
  func sorting() {
    let runs = [Self.run(["id": 2]), Self.run(["id": 1]), Self.run(["id": 2])]
    let sorted = AcceptedCase(caseId: "a", runs: runs).sorted
    #expect(sorted.runs == [runs[1], runs[0]])
    #expect(AcceptedCase(caseId: "a", runs: runs.reversed()).sorted == sorted)
  }
}
