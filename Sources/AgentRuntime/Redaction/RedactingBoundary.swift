package import AgentTrace

/// A boundary through which nothing enters that is to be withheld, and behind which tools get the
/// plain values.
///
/// Why: Docs/decisions/0011-secrets-are-withheld-at-the-boundary.md
struct RedactingBoundary: Boundary {
  let base: any Boundary
  let redactor: Redactor
  /// Told what is said before an answer is there.
  let listeners: ProgressListeners

  var clock: any RunClock { base.clock }
  var cancellation: Cancellation { base.cancellation }

  var secrets: RunSecrets { base.secrets }

  func makeRunID() -> String { base.makeRunID() }

  func reply(to request: ModelRequest) async -> ModelAnswer {
    let channel = ProgressChannel(.model(step: request.step), redactor, to: listeners)
    var answer = await RunProgress.$channel.withValue(channel) { await base.reply(to: request) }
    channel.finish()
    answer.reply = answer.reply.map(redactor.redacted(reply:))
    answer.error = answer.error.map { redactor.redacted($0) }
    answer.finishReason = answer.finishReason.map { redactor.redacted($0) }
    answer.modelVersion = answer.modelVersion.map { redactor.redacted($0) }
    answer.requestId = answer.requestId.map { redactor.redacted($0) }
    return answer
  }

  func run(_ request: ToolRequest) async -> ToolAnswer {
    var plain = request
    // What another agent is told stands in its log as well: it gets what this one's may hold, and knows what it stands for.
    plain.child?.redactor = redactor
    let (input, missing) =
      request.child == nil ? redactor.restored(request.input) : (request.input, nil)
    if let missing, base.readiness(of: request.call, step: request.step) == .needsValues {
      // It had begun before its process ended, so that it can no longer be refused.
      return .cutOff(request, reason: Redactor.goneReason(missing), afterMicroseconds: 0)
    }
    plain.input = input
    let channel = ProgressChannel(.tool(callId: request.callId), redactor, to: listeners)
    let asked = plain
    var answer = await RunProgress.$channel.withValue(channel) { await base.run(asked) }
    channel.finish()
    switch answer.result {
    case .ok(let data):
      answer.result = .ok(data: redactor.redacted(data, .result, of: request.tool.name))
    case .returned(let data):
      answer.result = .returned(data: redactor.redacted(data, .result, of: request.tool.name))
    case .refused(let reason): answer.result = .refused(reason: redactor.redacted(reason))
    case .error(let reason, let isEffectUnknown):
      answer.result = .error(
        reason: redactor.redacted(reason), isEffectUnknown: isEffectUnknown)
    }
    for index in answer.notes.indices {
      var note = answer.notes[index].note
      note.value = note.value.map { redactor.redacted($0, ofNote: note.key) }
      note.key = redactor.redacted(note.key)
      note.tags = note.tags.map { redactor.redacted($0) }
      switch answer.notes[index] {
      case .read: answer.notes[index] = .read(note)
      case .written: answer.notes[index] = .written(note)
      }
    }
    return answer
  }

  func authorize(_ request: AuthorizationRequest) async -> Authorization {
    let needsValues = base.readiness(of: request.call, step: 0) == .needsValues
    return await redactor.authorization(for: request, needsValues: needsValues) {
      await base.authorize($0)
    }
  }

  func reasonNotToBegin(_ child: ChildStart, as tool: String) -> String? {
    base.reasonNotToBegin(child, as: tool)
  }

  func tools(_ request: ToolListRequest) async -> ToolOffer? {
    guard var offer = await base.tools(request) else { return nil }
    redactor.keep(toolNames: offer.tools.map(\.name))
    offer.tools = offer.tools.map { tool in
      OfferedTool(
        name: redactor.redacted(tool.name), title: tool.title.map { redactor.redacted($0) },
        description: redactor.redacted(tool.description),
        inputSchema: redactor.redacted(tool.inputSchema),
        outputSchema: tool.outputSchema.map { redactor.redacted($0) },
        annotations: redactor.redacted(.object(tool.annotations)).objectValue ?? [:])
    }
    offer.server = redactor.redacted(.object(offer.server)).objectValue ?? [:]
    offer.error = offer.error.map { redactor.redacted($0) }
    return offer
  }

  func close() async { await base.close() }

  func recall(_ address: MemoryAddress) async -> KeptNote? {
    guard var note = await base.recall(address) else { return nil }
    note.value = redactor.redacted(note.value, ofNote: note.address.key)
    note.tags = note.tags.map { redactor.redacted($0) }
    return note
  }

  /// What is kept is what was recorded: tokens stay tokens.
  func remember(_ request: MemoryRequest) async -> String? {
    await base.remember(request).map { redactor.redacted($0) }
  }

  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    guard var answer = await base.approve(request) else { return nil }
    answer.by = redactor.redacted(answer.by)
    answer.reason = answer.reason.map { redactor.redacted($0) }
    return answer
  }

  func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    guard var answer = await base.answer(request) else { return nil }
    answer.text = redactor.redacted(answer.text)
    answer.by = redactor.redacted(answer.by)
    return answer
  }

  func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? {
    guard var person = base.simulatedPerson(step: step, question: question) else { return nil }
    person.name = redactor.redacted(person.name)
    person.systemPrompt = person.systemPrompt.map { redactor.redacted($0) }
    return person
  }

  func readiness(of call: ProposedCall, step: Int) -> CallReadiness {
    let readiness = base.readiness(of: call, step: step)
    guard readiness == .needsValues, let reason = redactor.reasonNotToCall(with: call.input) else {
      return readiness
    }
    return .refused(reason: reason)
  }
}

extension Redactor {
  /// Asks an authorizer, which sees the plain values; what it says is redacted.
  ///
  /// - Parameter needsValues: whether somebody is asked who cannot decide about tokens.
  package func authorization(
    for request: AuthorizationRequest, needsValues: Bool = true,
    asking ask: (AuthorizationRequest) async -> Authorization
  ) async -> Authorization {
    var plain = request
    let (input, missing) = restored(request.call.input)
    if let missing, needsValues {
      return Authorization(to: request, error: Redactor.goneReason(missing))
    }
    plain.call.input = input
    var answer = await ask(plain)
    answer.reason = answer.reason.map { redacted($0) }
    answer.answer = answer.answer.map { redacted($0) }
    answer.error = answer.error.map { redacted($0) }
    return answer
  }
}

extension ToolRequest {
  fileprivate var call: ProposedCall {
    ProposedCall(callId: callId, name: tool.name, input: input)
  }
}

extension AgentDefinition {
  /// The agent with everything redacted that its runs are told of.
  public func redacted(by redactor: Redactor) -> AgentDefinition {
    var agent = self
    agent.systemPrompt = systemPrompt.map { redactor.redacted($0) }
    for index in instructions.indices {
      agent.instructions[index].template = instructions[index].template.mapPlain {
        redactor.redacted($0)
      }
    }
    for key in [\AgentDefinition.plan, \.reflect] {
      guard var thought = self[keyPath: key] else { continue }
      thought.prompt = thought.prompt.mapPlain { redactor.redacted($0) }
      agent[keyPath: key] = thought
    }
    agent.examples = examples.map {
      ExampleTurn(user: redactor.redacted($0.user), assistant: redactor.redacted($0.assistant))
    }
    agent.policyContext.attributes =
      redactor.redacted(.object(policyContext.attributes)).objectValue
      ?? [:]
    agent.policyContext.actorId = policyContext.actorId.map { redactor.redacted($0) }
    agent.policyContext.tenantId = policyContext.tenantId.map { redactor.redacted($0) }
    agent.policyContext.route = policyContext.route.map { redactor.redacted($0) }
    for index in tools.indices {
      let definition = tools[index].definition
      agent.tools[index].definition.description = redactor.redacted(definition.description)
      agent.tools[index].definition.inputSchema = redactor.redacted(definition.inputSchema)
      agent.tools[index].definition.outputSchema = definition.outputSchema.map {
        redactor.redacted($0)
      }
    }
    for index in sources.indices {
      guard let choices = sources[index].choices else { continue }
      for (place, choice) in choices.enumerated() {
        agent.sources[index].choices?[place].description = choice.description.map {
          redactor.redacted($0)
        }
      }
    }
    for index in memory.indices {
      agent.memory[index].value = memory[index].value.map {
        redactor.redacted($0, ofNote: memory[index].key)
      }
    }
    for index in policy.rules.indices {
      agent.policy.rules[index].reason = policy.rules[index].reason.map { redactor.redacted($0) }
    }
    return agent
  }
}
