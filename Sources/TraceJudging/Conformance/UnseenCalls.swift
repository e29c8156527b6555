import AgentTrace

/// Calls that may have gone unread, and calls of which only the end was seen.
extension ConformanceBook {
  /// An import whose source holds something that may be a call.
  mutating func addUnreadCalls() {
    rule = "recorded.calls"
    let run = Run(tools: ["a", "b"], recorded: ["calls": "partial"]) { run in
      run.decide(Call("a"), by: nil)
      run.end()
    }
    func times(_ tool: String, _ times: JSONValue) -> JSONValue {
      ["toolsCalled": [["tool": .string(tool), "times": times]]]
    }
    for (title, expected) in [
      ("no call that is seen", ["toolsNotCalled": ["b"]]),
      ("none was proposed", ["toolsNotProposed": ["b"]]),
      ("it did not happen", ["time": [["never": "b"]]]),
      ("not behind another", ["time": [["never": "b", "after": "a"]]]),
      ("nothing but that", ["time": [["only": "a"]]]),
      ("a call that is not seen", ["toolsCalled": ["b"]]),
      ("so many calls at most", ["maxToolCalls": 1]),
      ("so many steps at most", ["maxSteps": 2]),
      ("exactly so often", times("a", 1)), ("at most so often", times("a", ["max": 1])),
      ("never", times("b", 0)),
      ("these and no other, in order", ["toolsCalled": ["a"], "order": "exact"]),
      ("so often in order", ["toolsCalled": [["tool": "a", "times": 1]], "order": "in_order"]),
      ("each call", ["eachCall": [["tool": "a", "status": "ok"]]]),
      ("no loop", ["noLoops": 2]), ("no write twice", ["noRepeatedSideEffect": ["a"]]),
      ("no call again", ["maxRetries": 0]), ("a budget of calls", ["budget": ["calls": 1]]),
      ("a budget of steps", ["budget": ["steps": 2]]),
      ("a budget of a tool", ["budget": ["tools": ["a": ["calls": 1]]]]),
      ("no verdict on a call", ["policy": ["notGiven": [["verdict": "deny", "tool": "b"]]]]),
      ("no approval was passed over", ["noApprovalBypass": true]),
    ] as [(String, JSONValue)] {
      add("calls may have gone unread: \(title)", expected, on: run, is: .unverifiable)
    }
    for (title, expected, outcome) in [
      ("what is seen was called", ["toolsCalled": ["a"]], .pass),
      ("at least so often", times("a", ["min": 1]), .pass),
      ("in order", ["toolsCalled": ["a"], "order": "in_order"], .pass),
      ("what is seen is forbidden", ["toolsNotCalled": ["a"]], .fail),
      ("more calls than allowed", ["maxToolCalls": 0], .fail),
      ("more than the budget", ["budget": ["calls": 0]], .fail),
      (
        "a call beyond those expected",
        ["toolsCalled": [["tool": "b", "times": ["min": 0]]], "extra": "forbid"], .fail
      ),
      ("how it stopped", ["stopReason": "success"], .pass),
    ] as [(String, JSONValue, Outcome)] {
      add("calls may have gone unread: \(title)", expected, on: run, is: outcome)
    }
  }

  /// Starts and results that no decision holds.
  mutating func addStrays() {
    rule = "a result without its call"
    let strays = Run(tools: ["a", "b"]) { run in
      run.returnStray("a", callId: "x", .ok(data: 1))
      run.startStray("b", callId: "y")
      run.end()
    }
    for (title, expected, outcome) in [
      ("it was called", ["toolsCalled": ["a"]], .pass),
      ("and is not allowed", ["toolsNotCalled": ["a"]], .fail),
      ("one that only began is not allowed either", ["toolsNotCalled": ["b"]], .fail),
      ("each counts", ["maxToolCalls": 1], .fail), ("and no more", ["maxToolCalls": 2], .pass),
      ("somebody proposed it", ["toolsNotProposed": ["a"]], .fail),
      ("others were not called", ["toolsNotCalled": ["c"]], .pass),
      (
        "with what input nobody knows",
        ["toolsNotCalled": [["tool": "a", "input": ["id": 1]]]], .unverifiable
      ),
      (
        "its result is known",
        ["toolsCalled": [["tool": "a", "status": "ok", "result": 1]]], .pass
      ),
      ("it is done once", ["noRepeatedSideEffect": ["a"]], .pass),
    ] as [(String, JSONValue, Outcome)] {
      add(title, expected, on: strays, is: outcome)
    }
    let late = Run { run in
      run.decide(Call("a"))
      run.returnStray("b", .ok(data: 1))
      run.decide(Call("c"))
      run.end()
    }
    for (title, expected, outcome) in [
      ("it began before its result", ["time": [["never": "b", "after": "c"]]], .pass),
      ("and perhaps before all", ["time": [["never": "b", "after": "a"]]], .unverifiable),
      ("or not", ["time": [["expect": "a", "before": "b"]]], .unverifiable),
      ("that it was called is certain", ["time": [["eventually": "b"]]], .pass),
      (
        "its result stands where it stands",
        ["time": [["expect": "a", "before": ["returned": "b"]]]],
        .pass
      ),
      (
        "it may stand before others", ["toolsCalled": ["a", "b"], "order": "in_order"],
        .unverifiable
      ),
      ("or behind them", ["toolsCalled": ["b", "a"], "order": "in_order"], .unverifiable),
      ("not behind what came later", ["toolsCalled": ["c", "b"], "order": "in_order"], .fail),
      ("before that it is", ["toolsCalled": ["b", "c"], "order": "in_order"], .pass),
      (
        "nor in an order that no place of it makes right",
        ["toolsCalled": ["a", "c", "b"], "order": "exact"], .fail
      ),
      (
        "so often, and none left over, wherever it is",
        ["toolsCalled": [["tool": "*", "times": 3]], "order": "in_order"], .pass
      ),
    ] as [(String, JSONValue, Outcome)] {
      add("without a place: \(title)", expected, on: late, is: outcome)
    }
    let twice = Run { run in
      run.decide(Call("pay", ["id": 1]))
      run.returnStray("pay", .ok(data: 1))
      run.end()
    }
    add(
      "one of unknown input may be the write from before", ["noRepeatedSideEffect": ["pay"]],
      on: twice, is: .unverifiable)
    let refused = Run { run in
      run.returnStray("a", .refused(reason: "no"))
      run.end()
    }
    add("a refused one did not run", ["toolsNotCalled": ["a"]], on: refused, is: .pass)
    let nameless = Run { run in
      run.returnStray("", .ok(data: 1))
      run.end()
    }
    add(
      "without a name it may be any tool", ["toolsNotCalled": ["a"]], on: nameless,
      is: .unverifiable)
    add(
      "it may be the result of a call that is counted already, or of a simulated user's",
      ["maxToolCalls": 0], on: nameless, is: .unverifiable)
    add(
      "nobody knows that it was proposed", ["toolsNotProposed": ["*"]], on: nameless,
      is: .unverifiable)

    rule = "status: returned"
    let returned = Run(Call("a", [:], .returned(1)))
    for (title, expected, outcome) in [
      ("it was called", ["toolsCalled": ["a"]], .pass),
      ("and is not allowed", ["toolsNotCalled": ["a"]], .fail),
      ("whether it succeeded", ["toolsCalled": [["tool": "a", "status": "ok"]]], .unverifiable),
      ("how often it was tried", ["maxRetries": 3], .unverifiable),
      ("a budget of retries", ["budget": ["retries": 3]], .unverifiable),
      ("a budget of errors", ["budget": ["errors": 3]], .unverifiable),
    ] as [(String, JSONValue, Outcome)] {
      add(title, expected, on: returned, is: outcome)
    }
    rule = "maxRetries"
    let untold = Run { run in
      run.returnStray("a", .ok(data: 1))
      run.end()
    }
    add(
      "without starts and attempts nobody knows how often", ["maxRetries": 3], on: untold,
      is: .unverifiable)
  }
}
