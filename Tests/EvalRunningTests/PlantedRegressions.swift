import AgentTrace
import EvalLoading
import TestSupport
import TraceJudging

/// A change that was made to one case on purpose, and all that a comparison must say of it.
struct Planted {
  /// Every change that can be planted.
  enum Change: CaseIterable {
    case nothing, otherIdentifiers, parallelOrder, stepsBelow, tokensBelow, costBelow, lessUsed
    case callDropped, callAdded, writeAdded, forbiddenCall, swapped, merged, argumentChanged,
      argumentAdded
    case argumentRemoved, verdictLoosened, verdictTightened, statusChanged, stopChanged
    case stopDetail, stepsAbove, tokensAbove, costAbove, fixed, failsAsBefore
    case entryDeleted, limitDeleted, stopDeleted, limitRaised, inputLoosened, stopWidened
    case prohibitionNarrowed, orderDropped, warned, matcherLoosened
    case limitLowered, inputTightened, matcherChanged, added, addedAndFailing, moved
    case gone, new, skipped
  }

  /// One difference as far as a plant says it: the parts that are `nil` may be anything.
  struct Sign: CustomStringConvertible {
    var kind: Difference.Kind
    var places: [String]
    var accepted: String?
    var actual: String?
    var effect: Difference.Effect

    init(
      _ kind: Difference.Kind, _ places: String..., accepted: String? = nil, actual: String? = nil,
      effect: Difference.Effect = .neutral
    ) {
      self.kind = kind
      self.places = places
      self.accepted = accepted
      self.actual = actual
      self.effect = effect
    }

    func fits(_ difference: Difference) -> Bool {
      difference.kind == kind && places.contains(difference.place)
        && difference.effect == effect
        && (accepted == nil || difference.accepted == accepted)
        && (actual == nil || difference.actual == actual)
    }

    var description: String {
      "\(kind) \(places) \(accepted ?? "*") → \(actual ?? "*") (\(effect))"
    }
  }

  var change: Change
  var kind = CaseComparison.Kind.same
  /// In the order in which they must be told.
  var signs: [Sign] = []
}

extension ScriptedCase {
  /// A case that passes: some decisions with one call, some with several, half of the calls required.
  init(_ number: Int, using random: inout Seeded) {
    var count = 0
    var decisions: [[Script.Call]] = []
    for _ in 0..<Int.random(in: 4...9, using: &random) {
      let size =
        Int.random(in: 0..<10, using: &random) < 7 ? 1 : Int.random(in: 2...3, using: &random)
      let group = (0..<size).map { _ -> Script.Call in
        count += 1
        return Script.Call(
          tool: "tool\(Int.random(in: 0...4, using: &random))",
          input: [
            "n": JSONValue(count), "note": .string("note \(count)"),
            "where": ["city": .string("city \(Int.random(in: 0...3, using: &random))")],
          ])
      }
      // They were numbered as they came.
      let tools = group.map(\.tool).sorted()
      decisions.append(
        zip(group, tools).map { call, tool in Script.Call(tool: tool, input: call.input) })
    }
    // Two decisions with one call each at least, so that there is something to swap and to merge.
    for index in 0...1 { decisions[index] = [decisions[index][0]] }
    if decisions[0][0].tool > decisions[1][0].tool { decisions.swapAt(0, 1) }
    script = Script(decisions: decisions)
    script.idle = Int.random(in: 1...3, using: &random)
    script.tokens = Int.random(in: 200...9_000, using: &random)
    script.cost = Double(Int.random(in: 1...900, using: &random)) / 1_000
    caseId = "case \(number)/é"
    let calls = script.calls
    required = calls.indices.filter { _ in Bool.random(using: &random) }
    if required.isEmpty { required = [0] }
    var expected: JSONObject = [
      "stopReason": "success",
      "toolsCalled": .array(required.map { Self.entry(calls[$0]) }),
      "toolsNotCalled": ["forbidden_*", "never"],
      "maxSteps": 60,
      "answer": ["$contains": "all of"],
    ]
    if Bool.random(using: &random) { expected["order"] = "in_order" }
    self.expected = .object(expected)
  }

  private static func entry(_ call: Script.Call) -> JSONValue {
    [
      "tool": .string(call.tool),
      "input": ["n": call.input["n"] ?? .null, "where": call.input["where"] ?? .null],
    ]
  }

  private var object: JSONObject {
    get { expected.objectValue ?? [:] }
    set { expected = .object(newValue) }
  }

  private func place(_ call: Int) -> String { "call \(call + 1) (\(script.calls[call].tool))" }

  /// The decision that a call stands in, and its place there.
  private func path(_ call: Int) -> (Int, Int) {
    var rest = call
    for (index, decision) in script.decisions.enumerated() {
      if rest < decision.count { return (index, rest) }
      rest -= decision.count
    }
    return (0, 0)
  }

  private mutating func edit(_ call: Int, _ change: (inout Script.Call) -> Void) {
    let (decision, index) = path(call)
    change(&script.decisions[decision][index])
  }

  private func failing(_ check: String?) -> [Planted.Sign] {
    check.map { [.init(.check, $0, accepted: "pass", actual: "fail", effect: .regression)] } ?? []
  }

  /// Makes a change. The first of the two is what was accepted, the second what is there now; `nil`
  /// is a case that is not there.
  static func plant(
    _ change: Planted.Change, _ original: ScriptedCase, using random: inout Seeded
  ) -> (accepted: ScriptedCase?, now: ScriptedCase?, planted: Planted) {
    var (old, new) = (original, original)
    var planted = Planted(change: change)
    let calls = original.script.calls
    let any = Int.random(in: 0..<calls.count, using: &random)
    let single = Int.random(in: 0...1, using: &random)
    func entries(_ value: ScriptedCase) -> [JSONValue] {
      value.object["toolsCalled"]?.arrayValue ?? []
    }
    switch change {
    case .nothing, .otherIdentifiers: break
    case .parallelOrder:
      for index in new.script.decisions.indices {
        new.script.decisions[index].shuffle(using: &random)
      }
    case .stepsBelow:
      let steps = Double(old.script.steps)
      new.script.idle += Int((steps * 1.1).rounded(.up)) - old.script.steps
    case .tokensBelow: new.script.tokens += old.script.tokens / 10
    case .costBelow: new.script.cost *= 1.0999
    case .lessUsed:
      new.script.cost /= 2
      new.script.tokens /= 2
      new.script.idle = 1
    case .callDropped:
      new.script.decisions.remove(at: single)
      let check = original.check(of: single)
      planted.kind = check == nil ? .changed : .regressed
      planted.signs =
        [.init(.callMissing, original.place(single), accepted: calls[single].words)]
        + original.failing(check)
    case .callAdded, .writeAdded, .forbiddenCall:
      let isForbidden = change == .forbiddenCall
      // Of a tool that the run does not declare nobody knows that it only reads.
      let tool = isForbidden ? "forbidden_x" : change == .writeAdded ? "writing" : "extra"
      let added = Script.Call(tool: tool, input: ["n": 999])
      let place = Int.random(in: 0...new.script.decisions.count, using: &random)
      let ordinal = original.script.ordinal(of: place)
      new.script.decisions.insert([added], at: place)
      new.script.idle = max(1, new.script.idle - 1)
      planted.kind = change == .callAdded ? .changed : .regressed
      planted.signs =
        [
          .init(
            .callAdded, "call \(ordinal) (\(added.tool))", actual: added.words,
            effect: change == .callAdded ? .neutral : .regression)
        ]
        + original.failing(isForbidden ? "toolsNotCalled[0]" : nil)
    case .swapped:
      new.script.decisions.swapAt(0, 1)
      let isBroken = original.isOrdered && Set([0, 1]).isSubset(of: original.required)
      planted.kind = isBroken ? .regressed : .changed
      planted.signs =
        [.init(.callMoved, "call 1 (\(calls[0].tool))", "call 1 (\(calls[1].tool))")]
        + original.failing(isBroken ? "toolsCalled" : nil)
    case .merged:
      let second = new.script.decisions.remove(at: 1)
      new.script.decisions[0] += second
      planted.kind = .changed
      planted.signs = [
        .init(
          .decision, original.place(0), accepted: "alone", actual: "one of 2 calls together")
      ]
    case .argumentChanged:
      new.edit(any) { $0.input["where"] = ["city": "elsewhere"] }
      let check = original.check(of: any)
      planted.kind = check == nil ? .changed : .regressed
      planted.signs =
        [
          .init(
            .argument, "\(original.place(any)) /where/city",
            accepted: calls[any].input["where"]?["city"]?.description, actual: "\"elsewhere\"")
        ] + original.failing(check)
    case .argumentAdded:
      new.edit(any) { $0.input["extra"] = ["deep": [1.0, nil]] }
      planted.kind = .changed
      planted.signs = [
        .init(.argument, "\(original.place(any)) /extra/deep/0", actual: "1"),
        .init(.argument, "\(original.place(any)) /extra/deep/1", actual: "null"),
      ]
    case .argumentRemoved:
      new.edit(any) { $0.input["note"] = nil }
      planted.kind = .changed
      planted.signs = [
        .init(
          .argument, "\(original.place(any)) /note",
          accepted: calls[any].input["note"]?.description)
      ]
    case .verdictLoosened:
      let verdict: VerdictStatus = Bool.random(using: &random) ? .deny : .approvalRequired
      let refused = Script.Call(
        tool: "guarded", input: ["n": 999], verdict: verdict, status: .refused)
      old.script.decisions.insert([refused], at: 0)
      new.script.decisions.insert([Script.Call(tool: "guarded", input: ["n": 999])], at: 0)
      planted.kind = .regressed
      planted.signs = [
        .init(
          .verdict, "call 1 (guarded)", accepted: verdict.rawValue, actual: "allow",
          effect: .regression),
        .init(.status, "call 1 (guarded)", accepted: "refused", actual: "ok"),
      ]
    case .verdictTightened:
      new.edit(any) { $0.verdict = .approvalRequired }
      planted.kind = .changed
      planted.signs = [
        .init(
          .verdict, original.place(any), accepted: "allow", actual: "approval_required")
      ]
    case .statusChanged:
      new.edit(any) { $0.status = .error }
      planted.kind = .changed
      planted.signs = [.init(.status, original.place(any), accepted: "ok", actual: "error")]
    case .stopChanged, .stopDetail:
      let isDetail = change == .stopDetail
      let asks = Bool.random(using: &random)
      if !asks {
        old.object["stopReason"] = nil
        new.object["stopReason"] = nil
      }
      new.script.stop =
        isDetail
        ? Stop(reason: .success, detail: "otherwise")
        : Stop(reason: .budgetExhausted, detail: "max_steps")
      planted.kind = isDetail ? .changed : .regressed
      planted.signs =
        [
          .init(
            .stop, "stop", accepted: "success (final_answer)",
            actual: isDetail ? "success (otherwise)" : "budget_exhausted (max_steps)",
            effect: isDetail ? .neutral : .regression)
        ] + original.failing(asks && !isDetail ? "stopReason" : nil)
    case .stepsAbove:
      let limit = Int((Double(old.script.steps) * 1.1).rounded(.up))
      new.script.idle += limit - old.script.steps + 1
      planted.kind = .regressed
      planted.signs = [
        .init(
          .steps, "steps", accepted: "\(old.script.steps)", actual: "\(limit + 1)",
          effect: .regression)
      ]
    case .tokensAbove:
      new.script.tokens = Int((Double(old.script.tokens) * 1.1).rounded(.up)) + 1
      planted.kind = .regressed
      planted.signs = [
        .init(
          .tokens, "tokens", accepted: "\(old.script.tokens)", actual: "\(new.script.tokens)",
          effect: .regression)
      ]
    case .costAbove:
      new.script.cost = old.script.cost * 1.11
      planted.kind = .regressed
      planted.signs = [.init(.cost, "cost", effect: .regression)]
    case .fixed:
      let call = original.required[0]
      old.edit(call) { $0.input["where"] = ["city": "nowhere"] }
      planted.kind = .fixed
      planted.signs = [
        .init(
          .argument, "\(original.place(call)) /where/city", accepted: "\"nowhere\"",
          actual: calls[call].input["where"]?["city"]?.description),
        .init(
          .check, original.check(of: call) ?? "", accepted: "fail", actual: "pass",
          effect: .improvement),
      ]
    case .failsAsBefore:
      old.object["maxToolCalls"] = 0
      new.object["maxToolCalls"] = 0
    case .entryDeleted:
      var list = entries(original)
      old.object["order"] = nil
      new.object["order"] = nil
      let index = Int.random(in: 0..<original.required.count, using: &random)
      let entry = list.remove(at: index)
      new.object["toolsCalled"] = list.isEmpty ? nil : .array(list)
      planted.kind = .regressed
      planted.signs = [
        .init(
          .expectationDeleted, "toolsCalled[\(index)]", accepted: "\(entry)", effect: .regression)
      ]
    case .limitDeleted:
      new.object["maxSteps"] = nil
      planted.kind = .regressed
      planted.signs = [
        .init(.expectationDeleted, "maxSteps", accepted: "60", effect: .regression)
      ]
    case .stopDeleted:
      new.object["stopReason"] = nil
      planted.kind = .regressed
      planted.signs = [
        .init(.expectationDeleted, "stopReason", accepted: "\"success\"", effect: .regression)
      ]
    case .limitRaised:
      new.object["maxSteps"] = 61
      planted.kind = .regressed
      planted.signs = [
        .init(
          .expectationWeakened, "maxSteps", accepted: "60", actual: "61", effect: .regression)
      ]
    case .inputLoosened:
      let index = Int.random(in: 0..<original.required.count, using: &random)
      var list = entries(original)
      let call = calls[original.required[index]]
      list[index] = [
        "tool": .string(call.tool), "input": ["n": call.input["n"] ?? .null],
      ]
      new.object["toolsCalled"] = .array(list)
      planted.kind = .regressed
      planted.signs = [
        .init(
          .expectationWeakened, "toolsCalled[\(index)]", actual: "\(list[index])",
          effect: .regression)
      ]
    case .stopWidened:
      new.object["stopReason"] = ["blocked", "success"]
      planted.kind = .regressed
      planted.signs = [.init(.expectationWeakened, "stopReason", effect: .regression)]
    case .prohibitionNarrowed:
      new.object["toolsNotCalled"] = ["forbidden_x*", "never"]
      planted.kind = .regressed
      planted.signs = [.init(.expectationWeakened, "toolsNotCalled[0]", effect: .regression)]
    case .orderDropped:
      old.object["order"] = "in_order"
      new.object["order"] = nil
      planted.kind = .regressed
      planted.signs = [.init(.expectationDeleted, "order", effect: .regression)]
    case .warned:
      var rest = original.object
      rest["maxSteps"] = nil
      old.expected = [.object(rest), ["maxSteps": 60]]
      new.expected = [.object(rest), ["maxSteps": 60, "severity": "warning"]]
      planted.kind = .regressed
      planted.signs = [
        .init(
          .expectationWeakened, "[1].maxSteps", accepted: "60", actual: "warning 60",
          effect: .regression)
      ]
    case .matcherLoosened:
      new.object["answer"] = ["$contains": "all"]
      planted.kind = .regressed
      planted.signs = [.init(.expectationWeakened, "answer", effect: .regression)]
    case .limitLowered:
      new.object["maxSteps"] = 59
      planted.signs = [.init(.expectationStrengthened, "maxSteps")]
    case .inputTightened:
      let index = Int.random(in: 0..<original.required.count, using: &random)
      var list = entries(original)
      list[index] = [
        "tool": .string(calls[original.required[index]].tool),
        "input": .object(calls[original.required[index]].input),
      ]
      new.object["toolsCalled"] = .array(list)
      planted.signs = [.init(.expectationStrengthened, "toolsCalled[\(index)]")]
    case .matcherChanged:
      new.object["answer"] = ["$regex": "^done"]
      planted.kind = .regressed
      planted.signs = [.init(.expectationChanged, "answer", effect: .regression)]
    case .added:
      new.object["maxToolCalls"] = 60
      planted.signs = [.init(.expectationAdded, "maxToolCalls", actual: "60")]
    case .addedAndFailing:
      new.object["maxToolCalls"] = 0
      planted.kind = .regressed
      planted.signs = [
        .init(.check, "maxToolCalls", actual: "fail", effect: .regression),
        .init(.expectationAdded, "maxToolCalls", actual: "0"),
      ]
    case .moved:
      // The same is asked, in another order and in another place.
      new.object["toolsNotCalled"] = ["never", "forbidden_*"]
      new.expected = [new.expected]
    case .gone: return (old, nil, planted)
    case .new:
      planted.kind = .new
      return (nil, new, planted)
    case .skipped:
      new.skip = CaseSkip(reason: "later", until: "2099-01-01")
      planted.kind = .regressed
      planted.signs = [
        .init(
          .skip, "skip", accepted: "judged", actual: "left out: later (until 2099-01-01)",
          effect: .regression)
      ]
    }
    return (old, new, planted)
  }
}
