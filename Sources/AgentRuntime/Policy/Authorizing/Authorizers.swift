public import AgentTrace

/// The authorizers of a policy, ready to be asked.
public struct Authorizers: Sendable {
  /// The most bytes of an answer in canonical form.
  public static let answerLimitBytes = 64 << 10

  private let tools: [String: (tool: any Tool, definition: ToolDefinition)]

  /// Nobody.
  public init() { tools = [:] }

  /// - Parameters:
  ///   - registrations: the authorizers that the policy names, each with what answers for it.
  ///   - clock: what scripted ones wait by.
  ///   - cancellation: what ends the run early; who is being asked is cut off then.
  ///   - raise: sends a signal to this process by its name, for scripted ones that say so.
  ///   - makeTool: makes what runs as a process or over a network, or `nil` where that is not allowed.
  public init(
    _ registrations: [AuthorizerRegistration], clock: any RunClock, cancellation: Cancellation,
    raise: @escaping @Sendable (String) async -> Void = { _ in },
    makeTool: (_ registration: ToolRegistration, _ folder: String?) -> (any Tool)?
  ) {
    var tools: [String: (tool: any Tool, definition: ToolDefinition)] = [:]
    for authorizer in registrations {
      let registration = authorizer.registration
      let tool: (any Tool)? =
        switch registration.implementation {
        case .scripted(let script):
          ScriptedToolRunner(
            script, wait: { await clock.wait(microseconds: $0, until: cancellation) },
            raise: raise)
        case .tool(let tool): SupervisedTool(tool: tool, clock: clock, cancellation: cancellation)
        default: makeTool(registration, authorizer.folder)
        }
      if let tool { tools[authorizer.name] = (tool, registration.definition) }
    }
    self.tools = tools
  }

  /// Asks one of them. Whatever is no answer in time denies, and says so. `Authorization.requestDigest` is for whoever
  /// asks to fill in, who knows what of the question is recorded.
  public func authorize(_ request: AuthorizationRequest) async -> Authorization {
    guard let (tool, definition) = tools[request.authorizer] else {
      return Authorization(to: request, error: "it cannot be reached here")
    }
    var asked = request.toolRequest(definition)
    let own = definition.timeoutSeconds.map { Int(min(max(0, $0), 1e9) * 1_000_000) }
    asked.timeoutMicroseconds = [own, request.timeoutMicroseconds].compactMap(\.self).min()
    let question = asked
    let answer = await AuthorizationRequest.$asked.withValue(request) { await tool.run(question) }
    return Authorization(to: request, answer)
  }
}

extension AuthorizationAnswer {
  /// The wire form of an answer.
  var encoded: JSONObject {
    var context: JSONObject = [:]
    if status == .approvalRequired { context["approval_required"] = true }
    context["reason"] = reason.map(JSONValue.string)
    var object: JSONObject = ["decision": .bool(status == .allow)]
    if !context.isEmpty { object["context"] = .object(context) }
    return object
  }

  /// Reads an answer of the form that AuthZEN gives it (section 6.2): `{"decision": true}`, or `false`. Its context
  /// may hold `"approval_required": true`, which asks a person whatever the decision, and a reason: `reason`,
  /// `reason_user` or `reason_admin`, a text or texts by language.
  ///
  /// - Throws: ``Fault`` where it says nothing.
  init(reading answer: JSONValue) throws(Fault) {
    guard let object = answer.objectValue else { throw Fault("the answer is no object") }
    guard let decision = object["decision"]?.boolValue else {
      throw Fault("the answer has no “decision” that is true or false")
    }
    let context = object["context"]?.objectValue ?? [:]
    switch context["approval_required"] {
    case true?: status = .approvalRequired
    case false?, nil, .null?: status = decision ? .allow : .deny
    default: throw Fault("“approval_required” is neither true nor false")
    }
    reason =
      ["reason", "reason_user", "reason_admin"].lazy.compactMap { key in
        switch context[key] {
        case .string(let text)?: text
        case .object(let texts)?: texts.lazy.compactMap(\.value.stringValue).first
        default: nil
        }
      }.first
  }

  /// Why an answer says nothing.
  struct Fault: Error {
    var words: String

    init(_ words: String) { self.words = words }
  }
}

extension Authorization {
  /// No answer, which denies.
  ///
  /// - Parameters:
  ///   - request: what was asked; its digest is left to whoever asks.
  ///   - error: why there is none.
  ///   - elapsedMicroseconds: how long it was waited for.
  public init(to request: AuthorizationRequest, error: String, elapsedMicroseconds: Int = 0) {
    self.init(
      authorizer: request.authorizer, requestDigest: "", status: .deny, error: error,
      elapsedMicroseconds: elapsedMicroseconds)
  }

  /// What a tool answered for an authorizer.
  init(to request: AuthorizationRequest, _ answer: ToolAnswer) {
    let elapsed = answer.elapsedMicroseconds
    switch answer.result {
    case .ok(let data), .returned(let data):
      guard CanonicalJSON.encode(data).count <= Authorizers.answerLimitBytes else {
        self.init(
          to: request, error: "its answer has more than \(Authorizers.answerLimitBytes) bytes",
          elapsedMicroseconds: elapsed)
        return
      }
      self.init(
        authorizer: request.authorizer, requestDigest: "", status: .deny,
        answer: data, elapsedMicroseconds: elapsed)
      do throws(AuthorizationAnswer.Fault) {
        let said = try AuthorizationAnswer(reading: data)
        (status, reason) = (said.status, said.reason)
      } catch { self.error = error.words }
    case .refused(let words):
      self.init(to: request, error: words, elapsedMicroseconds: elapsed)
    case .error(let words, _):
      self.init(
        to: request, error: words.stringValue ?? CanonicalJSON.string(words, form: .plain),
        elapsedMicroseconds: elapsed)
    }
  }
}
