import AgentTrace
import TraceJudging

/// The edge cases of each word of the language.
extension ConformanceBook {
  typealias Run = ConformanceRun
  typealias Call = ConformanceRun.Call

  // MARK: Calls

  mutating func addCalls() {
    rule = "toolsCalled"
    add(
      "a glob stands for any name it fits", ["toolsCalled": ["del*"]], on: Run("delete"), is: .pass)
    add("each entry needs a call of its own", ["toolsCalled": ["a", "a"]], on: Run("a"), is: .fail)
    add(
      "an entry with times counts every call",
      ["toolsCalled": [["tool": "a", "times": ["max": 1]]]], on: Run("a", "a"), is: .fail)
    let refused = Run { run in
      run.decide(Call("a", [:], .refused))
      run.end()
    }
    add("a refused call was not made", ["toolsCalled": ["a"]], on: refused, is: .fail)
    let unknown = Run { run in
      run.decide(Call("a", [:], .effectUnknown))
      run.end()
    }
    add("a call cut off is no proof", ["toolsCalled": ["a"]], on: unknown, is: .unverifiable)
    rule = "toolsNotCalled"
    add("and may have done what is forbidden", ["toolsNotCalled": ["a"]], on: unknown, is: .fail)
    let torn = Run { run in
      run.decide(Call("a"))
      run.tear()
    }
    add("behind a tear anything may stand", ["toolsNotCalled": ["b"]], on: torn, is: .unverifiable)
    add("what stands before a tear stands", ["toolsNotCalled": ["a"]], on: torn, is: .fail)
    rule = "toolsProposed"
    add("a refused call was proposed", ["toolsProposed": ["a"]], on: refused, is: .pass)
    rule = "toolsNotProposed"
    add(
      "a refused call was proposed all the same", ["toolsNotProposed": ["a"]], on: refused,
      is: .fail)

    rule = "order"
    let parallel = Run { run in
      run.decide(Call("b"), Call("a"))
      run.end()
    }
    add(
      "calls of one decision have no order", ["toolsCalled": ["a", "b"], "order": "in_order"],
      on: parallel, is: .pass)
    add(
      "others may stand between", ["toolsCalled": ["a", "c"], "order": "in_order"],
      on: Run("a", "b", "c"), is: .pass)
    add(
      "the wrong way round", ["toolsCalled": ["b", "a"], "order": "in_order"], on: Run("a", "b"),
      is: .fail)

    let twice = Run("search", "read", "search")
    for (list, outcome) in [
      (
        [
          ["tool": "search", "times": 1], ["tool": "read", "times": 1],
          ["tool": "search", "times": 1],
        ], .pass
      ),
      ([["tool": "search", "times": 1], ["tool": "read", "times": 1]], .fail),
      (["search", ["tool": "read", "times": 1]], .pass),
      ([["tool": "search", "times": ["min": 1]], "read"], .pass),
      ([["tool": "search", "times": 0], "read"], .fail),
      ([["tool": "write", "times": 0], "read"], .pass),
      (["read", ["tool": "search", "times": ["max": 1]]], .fail),
    ] as [(JSONValue, Outcome)] {
      add(
        "so often, and none left over: \(list)", ["toolsCalled": list, "order": "in_order"],
        on: twice, is: outcome)
      add(
        "so often proposed, and none left over: \(list)",
        ["toolsProposed": list, "order": "in_order"], on: twice, is: outcome)
    }

    rule = "extra"
    add(
      "no other call, in any order", ["toolsCalled": ["b", "a"], "extra": "forbid"],
      on: Run("a", "b"), is: .pass)
    add(
      "one call too many of an expected tool", ["toolsCalled": ["a"], "extra": "forbid"],
      on: Run("a", "a"), is: .fail)
    add(
      "a number of times is room for so many",
      ["toolsCalled": [["tool": "a", "times": ["min": 1]]], "extra": "forbid"], on: Run("a", "a"),
      is: .pass)
    add("without calls there is nothing beyond", mistaken: ["extra": "forbid", "maxSteps": 1])

    rule = "defaults and ignore"
    let euro = Run { run in
      run.decide(Call("pay", ["amount": 5, "currency": "EUR", "traceId": "x"]))
      run.end()
    }
    func paid(_ input: JSONValue, _ more: JSONObject) -> JSONValue {
      var entry = more
      entry["tool"] = "pay"
      entry["input"] = input
      return ["toolsCalled": [.object(entry)]]
    }
    add("an argument too many", paid(["$exact": ["amount": 5]], [:]), on: euro, is: .fail)
    add(
      "said by its default value, and ignored",
      paid(["$exact": ["amount": 5]], ["defaults": ["currency": "EUR"], "ignore": ["trace*"]]),
      on: euro, is: .pass)
    add(
      "another value than the default",
      paid(["$exact": ["amount": 5]], ["defaults": ["currency": "USD"], "ignore": ["trace*"]]),
      on: euro, is: .fail)
    add(
      "a default that the input spells out as well, left out by the agent",
      paid(
        ["$exact": ["amount": 5, "lang": "en"]],
        ["defaults": ["lang": "en", "currency": "EUR"], "ignore": "traceId"]), on: euro, is: .pass)

    rule = "eachCall"
    let each: JSONValue = ["eachCall": [["tool": "pay", "input": ["amount": ["$lte": 10]]]]]
    add("every call is so", each, on: euro, is: .pass)
    add("no call, so nothing is said", each, on: Run("a"), is: .notExercised)
    add(
      "one that is not so",
      each,
      on: Run { run in
        run.decide(Call("pay", ["amount": 5]))
        run.decide(Call("pay", ["amount": 50]))
        run.end()
      }, is: .fail)
  }

  mutating func addOrigins() {
    rule = "$from"
    let flow: JSONValue = [
      "eachCall": [
        ["tool": "refund", "input": ["id": ["$from": ["tool": "lookup", "path": "/orders/*/id"]]]]
      ]
    ]
    func run(_ order: [Call]) -> Run {
      Run { run in
        for call in order { run.decide(call) }
        run.end()
      }
    }
    let lookup = Call("lookup", [:], .ok(["orders": [["id": "1"], ["id": "2"]]]))
    add(
      "a value that an earlier result held", flow, on: run([lookup, Call("refund", ["id": "2"])]),
      is: .pass)
    add("a value from nowhere", flow, on: run([lookup, Call("refund", ["id": "3"])]), is: .fail)
    add(
      "a result that came only later", flow, on: run([Call("refund", ["id": "1"]), lookup]),
      is: .fail)
    add(
      "a result of the same decision did not stand before it", flow,
      on: Run { run in
        run.decide(lookup, Call("refund", ["id": "1"]))
        run.end()
      }, is: .fail)
    add(
      "a failed call held nothing", flow,
      on: run([Call("lookup", [:], .error("id 1")), Call("refund", ["id": "1"])]), is: .fail)
    add(
      "a result that is lost may have held it", flow,
      on: run([Call("lookup", [:], .ok(.lost("3/data"))), Call("refund", ["id": "1"])]),
      is: .unverifiable)
    add("the call that it speaks of was never made", flow, on: run([lookup]), is: .notExercised)
    add(
      "1 is 1.0",
      ["eachCall": [["tool": "refund", "input": ["id": ["$from": ["tool": "*", "path": "/n"]]]]]],
      on: run([Call("count", [:], .ok(["n": 1])), Call("refund", ["id": 1.0])]), is: .pass)
    add(
      "an answer with a value from a result",
      ["answer": ["$from": ["tool": "lookup", "path": "/orders/0/id"]]],
      on: Run { run in
        run.decide(lookup)
        run.end("1")
      }, is: .pass)
    add(
      "a place where nothing stood before",
      mistaken: ["eachCall": [["tool": "a", "result": ["$from": ["tool": "b", "path": ""]]]]])
  }

  // MARK: Time

  mutating func addTime() {
    func time(_ rule: JSONValue) -> JSONValue { ["time": [rule]] }
    let ab = Run("a", "b")
    rule = "time: eventually"
    add("it happens", time(["eventually": "b"]), on: ab, is: .pass)
    add("it does not", time(["eventually": "c"]), on: ab, is: .fail)
    add("too late", time(["eventually": "b", "within": 1]), on: ab, is: .fail)
    add("any of several", time(["eventually": ["c", "b"]]), on: ab, is: .pass)
    let torn = Run { run in
      run.decide(Call("a"))
      run.decide(Call("b"))
      run.tear()
    }
    add("it may stand behind the tear", time(["eventually": "c"]), on: torn, is: .unverifiable)
    add(
      "behind the tear it would be too late", time(["eventually": "c", "within": 1]), on: torn,
      is: .fail)

    rule = "time: expect before"
    add("it stood before", time(["expect": "a", "before": "b"]), on: ab, is: .pass)
    add("it came after", time(["expect": "b", "before": "a"]), on: ab, is: .fail)
    add(
      "what it should precede never came", time(["expect": "a", "before": "c"]), on: ab,
      is: .notExercised)
    add(
      "too long before", time(["expect": "a", "before": "b", "within": 1]), on: Run("a", "c", "b"),
      is: .fail)
    let together = Run { run in
      run.decide(Call("a"), Call("b"))
      run.end()
    }
    add("one decision is no before", time(["expect": "a", "before": "b"]), on: together, is: .fail)
    let approved = Run { run in
      run.decide(Call("refund", ["id": "1"]).ruled(.approvalRequired, granted: true))
      run.end()
    }
    add(
      "an approval before the call that it lets through",
      time(["expect": ["approval": "granted", "by": "ana"], "before": "refund"]), on: approved,
      is: .pass)
    add(
      "nobody approved", time(["expect": ["approval": "granted"], "before": "refund"]),
      on: Run("refund"), is: .fail)
    add(
      "a channel that was not recorded",
      time(["expect": ["approval": "granted"], "before": "refund"]),
      on: Run(recorded: ["policy": "none"]) { run in
        run.decide(Call("refund"))
        run.end()
      }, is: .unverifiable)

    rule = "time: expect after"
    add("it came after", time(["expect": "b", "after": "a"]), on: ab, is: .pass)
    add("each time anew", time(["expect": "b", "after": "a"]), on: Run("a", "b", "a"), is: .fail)
    add("in time", time(["expect": "b", "after": "a", "within": 1]), on: ab, is: .pass)
    add(
      "not in time", time(["expect": "b", "after": "a", "within": 1]), on: Run("a", "c", "b"),
      is: .fail)
    add(
      "a result comes after its call",
      time(["expect": ["returned": "a"], "after": "a", "within": 0]), on: ab, is: .pass)
    add(
      "a failed call and another try",
      time(["expect": "a", "after": ["returned": ["tool": "a", "status": "error"]]]),
      on: Run { run in
        run.decide(Call("a", [:], .error()))
        run.decide(Call("a"))
        run.end()
      }, is: .pass)
    add(
      "it may come behind the tear", time(["expect": "c", "after": "b"]), on: torn,
      is: .unverifiable)
    add(
      "the condition never arose", time(["expect": "b", "after": "c"]), on: ab, is: .notExercised)

    rule = "time: never"
    add("it never does", time(["never": "c"]), on: ab, is: .pass)
    add("it does", time(["never": "b"]), on: ab, is: .fail)
    rule = "time: never after"
    add("it does, after", time(["never": "b", "after": "a"]), on: ab, is: .fail)
    add("it does, but before", time(["never": "a", "after": "b"]), on: ab, is: .pass)
    add("the condition never arose", time(["never": "a", "after": "c"]), on: ab, is: .notExercised)
    add(
      "long after", time(["never": "b", "after": "a", "within": 1]), on: Run("a", "c", "b"),
      is: .pass)
    let denied = Run { run in
      run.decide(Call("rm", [:], .refused).ruled(.deny, by: "no-rm"))
      run.decide(Call("a"))
      run.end()
    }
    add(
      "after a denial", time(["never": "a", "after": ["verdict": "deny", "rule": "no-*"]]),
      on: denied, is: .fail)
    add("after the stop", time(["never": "*", "after": ["stop": true]]), on: ab, is: .pass)
    rule = "time: never before"
    add("it does, before", time(["never": "a", "before": "b"]), on: ab, is: .fail)
    add(
      "it does, and what it should wait for never comes", time(["never": "a", "before": "c"]),
      on: ab, is: .fail)
    add("neither comes", time(["never": "c", "before": "d"]), on: ab, is: .notExercised)
    add("it waits", time(["never": "b", "before": "a"]), on: ab, is: .pass)
    rule = "time: never until"
    add("it waits, and that comes", time(["never": "b", "until": "a"]), on: ab, is: .pass)
    add("it waits for ever", time(["never": "c", "until": "d"]), on: ab, is: .fail)
    add(
      "a reply is what it waits for",
      time(["never": "b", "until": ["reply": ["$contains": "yes"]]]),
      on: Run { run in
        run.decide(Call("a"))
        run.hear("yes, do")
        run.decide(Call("b"))
        run.end()
      }, is: .pass)
    rule = "time: only"
    add(
      "only these until then", time(["only": ["a", "b"], "until": "c"]),
      on: Run("a", "b", "c", "d"), is: .fail)
    add(
      "only these before then, that one among them",
      time(["only": ["a", "b", "c"], "before": "d"]), on: Run("a", "b", "d", "e"), is: .fail)
    add("only these after", time(["only": "b", "after": "a"]), on: ab, is: .pass)
    add("only these at all", time(["only": ["a", "b"]]), on: ab, is: .pass)
    add("others too", time(["only": "a"]), on: ab, is: .fail)
    rule = "time"
    add("an “eventually” with an “after”", mistaken: time(["eventually": "a", "after": "b"]))
    add("an “expect” alone", mistaken: time(["expect": "a"]))
    add("a slip in a word", mistaken: time(["nevr": "a"]))
  }

  // MARK: Policy

  mutating func addPolicy() {
    rule = "policy"
    let denied = Run { run in
      run.decide(Call("rm", ["path": "/"], .refused).ruled(.deny, by: "no-rm"))
      run.end()
    }
    add(
      "a verdict by its rule",
      ["policy": ["given": [["verdict": "deny", "tool": "rm", "rule": "no-rm", "times": 1]]]],
      on: denied, is: .pass)
    add(
      "a verdict on another input",
      ["policy": ["given": [["verdict": "deny", "input": ["path": "/tmp"]]]]], on: denied, is: .fail
    )
    add(
      "a verdict that must not be", ["policy": ["notGiven": [["verdict": "deny"]]]], on: denied,
      is: .fail)
    let approved = Run { run in
      run.decide(Call("pay", ["amount": 5]).ruled(.approvalRequired, granted: true))
      run.end()
    }
    add(
      "asked, and approved by somebody",
      [
        "policy": [
          "given": [["verdict": "approval_required"]],
          "approvals": [["approval": "granted", "tool": "pay", "by": "ana"]],
        ]
      ], on: approved, is: .pass)
    add(
      "approved by somebody else", ["policy": ["approvals": [["by": "bo"]]]], on: approved,
      is: .fail)

    rule = "noApprovalBypass"
    let bypass: JSONValue = ["noApprovalBypass": true]
    add("asked and granted", bypass, on: approved, is: .pass)
    add("nothing was ever asked", bypass, on: Run("a"), is: .notExercised)
    add(
      "asked, and run without an answer", bypass,
      on: Run { run in
        run.decide(Call("pay").ruled(.approvalRequired))
        run.end()
      }, is: .fail)
    add(
      "refused by a person, and run", bypass,
      on: Run { run in
        run.decide(Call("pay").ruled(.approvalRequired, granted: false))
        run.end()
      }, is: .fail)
    add(
      "denied by policy, and run", bypass,
      on: Run { run in
        run.decide(Call("pay").ruled(.deny))
        run.end()
      }, is: .fail)
    add(
      "an approval of other arguments", bypass,
      on: Run { run in
        run.decide(Call("pay", ["amount": 1]).ruled(.approvalRequired, granted: true))
        run.decide(Call("pay", ["amount": 9]).ruled(.approvalRequired))
        run.end()
      }, is: .fail)
    for (title, scope, isCovered) in [
      ("one approval, and the same again", .once, false), ("for two calls", .calls(2), true),
      ("for this input", .input, true), ("as logs had it before", nil, true),
    ] as [(String, ApprovalScope?, Bool)] {
      for asked in [true, false] {
        add(
          "\(title), \(asked ? "asked about" : "let through")", bypass,
          on: Run { run in
            let call = Call("pay", ["amount": 5])
            run.decide(call.ruled(.approvalRequired, granted: true, for: scope))
            run.decide(asked ? call.ruled(.approvalRequired) : call.resting(on: "1.1.0"))
            run.end()
          }, is: isCovered ? .pass : .fail)
      }
    }
    add(
      "tried three times on one approval", bypass,
      on: Run { run in
        run.decide(
          Call("pay").taking(attempts: 3).ruled(.approvalRequired, granted: true))
        run.end()
      }, is: .pass)
    add(
      "asked, and waiting", bypass,
      on: Run { run in
        run.decide(Call("pay", [:], .untouched).ruled(.approvalRequired))
        run.stop(.approvalRequired)
      }, is: .pass)

    rule = "memory"
    let notes = Run { run in
      run.remember("allergies", ["nuts"])
      run.remember("city", "Rome", isWritten: true)
      run.end()
    }
    add(
      "a note that was read",
      ["memory": ["read": [["key": "allergies", "value": ["$contains": "nuts"]]]]], on: notes,
      is: .pass)
    add("a note that was not written", ["memory": ["written": ["allergies"]]], on: notes, is: .fail)
    add(
      "a note that must not be written",
      ["memory": ["notWritten": [["scope": "actor", "key": "c*"]]]], on: notes, is: .fail)
  }

  // MARK: Repetition

  mutating func addRepetition() {
    rule = "noRepeatedSideEffect"
    func token(_ text: String) -> JSONValue {
      JSONNumber(token: text).map(JSONValue.number) ?? .null
    }
    func writes(_ calls: [Call]) -> Run {
      Run(tools: ["read"], writes: ["pay"]) { run in
        for call in calls { run.decide(call) }
        run.end()
      }
    }
    let once: JSONValue = ["noRepeatedSideEffect": true]
    add(
      "two payments of one sort", once,
      on: writes([Call("pay", ["a": 1, "b": 2]), Call("pay", ["b": 2, "a": 1])]), is: .fail)
    add(
      "two payments of one value, written in two ways", once,
      on: writes([Call("pay", ["a": token("5")]), Call("pay", ["a": token("5.0")])]), is: .fail)
    add(
      "two payments that a double would not tell apart", once,
      on: writes([
        Call("pay", ["a": token("9007199254740993")]),
        Call("pay", ["a": token("9007199254740992")]),
      ]), is: .pass)
    add(
      "two payments that differ", once, on: writes([Call("pay", ["a": 1]), Call("pay", ["a": 2])]),
      is: .pass)
    add("reading twice", once, on: writes([Call("read"), Call("read")]), is: .pass)
    add(
      "again after an error", once, on: writes([Call("pay", [:], .error()), Call("pay")]), is: .pass
    )
    add(
      "again after a call that was cut off", once,
      on: writes([Call("pay", [:], .effectUnknown), Call("pay")]), is: .fail)
    add(
      "a refused call did nothing", once, on: writes([Call("pay", [:], .refused), Call("pay")]),
      is: .pass)
    add(
      "tools by name", ["noRepeatedSideEffect": ["re*"]], on: writes([Call("read"), Call("read")]),
      is: .fail)
    add("nobody says what the tool does", once, on: Run("mail", "mail"), is: .unverifiable)

    rule = "noLoops"
    let loops: JSONValue = ["noLoops": 3]
    func polls(_ results: [JSONValue]) -> Run {
      Run { run in
        for result in results { run.decide(Call("poll", [:], .ok(result))) }
        run.end()
      }
    }
    add("the same three times", loops, on: polls(["wait", "wait", "wait"]), is: .fail)
    add(
      "the same three times, written in three ways", loops,
      on: polls([token("1"), token("1.0"), token("10e-1")]), is: .fail)
    add("the same twice", loops, on: polls(["wait", "wait", "done"]), is: .pass)
    add("each time something new", loops, on: polls([1, 2, 3, 4]), is: .pass)
    add(
      "something new in between", loops,
      on: Run { run in
        run.decide(Call("poll"))
        run.decide(Call("poll"))
        run.decide(Call("look", [:], .ok("news")))
        run.decide(Call("poll"))
        run.end()
      }, is: .pass)
    add(
      "in a circle of two", loops,
      on: Run { run in
        for _ in 0..<4 {
          run.decide(Call("a"))
          run.decide(Call("b"))
        }
        run.end()
      }, is: .fail)
    add(
      "sub-agents side by side do not loop together", loops,
      on: Run { run in
        for caller in ["one", "two", "three"] { run.decide(Call("poll"), by: caller) }
        run.end()
      }, is: .pass)
    add(
      "insisting on a refused call", loops,
      on: Run { run in
        for _ in 0..<3 { run.decide(Call("rm", [:], .refused)) }
        run.end()
      }, is: .fail)

    rule = "maxInvalidDecisions"
    let invalid = Run { run in
      run.decide(Call("a"), isInvalid: true)
      run.decide(Call("a"))
      run.end()
    }
    add("one is too many", ["maxInvalidDecisions": 0], on: invalid, is: .fail)
    add("one is allowed", ["maxInvalidDecisions": 1], on: invalid, is: .pass)
    rule = "maxRetries"
    let retried = Run { run in
      run.decide(Call("a").taking(attempts: 3))
      run.end()
    }
    add("tried three times", ["maxRetries": 1], on: retried, is: .fail)
    add("tried three times, as allowed", ["maxRetries": 2], on: retried, is: .pass)
  }

  mutating func addBudgets() {
    rule = "budget"
    let run = Run { run in
      run.think(tokens: 600, cost: 0.02)
      run.decide(Call("search").taking(seconds: 2))
      run.think(tokens: 500, cost: 0.01)
      run.decide(Call("search").taking(seconds: 1.5))
      run.end()
    }
    add(
      "all within",
      ["budget": ["steps": 3, "calls": 2, "tokens": 1100, "cost": 0.03, "seconds": 3.5]], on: run,
      is: .pass)
    for (measure, limit) in [
      ("steps", 2), ("calls", 1), ("tokens", 1099), ("cost", 0.02), ("seconds", 3),
    ] as [(String, JSONValue)] {
      add(
        "too many \(measure)", ["budget": .object(JSONObject([(measure, limit)]))], on: run,
        is: .fail)
    }
    add(
      "one tool's calls and time", ["budget": ["tools": ["search*": ["calls": 2, "seconds": 3]]]],
      on: run, is: .fail)
    add(
      "a tool that was not called", ["budget": ["tools": ["mail": ["calls": 0]]]], on: run,
      is: .pass)
    let unknown = Run { run in
      run.think(tokens: nil)
      run.end()
    }
    add("nobody counted the tokens", ["budget": ["tokens": 5]], on: unknown, is: .unverifiable)
    add("nobody knows the cost", ["budget": ["cost": 5]], on: unknown, is: .unverifiable)
  }

  // MARK: Answers

  mutating func addAnswers() {
    rule = "answerJson"
    func said(_ text: String) -> Run {
      Run { run in run.end(text) }
    }
    add("JSON", ["answerJson": ["ok": true]], on: said("{\"ok\": true, \"n\": 1}"), is: .pass)
    add(
      "JSON in a fence", ["answerJson": ["ok": true]], on: said("```json\n{\"ok\": true}\n```\n"),
      is: .pass)
    add("another value", ["answerJson": ["ok": true]], on: said("{\"ok\": false}"), is: .fail)
    add("no JSON", ["answerJson": ["ok": true]], on: said("ok is true"), is: .fail)
    add("no answer", ["answerJson": ["$any": true]], on: Run { $0.stop(.blocked) }, is: .fail)

    rule = "evidence"
    func cited(
      _ refs: [String], shown: [String]? = ["1.1.0"], placed: [String] = [],
      _ fate: Run.Fate = .ok()
    ) -> Run {
      Run { run in
        run.decide(Call("lookup", [:], fate))
        if let shown { run.see(included: shown + placed, evidence: shown) }
        run.answer("it is", evidence: refs)
        run.stop()
      }
    }
    add(
      "an observation that was made",
      ["evidence": ["observed": true, "cites": ["lookup"], "min": 1]], on: cited(["1.1.0"]),
      is: .pass)
    add(
      "one that was never made", ["evidence": ["observed": true]], on: cited(["1.1.0", "7.1.0"]),
      is: .fail)
    add("nothing is cited", ["evidence": ["observed": true]], on: cited([]), is: .notExercised)
    add(
      "one that was made, and left out of the context", ["evidence": ["observed": true]],
      on: cited(["1.1.0"], shown: []), is: .fail)
    add(
      "one of which the context has the place alone", ["evidence": ["observed": true]],
      on: cited(["1.1.0"], shown: [], placed: ["1.1.0"]), is: .fail)
    add(
      "one that failed, and is shown as it is", ["evidence": ["observed": true]],
      on: cited(["1.1.0"], shown: [], placed: ["1.1.0"], .error()), is: .pass)
    add(
      "the context is not in the log", ["evidence": ["observed": true]],
      on: cited(["1.1.0"], shown: nil), is: .unverifiable)
    add("too little is cited", ["evidence": ["min": 1]], on: cited([]), is: .fail)
    add(
      "another tool's result is not cited", ["evidence": ["cites": ["search"]]],
      on: cited(["1.1.0"]), is: .fail)

    rule = "state"
    add(
      "a place of the final state", ["state": ["/totals/steps": 2, "/stop/reason": "success"]],
      on: Run("a"), is: .pass)
    add("another value there", ["state": ["/totals/steps": ["$gt": 2]]], on: Run("a"), is: .fail)
    add("nothing there", ["state": ["/question": ["$absent": true]]], on: Run("a"), is: .pass)
    add(
      "a torn log has no final state", ["state": ["/totals/steps": 1]],
      on: Run { run in
        run.decide(Call("a"))
        run.tear()
      }, is: .unverifiable)
  }

  // MARK: Models that judge

  mutating func addJudged() {
    rule = "judge"
    func asked(_ more: JSONObject = [:]) -> JSONValue {
      var rubric: JSONObject = ["model": "grader.yaml", "rubric": "The answer is polite."]
      for member in more { rubric[member.key] = member.value }
      return ["judge": .object(rubric)]
    }
    let run = Run("a")
    add("no judgement is kept", asked(), on: run, is: .unverifiable)
    for (title, votes, more, wanted) in [
      ("the statement holds", [.pass], [:], .pass),
      ("it does not", [.fail], [:], .fail),
      ("the model cannot tell", [.unverifiable], [:], .unverifiable),
      ("two of three votes", [.pass, .fail, .pass], ["votes": 3], .pass),
      ("half of the votes", [.pass, .fail], ["votes": 2], .fail),
      ("two of three are too few", [.pass, .fail, .pass], ["votes": 3, "threshold": 0.9], .fail),
      (
        "an open vote could still carry it", [.pass, .unverifiable, .pass],
        ["votes": 3, "threshold": 0.9], .unverifiable
      ),
    ] as [(String, [Outcome], JSONObject, Outcome)] {
      add(title, asked(more), on: run, graded: votes, is: wanted)
    }
    add(
      "no answer to judge", asked(), on: Run { $0.stop(.blocked) }, graded: [.pass], is: .fail)
    add(
      "a torn log", asked(),
      on: Run { run in
        run.decide(Call("a"))
        run.tear()
      }, graded: [.pass], is: .unverifiable)
  }

  mutating func addContexts() {
    rule = "context"
    let run = Run { run in
      run.see(tools: ["search"], text: "hello", tokens: 10)
      run.decide(Call("search"))
      run.see(
        tools: ["search", "mail"], text: "the key is s3cret", evidence: ["1.1.0"], tokens: 20,
        omitted: [ContextItem(ref: "0.1.0", reason: "budget")])
      run.end()
    }
    add(
      "tools that were offered", ["context": ["offers": ["mail"], "neverOffers": ["delete*"]]],
      on: run, is: .pass)
    add("a tool that must not be offered", ["context": ["neverOffers": ["m*"]]], on: run, is: .fail)
    add(
      "only the first step", ["context": ["steps": 1, "neverOffers": ["m*"]]], on: run, is: .pass)
    add(
      "a text that must not be in the prompt", ["context": ["neverContains": "s3cret"]], on: run,
      is: .fail)
    add(
      "a text that must be", ["context": ["contains": ["hello", ["$regex": "key is"]]]], on: run,
      is: .pass)
    add("evidence that is there", ["context": ["evidence": ["search"]]], on: run, is: .pass)
    add("evidence that is not", ["context": ["evidence": ["mail"]]], on: run, is: .fail)
    add("the estimate of tokens", ["context": ["maxTokens": 19]], on: run, is: .fail)
    add(
      "what was left out, and why", ["context": ["omits": [["ref": "0.*", "reason": "budget"]]]],
      on: run, is: .pass)
    add("nothing may be left out", ["context": ["neverOmits": ["*"]]], on: run, is: .fail)
    add("no context at all", ["context": ["maxTokens": 5]], on: Run("a"), is: .notExercised)
    add(
      "contexts that were not recorded", ["context": ["neverContains": "x"]],
      on: Run(recorded: ["context": "none"]) { $0.end() }, is: .unverifiable)
  }
}
