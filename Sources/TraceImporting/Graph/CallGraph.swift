import AgentTrace

/// What every source with model calls of its own boils down to, whatever tool wrote it: who said what, which
/// calls were asked for, what came back, in the order in which it happened and each thing once.
///
/// A format fills it; ``GraphEvents`` alone turns it into events.
struct CallGraph {
  var format: ImportFormat
  /// In the order in which they happened.
  var items: [GraphItem] = []
  var agentName: String?
  var modelName: String?
  /// What the source says about the run in a word or figure.
  var labels: JSONObject = [:]
  /// Everything else that the source holds about the run.
  var extra: JSONObject = [:]
  /// How the run ended, where the source says so.
  var ending: ParsedEnding?
  /// Where something stands that no rule of the format covers, and that may be a call; items have their own.
  var unread: [JSONPointer] = []
  /// Where calls that are seen are known to be none of the run's.
  var leftOut: Set<JSONPointer> = []
  /// What the source speaks of and does not hold.
  var missing: [MissingPart] = []
  /// Whether a call may have made others, of an agent that is a tool, that stand in another source.
  var mayHideInnerCalls = false
  /// Whether the run may go on elsewhere, so that calls without a result are no gap: it ended with them.
  var endsInCalls = false
  /// Whether more may have happened than was told so far, so that nothing can be said against what is not there.
  var mayGoOn = false

  /// Whether the source says that the run gave no answer, whatever was said last.
  var hasNoAnswer = false
  /// Whether the source says that only the beginning of the answer is there.
  var cutsAnswer = false
  /// Whether the source says that the run never stopped, so that nobody knows what came after.
  var isOpen = false
  /// Whether the source says that the run paused and went on, and not when or why.
  var lacksPauses = false
  /// Whether a text is the answer also where calls follow it and nothing else is said.
  var mayAnswerBeforeCalls = true
  /// Whether what a model says may be a call: not where the program that ran tells of each that it made.
  var mayCallInTexts = true

  /// The most items for which contexts are made up of what came before.
  var promptLimit = 10_000
}

/// One thing that happened.
enum GraphItem {
  /// What somebody said to a model.
  case message(GraphMessage)
  /// What a model answered, or calls of which nobody knows the model call.
  case reply(GraphReply)
  /// What a tool gave back.
  case result(GraphResult)
}

/// A message to a model that is neither its own nor a tool's.
struct GraphMessage: Hashable {
  var role: ReadMessage.Role
  /// The role as the source calls it.
  var roleName: String
  /// All text of it.
  var text: JSONValue?
  /// Its parts as a context packet holds them.
  var parts: [JSONValue]
  /// The agent that it was said to; `nil` for the run's own.
  var agent: String?
  var pointer: JSONPointer
  var extra: JSONObject = [:]
  var unread: [JSONPointer] = []
  var time: Timestamp?
  /// Whether a model was shown it.
  var isShown = true
}

/// What a model answered.
struct GraphReply {
  /// The sub-agent whose model it is; `nil` for the run's own.
  var agent: String?
  /// Whether ``agent`` is a simulated user, who calls tools.
  var isOfUser = false
  /// Whether a model was asked, as far as the source shows; else only the calls are known.
  var isModelCall = true
  var pointers: [JSONPointer]
  /// The reply as it stood.
  var raw: JSONValue = .null
  /// Its text; absent where the source does not say what it was.
  var text: Told = .absent
  /// Whether the source tells the reply's content, so that a reply without text and calls was empty.
  var isTold = true
  /// Parts as a context packet holds them.
  var parts: [JSONValue] = []
  var calls: [GraphCall] = []
  /// What the model was shown, where the source tells it of this call; else what came before.
  var context: [JSONValue]?
  /// Why there is no reply.
  var error: String?
  /// Why the model's call failed although some of a reply came.
  var failure: String?
  /// The word for how the reply ended, as the source has it.
  var finish: String?
  /// Whether the source says that the reply had not ended, or was broken off.
  var isUnfinished = false
  /// Whether the source says that its last words were said on the way, and are no answer.
  var isCommentary = false
  /// Whether the model declined to answer, in the field that an interface has for it.
  var isRefusal = false
  var model: String?
  var responseId: String?
  /// The id of the response that it goes on from, whose provider keeps what was said before.
  var goesOnFrom: String?
  var inputTokens: Int?
  var outputTokens: Int?
  var cachedTokens: Int?
  var reasoningTokens: Int?
  var cost: Double?
  /// How many calls of tools that the provider's servers run it made, where its usage counts them.
  var serverCalls: Int?
  var extra: JSONObject = [:]
  var unread: [JSONPointer] = []
  var time: Timestamp?

  /// Why it was no decision that could be made, where our own export says so.
  var problem: String?
  /// Whether it repairs the reply before it, in the same step, where our own export says so.
  var isRepair = false

  /// Whether it is text and nothing else.
  var isText: Bool { calls.isEmpty && error == nil && problem == nil && text != .absent }
}

/// A call that a reply proposes.
struct GraphCall: Hashable {
  var name: String
  var input: Told
  /// The source's own id of the call.
  var id: String?
  /// Why the call cannot be taken as one.
  var problem: String?
  /// Where it stands, where that is another place than its reply.
  var pointer: JSONPointer?
}

/// What a tool gave back.
struct GraphResult: Hashable {
  enum Status: Hashable {
    case ok
    case error
    /// It ran, and the source does not say whether it succeeded.
    case returned
    /// It was kept from running.
    case refused
  }

  /// The source's id of the call.
  var id: String?
  /// The tool's name.
  var tool: String?
  /// What the tool was given, where the result says so.
  var input: JSONValue?
  var data: Told
  var status: Status
  /// Whether the call was broken off, so that nobody knows whether it did anything; it is an error.
  var isEffectUnknown = false
  /// Who made the call; `nil` for the run's own agent.
  var agent: String?
  /// Whether ``agent`` is a simulated user, who calls tools.
  var isOfUser = false
  var pointer: JSONPointer
  var extra: JSONObject = [:]
  var unread: [JSONPointer] = []
  var time: Timestamp?
}
