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

  /// The keys of each type's data; an `!` behind a name says that it is always there.
  private static let types: [(name: String, schema: JSONValue)] = [
    (
      EventType.runStarted.rawValue,
      object(
        "The run began.",
        [
          ("formatVersion!", integer, "The version of the log format: 1."),
          (
            "agent",
            object(
              "",
              [
                ("name", string, "The agent's name."),
                ("version", string, "The agent's version."),
                ("digest", string, "SHA-256 of the agent file's bytes."),
              ]), "Who ran."
          ),
          ("goal", any, "What the agent was to do."),
          ("input", any, "What a user said first."),
          ("limits", ref("limits"), "What the run might use at most."),
          (
            "policyContext",
            object(
              "",
              [
                ("actorId", string, "The principal on whose behalf the agent ran."),
                ("tenantId", string, "The tenant of that principal."),
                ("route", string, "The route that led to the agent."),
                ("attributes", mapping, "Anything else."),
              ]), "Who the run acted for."
          ),
          ("policyDigest", string, "SHA-256 of the policy file's bytes."),
          ("tools", list(ref("tool")), "The tools of the agent."),
          (
            "model",
            object(
              "",
              [
                ("provider", string, "Who served the model."), ("name", string, "Its name."),
              ]), "Which model decided."
          ),
          ("seed", integer, "The seed of everything random."),
          (
            "case",
            object(
              "",
              [
                ("caseId!", string, "The eval case."), ("trial", integer, "Which trial of it."),
              ]), "The case that was run."
          ),
          (
            "parent",
            object(
              "",
              [
                ("runId!", string, "The other run."),
                ("seq!", ref("count"), "The last event that both share."),
                ("relation!", string, "fork, task or subagent."),
              ]), "The run that this one came from."
          ),
          ("pipelineId", string, "The pipeline it is part of."),
          ("taskId", string, "The task of that pipeline."),
          ("recorded", mapping, "Imports: none or partial for each channel that is not whole."),
          ("source", mapping, "Imports: format, file, index and labels of the source."),
          ("tags", list(string), "Words to find it by."),
        ])
    ),
    (
      EventType.toolsListed.rawValue,
      object(
        "A source of tools was asked what it offers.",
        [
          ("source!", ref("text"), "Which source."), ("tools!", list(ref("tool")), "Its tools."),
          ("digest!", string, "SHA-256 of the canonical list."),
        ])
    ),
    (
      EventType.contextBuilt.rawValue,
      object(
        "What the model was given before a decision.",
        [
          ("runId!", string, "The run."), ("goal", any, "What the agent is to do."),
          ("stateSummary", mapping, "A few figures of the state."),
          ("observations", list(any), "What was observed: id and summary."),
          ("toolsDisclosed", list(string), "Names of the tools that it may call."),
          ("evidenceRefs", list(string), "Ids of results that an answer may cite."),
          ("memoryRefs", list(string), "Notes that were read, as scope/key."),
          ("included", list(ref("contextItem")), "What was taken in, and why."),
          ("omittedRefs", list(ref("contextItem")), "What was left out, and why."),
          (
            "prompt", object("", [("messages", list(any), "Each with role and content.")]),
            "The messages as the model got them."
          ),
          (
            "tokens",
            object(
              "",
              [
                ("estimate", ref("count"), "Estimated tokens of the prompt."),
                ("budget", ref("count"), "How many there may be."),
              ]), "How large the prompt is."
          ),
        ])
    ),
    (
      EventType.modelResult.rawValue,
      object(
        "A try of a call to a model.",
        [
          ("purpose!", string, "decide, summarize, human or judge."),
          ("attempt!", integer, "Which try, from 1."),
          ("requestDigest", string, "SHA-256 of the canonical request."),
          ("reply", any, "The reply as it was received."),
          ("error", ref("text"), "Why there is none."),
          (
            "usage",
            object(
              "",
              [
                ("inputTokens", ref("count"), "Tokens that went in."),
                ("outputTokens", ref("count"), "Tokens that came out."),
              ]), "Tokens of this try."
          ),
          ("cost", number, "Money, in the currency of the model's prices."),
          ("model", string, "The model that answered."),
          ("finishReason", string, "Why it ended, in its own word."),
          ("elapsedMicroseconds", ref("count"), "How long it took."),
        ])
    ),
    (
      EventType.decision.rawValue,
      object(
        "What the reply was read as.",
        [
          (
            "kind!", words(["answer", "tool", "ask_human", "stop", "invalid"]),
            "What kind of decision."
          ),
          ("text", ref("text"), "The answer."),
          ("evidenceRefs", list(string), "What the answer rests on."),
          ("calls", list(ref("call")), "The calls that are proposed."),
          ("question", ref("text"), "The question to a person."),
          ("reason", ref("text"), "Why the model stops, or why the reply is no decision."),
          ("caller", string, "Who makes the calls; the agent without it."),
          ("modelResult", ref("count"), "The event with the reply."),
        ])
    ),
    (
      EventType.policyDecision.rawValue,
      object(
        "The gate's verdict on a call.",
        [
          ("callId!", string, "The call."), ("tool!", ref("text"), "Its tool."),
          ("status!", words(VerdictStatus.allCases.map(\.rawValue)), "The verdict."),
          ("reason!", ref("text"), "Why."), ("ruleId", string, "The rule that decided."),
          ("context", mapping, "What the gate knew."),
        ])
    ),
    (
      EventType.toolStarted.rawValue,
      object(
        "A tool is about to run.",
        [
          ("callId!", string, "The call."), ("tool!", ref("text"), "The tool."),
          ("attempt!", integer, "Which try, from 1."),
          ("idempotencyKey!", string, "The same for every try."),
        ])
    ),
    (
      EventType.toolResult.rawValue,
      object(
        "What became of a call.",
        [
          ("callId!", string, "The call."), ("tool!", ref("text"), "The tool."),
          ("caller", string, "Who made the call; the agent without it."),
          ("status!", words(["ok", "refused", "error"]), "How it ended."),
          ("data", any, "What the tool returned."), ("reason", any, "Why it did not."),
          ("effect", words(["unknown"]), "Nobody knows whether it did its work."),
          ("attempts", integer, "How often the tool was started."),
          ("elapsedMicroseconds", ref("count"), "How long it took."),
        ])
    ),
    (
      EventType.approval.rawValue,
      object(
        "A person granted or denied a call.",
        [
          ("callId!", string, "The call."), ("actionId!", string, "What the answer covers."),
          ("granted!", ["type": "boolean"], "Whether it may run."),
          ("by!", ref("text"), "Who answered."), ("reason", string, "Why."),
        ])
    ),
    (
      EventType.humanReplied.rawValue,
      object(
        "A person spoke.",
        [
          ("text!", any, "What they said."), ("by", string, "Who."),
          ("replyTo", ref("count"), "The event that asked."),
        ])
    ),
    (EventType.memoryRead.rawValue, note("A note was looked up.")),
    (EventType.memoryWritten.rawValue, note("A note was kept.")),
    (
      EventType.breakerChanged.rawValue,
      object(
        "A tool's circuit breaker changed.",
        [
          ("tool!", ref("text"), "The tool."),
          ("state!", words(BreakerChanged.State.allCases.map(\.rawValue)), "Its state now."),
          ("failures!", ref("count"), "Failures in a row so far."),
        ])
    ),
    (
      EventType.runResumed.rawValue,
      object(
        "The log was opened again.",
        [
          ("why!", ref("text"), "Why."), ("cutAt", ref("count"), "Where a torn log was cut."),
          ("bytesDropped", ref("count"), "How much was cut off."),
        ])
    ),
    (
      EventType.stop.rawValue,
      object(
        "The run ended or paused.",
        [
          ("reason!", words(StopReason.names), "Why."), ("detail", string, "Its cause."),
          ("answer", ref("text"), "The run's answer."),
          ("evidenceRefs", list(string), "What the answer rests on."),
          ("final", ["type": "boolean"], "Whether the run may not go on in this log."),
          ("totals", ref("totals"), "What the run used."),
          ("stateFormat", integer, "The format of the state that the digest speaks of."),
          ("stateDigest", string, "The digest of the state before this event."),
        ])
    ),
  ]

  // MARK: Parts

  private static let count: JSONValue = ["type": "integer", "minimum": 0]
  /// A text that may have been cut, lost, or no UTF-8.
  private static let text: JSONValue = ["type": ["string", "object"]]

  private static let call = object(
    "A call that a decision proposes.",
    [
      ("callId!", string, "Ours: step, try and index."), ("name!", ref("text"), "The tool."),
      ("input!", any, "What goes in."), ("providerCallId", string, "The model's own id."),
    ])

  private static let tool = object(
    "A tool as the model and the gate see it.",
    [
      ("name!", string, "Its name."), ("description", string, "What the model is told."),
      ("inputSchema", any, "The JSON Schema of its input."),
      ("outputSchema", any, "The JSON Schema of its result."),
      ("sideEffect", words(SideEffect.allCases.map(\.rawValue)), "What running it does."),
      ("sensitivity", string, "A word of the agent's author."),
      ("timeoutSeconds", number, "Seconds until a call is cut off."),
      ("idempotent", ["type": "boolean"], "Whether a call may be made again."),
    ])

  private static let limits = object(
    "What a run may use at most.",
    [
      ("maxSteps", integer, "Decisions."), ("maxToolCalls", integer, "Executed calls."),
      ("maxTokens", integer, "Tokens in and out."), ("maxCost", number, "Money."),
      ("timeoutSeconds", number, "Seconds of active run time."),
    ])

  private static let totals = object(
    "What a run used.",
    [
      ("steps!", ref("count"), "Completed steps."),
      ("toolCalls!", ref("count"), "Executed calls."),
      ("modelCalls!", ref("count"), "Tries of calls to models."),
      ("inputTokens!", ref("count"), "Tokens that went in."),
      ("outputTokens!", ref("count"), "Tokens that came out."),
      ("cost", number, "Money; absent when unknown."),
    ])

  private static let contextItem = object(
    "Something that was taken in or left out.",
    [("ref!", ref("text"), "What."), ("reason!", ref("text"), "Why.")])

  private static func note(_ summary: String) -> JSONValue {
    object(
      summary,
      [
        ("scope!", string, "run, agent or actor."), ("key!", string, "What it is found by."),
        ("value", any, "The note; absent where there is none."),
      ])
  }

  // MARK: Shapes

  private static let any: JSONValue = [:]
  private static let string: JSONValue = ["type": "string"]
  private static let integer: JSONValue = ["type": "integer"]
  private static let number: JSONValue = ["type": "number"]
  private static let mapping: JSONValue = ["type": "object"]

  private static func words(_ words: [String]) -> JSONValue { ["enum": JSONValue(words)] }
  private static func list(_ items: JSONValue) -> JSONValue { ["type": "array", "items": items] }
  private static func ref(_ name: String) -> JSONValue { ["$ref": .string("#/$defs/\(name)")] }

  private static func object(
    _ summary: String, _ keys: [(name: String, schema: JSONValue, note: String)]
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
