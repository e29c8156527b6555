import AgentTrace

/// The schema of a line of a run log, references resolved; Docs/log-format.md says it in words.
///
/// Keys that it does not name are allowed everywhere, because newer versions add some.
enum EventSchema {
  /// An event or a mark.
  static var line: JSONObject {
    [
      "type": "object",
      "if": ["required": ["mark"]],
      "then": ["$ref": "#/$defs/mark"],
      "else": ["$ref": "#/$defs/event"],
      "$defs": .object(definitions),
    ]
  }

  private static var definitions: JSONObject {
    var definitions: JSONObject = [
      "event": event, "mark": mark, "call": call, "tool": tool, "limits": limits,
      "totals": totals, "contextItem": contextItem, "text": text, "count": count,
    ]
    for type in types { definitions[type.name] = type.schema }
    return definitions
  }

  // MARK: Envelopes

  private static var event: JSONValue {
    [
      "type": "object", "required": ["seq", "step", "type", "runId", "t", "data"],
      "properties": [
        "seq": [
          "$ref": "#/$defs/count", "description": "The event's number: from 0, without gaps.",
        ],
        "step": [
          "$ref": "#/$defs/count",
          "description": "The step it belongs to: from 1; 0 for what precedes the first.",
        ],
        "type": [
          "type": "string",
          "description": .string(
            "What kind of fact it states: \(EventType.known.map(\.rawValue).alternatives)."),
        ],
        "runId": ["type": "string", "description": "The run it belongs to."],
        "time": [
          "type": "string",
          "description": "When it happened, in UTC, for people; nothing is ordered by it.",
        ],
        "t": [
          "$ref": "#/$defs/count",
          "description": "Microseconds of active run time, pauses excluded.",
        ],
        "data": ["type": "object", "description": "What happened."],
      ],
      "allOf": .array(
        types.map { type in
          [
            "if": ["properties": ["type": ["const": .string(type.name)]]],
            "then": ["properties": ["data": ["$ref": .string("#/$defs/\(type.name)")]]],
          ]
        }),
    ]
  }

  private static let mark: JSONValue = [
    "type": "object", "required": ["mark", "data"],
    "properties": [
      "mark": [
        "type": "string",
        "description": "seal, summary, checkpoint or gap: a line without a number.",
      ],
      "data": ["description": "What the mark says."],
    ],
  ]

  // MARK: Event types

  /// What each type's data holds; an `!` behind a key says that it is always there.
  private static let types: [(name: String, schema: JSONValue)] = ownTypes + pipelineTypes

  private static let ownTypes: [(name: String, schema: JSONValue)] = [
    (EventType.runStarted.rawValue, runStarted),
    (EventType.toolsListed.rawValue, toolsListed),
    (EventType.contextBuilt.rawValue, contextBuilt),
    (EventType.modelResult.rawValue, modelResult),
    (EventType.decision.rawValue, decision),
    (EventType.policyDecision.rawValue, policyDecision),
    (EventType.toolStarted.rawValue, toolStarted),
    (EventType.toolResult.rawValue, toolResult),
    (EventType.approval.rawValue, approval),
    (EventType.humanReplied.rawValue, humanReplied),
    (EventType.memoryRead.rawValue, memoryRead),
    (EventType.memoryWritten.rawValue, memoryWritten),
    (EventType.breakerChanged.rawValue, breakerChanged),
    (EventType.requestForwarded.rawValue, requestForwarded),
    (EventType.replyChanged.rawValue, replyChanged),
    (EventType.unseen.rawValue, unseen),
    (EventType.runResumed.rawValue, runResumed),
    (EventType.stop.rawValue, stop),
  ]

  private static let runStarted: JSONValue = object(
    "The run began.",
    [
      Key("formatVersion!", integer, "The version of the log format: 1."),
      Key(
        "agent",
        object(
          "",
          [
            Key("name", string, "The agent's name."),
            Key("version", string, "The agent's version."),
            Key("digest", string, "SHA-256 of the agent file's bytes."),
          ]), "Who ran."
      ),
      Key("goal", any, "What the agent was to do."),
      Key("input", any, "What a user said first."),
      Key("limits", ref("limits"), "What the run might use at most."),
      Key(
        "policyContext",
        object(
          "",
          [
            Key("actorId", string, "The principal on whose behalf the agent ran."),
            Key("tenantId", string, "The tenant of that principal."),
            Key("route", string, "The route that led to the agent."),
            Key("attributes", mapping, "Anything else."),
          ]), "Who the run acted for."
      ),
      Key("policyDigest", string, "SHA-256 of the policy file's bytes."),
      Key("tools", list(ref("tool")), "The tools of the agent."),
      Key(
        "model",
        object(
          "",
          [
            Key("provider", string, "Who served the model."), Key("name", string, "Its name."),
          ]), "Which model decided."
      ),
      Key(
        "models", mapping,
        "How each model was asked, by purpose: provider, name, baseUrl, temperature and so on; of human also system and by."
      ),
      Key(
        "origins", mapping,
        "Who said what the agent file does not, by its key there: case, command_line, parent, fork or resume."
      ),
      Key(
        "inputs", mapping,
        "What else the agent file and its policy said that decides what a run does, by the keys of an agent file."
      ),
      Key("seed", integer, "The seed of everything random."),
      Key(
        "case",
        object(
          "",
          [
            Key("caseId!", string, "The eval case."), Key("trial", integer, "Which trial of it."),
          ]), "The case that was run."
      ),
      Key(
        "parent",
        object(
          "",
          [
            Key("runId!", string, "The other run."),
            Key("seq!", ref("count"), "The last event that both share."),
            Key("relation!", string, "fork, task, subagent or judge."),
            Key("depth", integer, "Sub-agents: how many calls lead to it, from 1."),
            Key("digest", string, "Sub-agents: SHA-256 of the data of the event that started it."),
            Key(
              "edit", mapping,
              "Forks: decision or result with the number of the event put in its place; dropContext."
            ),
            Key(
              "inputs", mapping,
              "Forks: what both shared was made under, where it is otherwise now: digests of agent and policy, limits, models, tools."
            ),
          ]), "The run that this one came from."
      ),
      Key("pipelineId", string, "The pipeline it is part of."),
      Key("taskId", string, "The task of that pipeline."),
      Key(
        "recorded", mapping,
        "Imports: none or partial for each channel that is not whole; of calls, partial where some may have gone unread."
      ),
      Key(
        "source", mapping,
        "Imports: format, file, index and labels of the source, and the places that went unread."),
      Key("tags", list(string), "Words to find it by."),
    ])

  private static let toolsListed: JSONValue = object(
    "A source of tools was asked what it offers.",
    [
      Key("source!", ref("text"), "Which source."),
      Key("tools!", list(ref("tool")), "The tools that the run has of it from here on."),
      Key(
        "offered",
        list(
          object(
            "",
            [
              Key("name!", ref("text"), "What the source calls it."),
              Key("title", string, "A name for people."),
              Key("description", ref("text"), "What the source says of it."),
              Key("inputSchema", any, "A JSON Schema of its input."),
              Key("outputSchema", any, "A JSON Schema of its result."),
              Key("annotations", mapping, "What the source hints of its effects."),
            ])), "What the source says of the tools that the agent file asks for."),
      Key(
        "withheld",
        list(
          object(
            "",
            [
              Key("name!", ref("text"), "What the source calls it."),
              Key("reason!", ref("text"), "Why the run does not have it."),
            ])), "Tools that the run does not have, or no longer."),
      Key("server", mapping, "Who answered: name, version, protocol."),
      Key("error", ref("text"), "Why the list is of no use."),
      Key("digest!", string, "SHA-256 of the canonical list."),
    ])

  private static let contextBuilt: JSONValue = object(
    "What the model was given before a decision.",
    [
      Key("runId!", string, "The run."), Key("goal", any, "What the agent is to do."),
      Key("stateSummary", mapping, "A few figures of the state."),
      Key("observations", list(any), "What was observed: id and summary."),
      Key("toolsDisclosed", list(string), "Names of the tools that it may call."),
      Key("evidenceRefs", list(string), "Ids of results that an answer may cite."),
      Key("memoryRefs", list(string), "Notes that were read, as scope/key."),
      Key("included", list(ref("contextItem")), "What was taken in, and why."),
      Key("omittedRefs", list(ref("contextItem")), "What was left out, and why."),
      Key(
        "prompt", object("", [Key("messages", list(any), "Each with role and content.")]),
        "The messages as the model got them."
      ),
      Key(
        "tokens",
        object(
          "",
          [
            Key("estimate", ref("count"), "Estimated tokens of the prompt."),
            Key("budget", ref("count"), "How many there may be."),
          ]), "How large the prompt is."
      ),
    ])

  private static let modelResult: JSONValue = object(
    "A try of a call to a model.",
    [
      Key("purpose!", string, "decide, summarize, plan, reflect, human or judge."),
      Key("attempt!", integer, "Which try, from 1."),
      Key(
        "requestDigest", string,
        "SHA-256 of the whole request: messages, tools and the settings of the model."),
      Key("reply", any, "The reply as it was received."),
      Key("error", ref("text"), "Why there is none."),
      Key(
        "usage",
        object(
          "",
          [
            Key("inputTokens", ref("count"), "Tokens that went in."),
            Key("outputTokens", ref("count"), "Tokens that came out."),
            Key(
              "cachedInputTokens", ref("count"), "Of those that went in, those read from a cache."),
            Key(
              "cacheWriteTokens", ref("count"), "Of those that went in, those written to a cache."),
            Key("reasoningTokens", ref("count"), "Of those that came out, what the model thought."),
          ]), "Tokens of this try."
      ),
      Key("cost", number, "Money, in the currency of the model's prices."),
      Key("model", string, "The model that answered."),
      Key("finishReason", string, "Why it ended, in its own word."),
      Key("elapsedMicroseconds", ref("count"), "How long it took."),
      Key("through", string, "Of a summary, the last observation that it tells of."),
      Key(
        "modelVersion", string, "What replied, as the provider names it, where that is not model."),
      Key("requestId", string, "The provider's id of the request."),
      Key("status", integer, "The status of HTTP."),
      Key("responseDigest", string, "SHA-256 of the body as it was received."),
      Key("final", ["type": "boolean"], "Of an error: the model is not asked again."),
      Key(
        "retryAfterMicroseconds", ref("count"),
        "Of an error: how long until the model is asked again."),
      Key("wire", wire, "Of a call that a proxy passed on, what went over the wire."),
    ])

  private static let decision: JSONValue = object(
    "What the reply was read as.",
    [
      Key(
        "kind!", words(["answer", "tool", "ask_human", "stop", "invalid"]),
        "What kind of decision."
      ),
      Key("text", ref("text"), "The answer."),
      Key("evidenceRefs", list(string), "What the answer rests on."),
      Key("calls", list(ref("call")), "The calls that are proposed."),
      Key("question", ref("text"), "The question to a person."),
      Key("reason", ref("text"), "Why the model stops, or why the reply is no decision."),
      Key(
        "detail", string,
        "Of a stop, what kind of refusal: refusal or content_filter; the model's plain word without it."
      ),
      Key("caller", string, "Who makes the calls; the agent without it."),
      Key("modelResult", ref("count"), "The event with the reply."),
      Key("conversation", ref("count"), "Which of several conversations side by side."),
      Key(
        "ofAgent", ["type": "boolean"],
        "Whether it is the agent's own conversation, which was handed over to the caller."),
    ])

  private static let policyDecision: JSONValue = object(
    "The gate's verdict on a call.",
    [
      Key("callId!", string, "The call."), Key("tool!", ref("text"), "Its tool."),
      Key("status!", words(VerdictStatus.allCases.map(\.rawValue)), "The verdict."),
      Key("reason!", ref("text"), "Why."), Key("ruleId", string, "The rule that decided."),
      Key("context", mapping, "What the gate knew."),
      Key("authorization", authorization, "What an authorizer said, where the rule asks one."),
    ])

  private static let authorization: JSONValue = object(
    "What an authorizer said.",
    [
      Key("authorizer!", string, "Its name in the policy."),
      Key("requestDigest!", string, "SHA-256 of what it was asked, in canonical form."),
      Key("status!", words(VerdictStatus.allCases.map(\.rawValue)), "What its answer comes to."),
      Key("reason", string, "Why, in its words."), Key("answer", any, "What it answered."),
      Key("error", string, "Why there is no answer, or none that says anything."),
      Key("elapsedMicroseconds!", integer, "From asking to its answer."),
    ])

  private static let toolStarted: JSONValue = object(
    "A tool is about to run.",
    [
      Key("callId!", string, "The call."), Key("tool!", ref("text"), "The tool."),
      Key("attempt!", integer, "Which try, from 1."),
      Key("idempotencyKey!", string, "The same for every try."),
      Key(
        "child",
        object(
          "",
          [
            Key("runId!", string, "Its identifier."),
            Key("limits!", ref("limits"), "What it may use of what is left to this run."),
          ]), "Of a tool that is an agent: the run that this try is."),
    ])

  private static let toolResult: JSONValue = object(
    "What became of a call.",
    [
      Key("callId!", string, "The call."), Key("tool!", ref("text"), "The tool."),
      Key("caller", string, "Who made the call; the agent without it."),
      Key("by", string, "The person who said what became of it, where no tool did."),
      Key("executedBy", string, "Who ran it, where that is not who runs the agent: provider."),
      Key("status!", words(["ok", "returned", "refused", "error"]), "How it ended."),
      Key("data", any, "What the tool returned."), Key("reason", any, "Why it did not."),
      Key("effect", words(["unknown"]), "Nobody knows whether it did its work."),
      Key("attempts", integer, "How often the tool was started."),
      Key("elapsedMicroseconds", ref("count"), "How long it took."),
      Key(
        "child",
        object(
          "",
          [
            Key("runId!", string, "Its identifier."),
            Key(
              "stop!",
              object(
                "",
                [
                  Key("reason!", words(StopReason.names), "The kind of end."),
                  Key("detail", string, "What exactly."),
                ]), "Why it stopped."),
            Key("totals!", ref("totals"), "What it used, with what its own children used."),
            Key("sealDigest!", string, "The digest of the last seal of its log."),
          ]), "Of a tool that is an agent: how the run ended that the call was."),
    ])

  private static let approval: JSONValue = object(
    "A person granted or denied a call.",
    [
      Key("callId!", string, "The call."), Key("actionId!", string, "Its tool and input."),
      Key("granted!", ["type": "boolean"], "Whether it may run."),
      Key("by!", ref("text"), "Who answered."), Key("reason", string, "Why."),
      Key(
        "scope",
        [
          "oneOf": [
            ["const": "input"],
            [
              "type": "object", "required": ["calls"],
              "properties": [
                "calls": [
                  "type": "integer", "minimum": 1, "description": "How many calls, this one first.",
                ]
              ],
            ],
          ]
        ],
        "What a yes covers: this call and the next calls of equal tool and input, so many in all, or each "
          + "of them for the run; that too where it is missing."),
      Key("until", string, "When a yes runs out, in UTC."),
      Key("modelResult", ref("count"), "The reply it was read from, where a model played them."),
    ])

  private static let humanReplied: JSONValue = object(
    "A person spoke.",
    [
      Key("text!", any, "What they said."), Key("by", string, "Who."),
      Key("replyTo", ref("count"), "The event that asked."),
      Key("modelResult", ref("count"), "The reply it was read from, where a model played them."),
    ])

  private static let memoryRead: JSONValue = note("A note was looked up.")

  private static let memoryWritten: JSONValue = note("A note was kept.")

  private static let breakerChanged: JSONValue = object(
    "A tool's circuit breaker changed.",
    [
      Key("tool!", ref("text"), "The tool."),
      Key("state!", words(BreakerChanged.State.allCases.map(\.rawValue)), "Its state now."),
      Key("failures!", ref("count"), "Failures in a row so far."),
    ])

  private static let requestForwarded: JSONValue = object(
    "A proxy passed on a request that is no call of a model.",
    [
      Key("method!", ref("text"), "For example GET."),
      Key("path!", ref("text"), "Behind the base URL of whoever got it, with the query."),
      Key("bodyDigest!", string, "SHA-256 of the request's body."),
      Key("status", integer, "The status of the reply."),
      Key("error", ref("text"), "Why none came."),
      Key("elapsedMicroseconds", ref("count"), "How long it took."),
      Key("wire", wire, "What went over the wire."),
    ])

  private static let replyChanged: JSONValue = object(
    "A proxy took calls out of a reply before whoever asked saw it.",
    [
      Key("modelResult!", ref("count"), "The event that holds the reply as it came."),
      Key("removed!", list(string), "The calls that were taken out."),
      Key("wire", wire, "What whoever asked was given."),
    ])

  /// What a proxy passed on, and what came back.
  private static let wire: JSONValue = object(
    "",
    [
      Key("upstream!", string, "Who got the request: openai, anthropic or another name."),
      Key("method!", string, "The request's method."),
      Key("path!", string, "Behind the upstream's base URL, with the query."),
      Key("dialect", string, "How it is written: openai, anthropic or openai-responses."),
      Key("stream", ["type": "boolean"], "Whether the reply was to be streamed."),
      Key("model", string, "The model that the request names."),
      Key("parameters", mapping, "What else the request asks for."),
      Key("status", integer, "The status of the reply."),
      Key("headers", list(any), "Headers of the reply: name and value."),
      Key("body", any, "The body of the reply."),
      Key("pieces", list(ref("count")), "The bytes of each piece in which the body came."),
      Key("ending", words(["whole", "cut", "dropped"]), "How the reply ended."),
      Key("omitted", string, "Why the reply was not kept."),
    ])

  private static let unseen: JSONValue = object(
    "Something went by that could not be read.",
    [
      Key("what!", string, "What it was: reply, request, forwarded, command or connections."),
      Key(
        "channels!", mapping,
        "none or partial for each channel that may lack it, as in run_started; empty for a note."),
      Key("reason!", ref("text"), "Why it could not be read."),
      Key("caller", string, "Who spoke; the agent without it."),
      Key("modelResult", ref("count"), "The event with the reply."),
    ])

  private static let runResumed: JSONValue = object(
    "The log was opened again.",
    [
      Key("why!", ref("text"), "Why."), Key("cutAt", ref("count"), "Where a torn log was cut."),
      Key("bytesDropped", ref("count"), "How much was cut off."),
      Key("agentDigest", string, "SHA-256 of the agent file that goes on, where it is another."),
      Key("policyDigest", string, "SHA-256 of the policy file that goes on, where it is another."),
      Key("models", mapping, "How each model is asked from here on, where that is not as before."),
      Key("origins", mapping, "Who said what the agent file that goes on does not."),
      Key("inputs", mapping, "What else the files that go on say, where they are others."),
    ])

  private static let stop: JSONValue = object(
    "The run ended or paused.",
    [
      Key("reason!", words(StopReason.names), "Why."), Key("detail", string, "Its cause."),
      Key("answer", ref("text"), "The run's answer."),
      Key("evidenceRefs", list(string), "What the answer rests on."),
      Key("final", ["type": "boolean"], "Whether the run may not go on in this log."),
      Key("totals", ref("totals"), "What the run used."),
      Key("stateFormat", integer, "The format of the state that the digest speaks of."),
      Key("stateDigest", string, "The digest of the state before this event."),
    ])

  // MARK: Parts

  private static let count: JSONValue = ["type": "integer", "minimum": 0]
  /// A text that may have been cut, lost, or no UTF-8.
  private static let text: JSONValue = ["type": ["string", "object"]]

  private static let call = object(
    "A call that a decision proposes.",
    [
      Key("callId!", string, "Ours: step, try and index."), Key("name!", ref("text"), "The tool."),
      Key("input!", any, "What goes in."), Key("providerCallId", string, "The model's own id."),
      Key("executedBy", string, "Who ran it, where that is not who runs the agent: provider."),
    ])

  private static let tool = object(
    "A tool as the model and the gate see it.",
    [
      Key("name!", string, "Its name."), Key("description", string, "What the model is told."),
      Key("inputSchema", any, "The JSON Schema of its input."),
      Key("outputSchema", any, "The JSON Schema of its result."),
      Key("sideEffect", words(SideEffect.allCases.map(\.rawValue)), "What running it does."),
      Key("sensitivity", string, "A word of the agent's author."),
      Key("timeoutSeconds", number, "Seconds until a call is cut off."),
      Key("idempotent", ["type": "boolean"], "Whether a call may be made again."),
      Key(
        "decides", words(["answer", "ask_human", "stop"]),
        "The kind of decision that a call of it makes in place of running."),
      Key(
        "agent",
        object(
          "",
          [
            Key("name!", string, "Its name."),
            Key("handoff", ["type": "boolean"], "Whether its answer is this run's own."),
          ]), "The agent that it is: a call of it is a run of its own."),
    ])

  private static let limits = object(
    "What a run may use at most.",
    [
      Key("maxSteps", integer, "Decisions."), Key("maxToolCalls", integer, "Executed calls."),
      Key("maxTokens", integer, "Tokens in and out."), Key("maxCost", number, "Money."),
      Key("timeoutSeconds", number, "Seconds of active run time."),
      Key("maxDepth", integer, "Levels of agents that may be called below the run."),
    ])

  private static let totals = object(
    "What a run used.",
    [
      Key("steps!", ref("count"), "Completed steps."),
      Key("toolCalls!", ref("count"), "Executed calls."),
      Key("modelCalls!", ref("count"), "Tries of calls to models."),
      Key("inputTokens!", ref("count"), "Tokens that went in."),
      Key("outputTokens!", ref("count"), "Tokens that came out."),
      Key("cost", number, "Money; absent when unknown."),
    ])

  private static let contextItem = object(
    "Something that was taken in or left out.",
    [Key("ref!", ref("text"), "What."), Key("reason!", ref("text"), "Why.")])

  private static func note(_ summary: String) -> JSONValue {
    object(
      summary,
      [
        Key("scope!", string, "run, agent, actor or tenant."),
        Key("key!", string, "What it is found by."),
        Key("value", any, "The note; absent where there is none, or none is left."),
        Key("callId", string, "The call that did it."),
        Key("source", string, "store, where it was not the agent file that said it."),
        Key("tags", ["type": "array", "items": string], "Words that it is found by."),
        Key("expires", string, "From when on it counts as not kept, in UTC."),
        Key("keptAt", string, "When it was kept, in UTC, of one that is read."),
        Key(
          "from",
          object(
            "The event.", [Key("runId!", string, "The run."), Key("seq!", integer, "Its number.")]),
          "Which event kept it, of one that is read."),
      ])
  }

  // MARK: Shapes

  static let any: JSONValue = [:]
  static let string: JSONValue = ["type": "string"]
  static let integer: JSONValue = ["type": "integer"]
  static let number: JSONValue = ["type": "number"]
  static let mapping: JSONValue = ["type": "object"]

  /// A key, its schema and what it says.
  struct Key {
    var name: String
    var schema: JSONValue
    var note: String

    init(_ name: String, _ schema: JSONValue, _ note: String) {
      self.name = name
      self.schema = schema
      self.note = note
    }
  }

  static func words(_ words: [String]) -> JSONValue { ["enum": JSONValue(words)] }
  static func list(_ items: JSONValue) -> JSONValue { ["type": "array", "items": items] }
  static func ref(_ name: String) -> JSONValue { ["$ref": .string("#/$defs/\(name)")] }

  static func object(
    _ summary: String, _ keys: [Key]
  ) -> JSONValue {
    var properties = JSONObject()
    var required: [String] = []
    for key in keys {
      let isRequired = key.name.hasSuffix("!")
      let name = isRequired ? String(key.name.dropLast()) : key.name
      if isRequired { required.append(name) }
      var property = key.schema.objectValue ?? [:]
      property["description"] = .string(key.note)
      properties[name] = .object(property)
    }
    var schema: JSONObject = ["type": "object", "properties": .object(properties)]
    if !required.isEmpty { schema["required"] = JSONValue(required) }
    if !summary.isEmpty { schema["description"] = .string(summary) }
    return .object(schema)
  }
}
