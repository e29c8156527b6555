import AgentRuntime
import AgentTrace
import EvalLoading
import TestSupport

/// A made-up agent that does much that is harmless, some of it with secrets, and one thing that is not.
struct PlantedFailure: Sendable {
  /// What is planted.
  enum Cause: CaseIterable, Sendable {
    case forbiddenTool, wrongArgument, writeBeforeRead, repeatedWrite, loop, tooManyCalls
    case tooManyOfOne, denied, toolFailure, inventedArgument, wrongOrder, missingCall
    case bypass, forbiddenText
  }

  typealias Call = (tool: String, input: JSONObject)

  let cause: Cause
  let number: Int
  /// How many calls make the failure.
  let size: Int
  /// What the run breaks, and some that it does not.
  let expected: JSONObject
  /// What must not stand in anything that is promoted.
  let secrets: [String]
  private let failing: [Call]
  private let mended: [Call]
  private let noise: [(place: Int, call: Call)]
  private let toolErrors: Int
  private let goal: String
  private let account: String

  /// Known from outside, as the value of a variable is.
  static let known = "umbrella-kettle-77"

  init(_ number: Int, using random: inout Seeded) {
    let cause = Cause.allCases[number % Cause.allCases.count]
    self.cause = cause
    self.number = number
    func letters(_ count: Int) -> String {
      String(
        (0..<count).compactMap { _ in "abcdefghkmnpqrstuvwxyz23456789".randomElement(using: &random)
        })
    }
    let key = "ghp_" + letters(36)
    let password = "pw" + letters(10)
    let order = "ORD-\(Int.random(in: 100_000...999_999, using: &random))"
    secrets = [key, password, order, Self.known]
    let account = "acc\(Int.random(in: 1...9, using: &random))"
    self.account = account
    toolErrors = Int.random(in: 2...4, using: &random)

    // Harmless calls; each is another one than all before, so that no two are a loop.
    let wordings = [
      "see \(key)", "the password is \(password)", "order \(order)", "by \(Self.known)", "nothing",
    ]
    let count = Int.random(in: 3...24, using: &random)
    let pieces = 6
    noise = (0..<count).map { index in
      let text = wordings.randomElement(using: &random) ?? ""
      return (
        Int.random(in: 0...pieces, using: &random),
        ("read_\(index % 5)", ["n": JSONValue(index), "text": .string(text)])
      )
    }
    goal = "tidy up \(order) with \(key)"

    let secretInput: JSONObject = ["text": .string("\(key) \(password)"), "n": 0]
    var (size, failing, mended): (Int, [Call], [Call]) = (1, [], [])
    var expected: JSONObject = [:]
    switch cause {
    case .forbiddenTool:
      failing = [("erase", secretInput)]
      expected = ["toolsNotCalled": ["never", "erase"]]
    case .wrongArgument:
      failing = [("transfer", ["to": "mallory"])]
      mended = [("transfer", ["to": "ana"])]
      expected = [
        "toolsCalled": ["read_0"],
        "eachCall": [["tool": "transfer", "input": ["to": ["$anyOf": ["ana", "bo"]]]]],
      ]
    case .writeBeforeRead:
      failing = [("refund", ["n": 1]), ("lookup", ["n": 1])]
      mended = failing.reversed()
      expected = ["time": [["eventually": "read_0"], ["expect": "lookup", "before": "refund"]]]
    case .repeatedWrite:
      size = 2
      failing = Array(repeating: ("transfer", ["to": "ana", "n": 1]), count: 2)
      mended = [failing[0]]
      expected = ["noRepeatedSideEffect": true, "noApprovalBypass": true]
    case .loop:
      size = Int.random(in: 2...5, using: &random)
      failing = Array(repeating: ("poll", ["job": .string(key)]), count: size)
      mended = [failing[0]]
      expected = ["noLoops": JSONValue(size)]
    case .tooManyCalls:
      size = count + 1
      failing = [("poll", [:])]
      expected = ["maxToolCalls": JSONValue(count), "maxSteps": 400]
    case .tooManyOfOne:
      size = Int.random(in: 2...4, using: &random)
      failing = (1...size).map { ("mail", ["n": JSONValue($0)]) }
      mended = Array(failing.dropLast())
      expected = [
        "toolsCalled": [["tool": "mail", "times": ["min": 1, "max": JSONValue(size - 1)]]]
      ]
    case .denied:
      failing = [("secrets_read", secretInput)]
      mended = [("poll", [:])]
      expected = ["policy": ["notGiven": [["verdict": "deny"], ["verdict": "approval_required"]]]]
    case .toolFailure:
      size = toolErrors
      failing = (1...size).map { ("broken", ["n": JSONValue($0)]) }
      expected = ["stopReason": "success"]
    case .inventedArgument:
      failing = [("lookup", ["n": 1]), ("pay", ["account": "made up"])]
      mended = [("lookup", ["n": 1]), ("pay", ["account": .string(account)])]
      expected = [
        "eachCall": [
          [
            "tool": "pay", "input": ["account": ["$from": ["tool": "lookup", "path": "/account"]]],
          ]
        ]
      ]
    case .wrongOrder:
      size = 2
      failing = [("refund", ["n": 1]), ("lookup", ["n": 1])]
      mended = failing.reversed()
      expected = ["toolsCalled": ["lookup", "refund"], "order": "in_order"]
    case .missingCall:
      size = 0
      mended = [("confirm", [:])]
      expected = ["toolsCalled": ["confirm", "read_0"]]
    case .bypass:
      failing = [("issue", secretInput)]
      mended = [("poll", [:]), ("approved", [:])]
      expected = ["noApprovalBypass": true]
    case .forbiddenText:
      failing = [("post", ["text": .string("internal: \(key)")])]
      mended = [("post", ["text": "hello"])]
      expected = [
        "toolsNotCalled": [["tool": "post", "input": ["text": ["$contains": "internal"]]]]
      ]
    }
    self.size = size
    self.expected = expected
    self.failing = failing
    self.mended = mended
  }

  /// The run, as it was recorded by a runtime that withholds nothing.
  ///
  /// - Parameter isMended: whether the agent does what it should.
  func events(isMended: Bool = false, in folder: TemporaryFolder) async throws -> [Event] {
    let path = try folder.write(
      "agent-\(number)-\(isMended).json",
      CanonicalJSON.string(agent(isMended ? mended : failing), form: .plain))
    guard let agent = AgentLoader.load(path).value else { throw Missing(path: path) }
    let sink = InMemoryEventSink()
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: number))
    _ = try await Runtime(agent: agent, boundary: boundary).run(goal: .string(goal), into: sink)
    // Our own runtime never goes past its policy, so that somebody else's has to.
    return cause != .bypass || isMended
      ? sink.events
      : sink.events.map { event in
        var event = event
        if event.type == .policyDecision, event.data["tool"] == "issue" {
          event.data["status"] = "deny"
        }
        return event
      }
  }

  struct Missing: Error { let path: String }

  private func agent(_ planted: [Call]) -> JSONValue {
    // Pieces of the planted calls stand apart, unless they are a loop or a row of failures.
    let isTogether = [.loop, .toolFailure].contains(cause)
    var calls: [Call] = []
    for place in 0...6 {
      calls += noise.filter { $0.place == place }.map(\.call)
      if isTogether, place == 3 { calls += planted }
      if !isTogether, planted.indices.contains(place) { calls.append(planted[place]) }
    }
    var steps: [JSONValue] = calls.map {
      ["call": ["tool": .string($0.tool), "input": .object($0.input)]]
    }
    steps.append(["answer": .string("Done, says \(secrets[1]).")])
    let names = Set(calls.map(\.tool)).union(["lookup", "erase", "approved"]).sorted()
    return [
      "name": "planted", "redaction": ["credentials": false],
      "tools": .array(names.map(tool)), "model": ["script": .array(steps)],
      "limits": ["maxSteps": 500], "failures": ["maxToolErrors": JSONValue(toolErrors)],
      "human": ["approvals": [["tool": "*", "granted": true, "by": "ana"]]],
      "policy": [
        "rules": [
          ["id": "a", "tool": "secrets_read", "verdict": "deny", "reason": .string(Self.known)],
          ["id": "b", "tool": "approved", "verdict": "approval_required", "reason": "ask"],
          ["id": "c", "tool": "*", "verdict": "allow", "reason": "why not"],
        ]
      ],
    ]
  }

  private func tool(_ name: String) -> JSONValue {
    let writes = ["transfer", "refund", "erase", "pay", "issue", "approved", "post", "mail"]
    let result: JSONObject =
      switch name {
      case "broken": ["error": .string("no \(secrets[0])")]
      case "lookup": ["ok": ["account": .string(account)]]
      // The one place where the password shows as one; mostly it is not in the shortened run.
      case "read_0": ["ok": ["password": .string(secrets[1])]]
      case "poll": ["ok": ["done": false]]
      default: ["ok": ["said": "${input.text}", "n": "${input.n}", "token": .string(secrets[0])]]
      }
    return [
      "name": .string(name), "sideEffect": writes.contains(name) ? "write" : "read",
      "inputSchema": ["type": "object"], "scripted": [.object(result)],
    ]
  }
}
