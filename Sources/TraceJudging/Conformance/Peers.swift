import AgentTrace

extension ConformanceBook {
  /// Inputs on which published evaluators were seen to answer wrongly.
  mutating func addPeers() {
    rule = "toolsCalled"

    peer = "agentevals 0.0.9 superset"
    let (some, more): (JSONValue, JSONValue) = (["a": 1], ["a": 1, "b": 2])
    let both: JSONValue = [
      "toolsCalled": [["tool": "s", "input": some], ["tool": "s", "input": more]]
    ]
    add(
      "an assignment exists where a greedy match finds none", both,
      on: Run(Call("s", more), Call("s", some)), is: .pass)

    peer = "agentevals 0.0.9 subset"
    let extra = Run(Call("s", ["q": 1, "extra": 2]))
    add(
      "more arguments than asked: allowed by an object",
      ["toolsCalled": [["tool": "s", "input": ["q": 1]]]], on: extra, is: .pass)
    add(
      "more arguments than asked: refused by $subsetOf",
      ["toolsCalled": [["tool": "s", "input": ["$subsetOf": ["q": 1]]]]], on: extra, is: .fail)

    peer = "agentevals 0.0.9 overrides"
    add(
      "a key that is missing on both sides is not there",
      ["toolsCalled": [["tool": "s", "input": ["k": ["$any": true]]]]], on: extra, is: .fail)

    peer = "DeepEval 4.3.1 ToolCorrectness"
    add(
      "two equal calls expected and made", ["toolsCalled": ["A", "A"]], on: Run("A", "A"), is: .pass
    )
    let deleted = Run("A", "B", "delete_db")
    peer = "DeepEval 4.3.1 default"
    add("A is called, whatever else is", ["toolsCalled": ["A"]], on: deleted, is: .pass)
    add(
      "a forbidden call beside the expected one",
      ["toolsCalled": ["A"], "toolsNotCalled": ["delete_db"]], on: deleted, is: .fail)
    add(
      "a call beside the expected one where none may be",
      ["toolsCalled": ["A"], "extra": "forbid"], on: deleted, is: .fail)

    peer = "ADK 2.13.0 IN_ORDER and ANY_ORDER"
    add(
      "nothing is expected, and something deleted", ["toolsNotCalled": ["*"]],
      on: Run("delete_db"), is: .fail)
    add(
      "no call at all, said as a list", ["toolsCalled": [], "order": "exact"],
      on: Run("delete_db"), is: .fail)
    add("an empty list that says nothing", mistaken: ["toolsCalled": [], "order": "in_order"])

    peer = "Strands 1.7.0 exact"
    add(
      "a call behind the expected ones", ["toolsCalled": ["a", "b"], "order": "exact"],
      on: Run("a", "b", "rm"), is: .fail)
    peer = "Strands 1.7.0 with nothing expected"
    add(
      "none expected and none made", ["toolsCalled": [], "order": "exact"], on: Run(), is: .pass)
    add(
      "none expected and one made", ["toolsCalled": [], "order": "exact"], on: Run("a"), is: .fail)
    peer = "Strands 1.7.0 any-order"
    add(
      "one tool twice on both sides", ["toolsCalled": ["a", "b", "a"]], on: Run("a", "a", "b"),
      is: .pass)

    peer = "tau2 with compare_args: null"
    let order: JSONValue = ["orderId": "1", "reason": "broken"]
    let short = Run(Call("cancel", ["orderId": "1"]))
    add(
      "a needed argument is left out", ["toolsCalled": [["tool": "cancel", "input": order]]],
      on: short, is: .fail)
    add(
      "a needed argument is left out, and only those sent count",
      ["toolsCalled": [["tool": "cancel", "input": ["$subsetOf": order]]]], on: short, is: .pass)

    peer = "MLflow unordered exact"
    add(
      "a bag is not a set", ["toolsCalled": ["A", "A", "B"], "extra": "forbid"],
      on: Run("A", "B", "B"), is: .fail)

    peer = "agentv#1175"
    let quoted = Run { run in
      run.decide(Call("shell", ["command": "rm -rf /"], .refused))
      run.end("I did not run `rm -rf /`.")
    }
    let command: JSONValue = [["tool": "shell", "input": ["command": ["$contains": "rm -rf"]]]]
    rule = "toolsNotCalled"
    add(
      "an agent that quotes a refused command has not run it", ["toolsNotCalled": command],
      on: quoted, is: .pass)
    rule = "toolsNotProposed"
    add("and yet has proposed it", ["toolsNotProposed": command], on: quoted, is: .fail)
    peer = nil
  }
}
