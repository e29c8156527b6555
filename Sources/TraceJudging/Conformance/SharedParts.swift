import AgentTrace

/// The edge cases of what several expectations share.
extension ConformanceBook {
  typealias Run = ConformanceRun
  typealias Call = ConformanceRun.Call

  /// Arguments of calls that may differ.
  mutating func addArguments() {
    rule = "defaults and ignore"
    let euro = Run(Call("pay", ["amount": 5, "currency": "EUR", "traceId": "x"]))
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
  }

  /// Values that must have stood in earlier results.
  mutating func addOrigins() {
    rule = "$from"
    let flow: JSONValue = [
      "eachCall": [
        ["tool": "refund", "input": ["id": ["$from": ["tool": "lookup", "path": "/orders/*/id"]]]]
      ]
    ]
    let lookup = Call("lookup", [:], .ok(["orders": [["id": "1"], ["id": "2"]]]))
    add(
      "a value that an earlier result held", flow, on: Run(lookup, Call("refund", ["id": "2"])),
      is: .pass)
    add("a value from nowhere", flow, on: Run(lookup, Call("refund", ["id": "3"])), is: .fail)
    add(
      "a result that came only later", flow, on: Run(Call("refund", ["id": "1"]), lookup), is: .fail
    )
    add(
      "a result of the same decision did not stand before it", flow,
      on: Run { run in
        run.decide(lookup, Call("refund", ["id": "1"]))
        run.end()
      }, is: .fail)
    add(
      "a failed call held nothing", flow,
      on: Run(Call("lookup", [:], .error("id 1")), Call("refund", ["id": "1"])), is: .fail)
    add(
      "a result that is lost may have held it", flow,
      on: Run(Call("lookup", [:], .ok(.lost("3/data"))), Call("refund", ["id": "1"])),
      is: .unverifiable)
    add("the call that it speaks of was never made", flow, on: Run(lookup), is: .notExercised)
    add(
      "1 is 1.0",
      ["eachCall": [["tool": "refund", "input": ["id": ["$from": ["tool": "*", "path": "/n"]]]]]],
      on: Run(Call("count", [:], .ok(["n": 1])), Call("refund", ["id": 1.0])), is: .pass)
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
}
