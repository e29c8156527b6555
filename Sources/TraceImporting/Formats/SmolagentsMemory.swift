import AgentTrace

/// The memory of smolagents' agents, as `agent.memory.get_full_steps()` and `get_succinct_steps()` give it, and under `steps`
/// of a run's result: `[{"task"},{"step_number","model_output_message","tool_calls","observations","error"},…]`.
///
/// What the tools of a step gave back stands in one text, a line for each where none has lines of its own. An agent of code
/// calls its tools within the code, which is run as one call of `python_interpreter`.
enum SmolagentsMemory: FormatAdapter {
  static let summary = FormatSummary(
    reads: "the memory of smolagents' agents, step by step",
    tells: "calls, results, errors, tokens, the end; not the calls within code")

  /// What a step may hold; what the model was shown is what stands before.
  private static let keys = [
    "action_output", "code_action", "error", "is_final_answer", "model_output",
    "model_output_message", "observations", "output", "plan", "step_number", "system_prompt",
    "task", "token_usage", "tool_calls",
  ]
  private static let quiet: Set<String> = [
    "agent_memory", "duration", "end_time", "model_input_messages", "observations_images",
    "start_time", "task_images", "timing",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: ["steps"]) { step in
      step["step_number"] != nil
        && (step["model_output_message"] != nil || step["observations"] != nil)
    }
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "steps with `step_number` and `model_output_message`")
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        var graph = CallGraph(format: .smolagents)
        let lines = SourceLines(document, keys: ["steps"])
        graph.unread = lines.unread
        for (pointer, step) in lines.values { take(step, at: pointer, &graph) }
        guard !graph.items.isEmpty else { throw ImportError(.noMessages) }
        graph.tellFates()
        graph.modelName = graph.firstModel
        graph.ending = graph.endingByRefusal ?? graph.ending
        return graph
      }
    ]
  }

  private static func take(
    _ step: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph
  ) {
    graph.unread += UnknownMember.places(
      in: step.objectValue ?? [:], besides: keys, quiet: quiet, at: pointer)
    if let prompt = step["system_prompt"], !prompt.saysNothing {
      graph.add(ReadMessage(.system, prompt, of: step, at: pointer))
    }
    if let task = step["task"], !task.saysNothing {
      graph.ending = nil
      graph.add(ReadMessage(.user, task, of: step, at: pointer))
    }
    guard step["step_number"] != nil || step["plan"] != nil else { return }
    let place = pointer.appending("model_output_message")
    let said = step["model_output_message"] ?? .null
    var reply = ReadMessage(
      .assistant, said["content"] ?? step["model_output"] ?? step["plan"], of: step, at: place)
    reply.usage = ReadUsage(step["token_usage"] ?? said["token_usage"])
    reply.time = step["timing"]?["start_time"]?.doubleValue.flatMap { Timestamp(unix: $0) }
    reply.model = said["raw"]?["model"]?.stringValue
    let error = step["error"] ?? .null
    if error["type"] == "AgentGenerationError" {
      var failed = GraphReply(pointers: [pointer])
      failed.error = error["message"]?.stringValue ?? "the model failed"
      return graph.items.append(.reply(failed))
    }
    if error["type"] == "AgentMaxStepsError" {
      return stopAtLimit(step, reply, at: pointer, &graph)
    }
    addCalls(of: step, said, to: &reply, at: pointer)
    if isAnswer(step, reply, at: pointer, &graph) { return }
    graph.add(reply)
    addResults(of: step, reply.calls, error, at: pointer, &graph)
  }

  /// The calls that the model asked for; else those that were read from its text, or its code.
  private static func addCalls(
    of step: JSONValue, _ said: JSONValue, to reply: inout ReadMessage, at pointer: JSONPointer
  ) {
    let place = pointer.appending("model_output_message")
    let asked = said.elements("tool_calls", at: place)
    let ran = step.elements("tool_calls", at: pointer)
    for (place, call) in asked.isEmpty ? ran : asked {
      let function = call["function"] ?? call
      let name = function["name"]?.stringValue
      let isCode = name == "python_interpreter" && function["arguments"]?.stringValue != nil
      var input = function["arguments"]
      if isCode, let code = input { input = ["code": code] }
      reply.add(CallReader.call(name: name, input: input, id: call["id"]?.stringValue), at: place)
    }
    // Which of the functions that code calls are tools, and whether it came to them, nobody can tell.
    if let code = step["code_action"]?.stringValue, code.contains("(") {
      reply.unread.append(pointer.appending("code_action"))
    }
  }

  /// A call of `final_answer` is the answer, and so is what code that called it gave back.
  private static func isAnswer(
    _ step: JSONValue, _ reply: ReadMessage, at pointer: JSONPointer, _ graph: inout CallGraph
  ) -> Bool {
    guard step["is_final_answer"]?.boolValue == true, (step["error"] ?? .null).saysNothing else {
      return false
    }
    graph.ending = ParsedEnding(
      reason: .success, detail: StopDetail.finalAnswer, field: pointer.appending("is_final_answer"))
    var answer = reply
    guard reply.calls.count == 1, let call = reply.calls.first else { return false }
    guard call.name == "final_answer" else {
      // Code ran first, and what it gave back is the answer.
      graph.add(reply)
      addResults(of: step, reply.calls, .null, at: pointer, &graph)
      answer = ReadMessage(.assistant, nil, of: step, at: pointer.appending("action_output"))
      answer.isModelCall = false
      answer.add(text: text(step["action_output"] ?? step["observations"] ?? .null))
      graph.add(answer)
      return true
    }
    answer.calls = []
    answer.texts = []
    answer.parts = []
    answer.add(text: text(call.input.value?["answer"] ?? call.input.value ?? .null))
    answer.extra["finalAnswerCall"] = ["name": .string(call.name), "input": call.input.logged]
    graph.add(answer)
    return true
  }

  /// A text as it stands, and any other value as JSON.
  private static func text(_ value: JSONValue) -> JSONValue {
    value.isText ? value : .string("\(value)")
  }

  /// The agent had no steps left, and its model was asked to sum up.
  private static func stopAtLimit(
    _ step: JSONValue, _ reply: ReadMessage, at pointer: JSONPointer, _ graph: inout CallGraph
  ) {
    graph.ending = ParsedEnding(
      reason: .budgetExhausted, detail: StopDetail.maxSteps, field: pointer.appending("error"))
    guard let output = step["action_output"], !output.saysNothing else { return }
    var last = reply
    if last.text == nil { last.add(text: text(output)) }
    graph.add(last)
  }

  /// What the calls of a step gave back.
  private static func addResults(
    of step: JSONValue, _ calls: [GraphCall], _ error: JSONValue, at pointer: JSONPointer,
    _ graph: inout CallGraph
  ) {
    func add(_ call: GraphCall, _ data: Told, _ status: GraphResult.Status, _ key: String) {
      graph.items.append(
        .result(
          GraphResult(
            id: call.id, tool: call.name, data: data, status: status,
            pointer: pointer.appending(key))))
    }
    guard error.saysNothing else {
      // Of several calls the one that failed is named in a sentence; whether the others ran, in none.
      let words = error["message"].map { Told(text: $0) } ?? .absent
      let sentence = error["message"]?.stringValue ?? ""
      let named = calls.filter {
        sentence.contains("'\($0.name)'") || sentence.contains(" \($0.name),")
      }
      if let call = calls.count == 1 ? calls.first : named.count == 1 ? named.first : nil {
        add(call, words, .error, "error")
      }
      return
    }
    guard let told = step["observations"]?.stringValue else { return }
    if calls.count == 1, let call = calls.first {
      return add(call, .there(.string(told)), .ok, "observations")
    }
    let lines = told.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, call) in calls.enumerated() {
      let data = lines.count == calls.count ? Told.there(.string(String(lines[index]))) : .absent
      add(call, data, .ok, "observations")
    }
  }
}
