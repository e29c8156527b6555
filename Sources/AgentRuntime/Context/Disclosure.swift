import AgentTrace
public import TraceMatching

/// When the model is told of a tool. Each condition that it names must hold.
public struct DisclosureRule: Sendable {
  /// What packets name the rule by.
  public var id: String
  /// Whether the tool is shown where the rule holds, or hidden.
  public var isShown: Bool
  /// Globs of the route; `nil` for every route, also none.
  public var routes: [Glob]?
  /// Tools of which each must have succeeded before; names or globs.
  public var after: [Glob]
  /// The first step, from 1, and the last one; `nil` for every step.
  public var steps: ClosedRange<Int>?
  /// Looks at `PolicyContext.attributes`.
  public var attributes: Matcher?
  /// Looks at the `DisclosureView`.
  public var condition: Matcher?

  /// Without a condition, the rule holds always.
  public init(
    id: String, isShown: Bool = true, routes: [Glob]? = nil, after: [Glob] = [],
    steps: ClosedRange<Int>? = nil, attributes: Matcher? = nil, condition: Matcher? = nil
  ) {
    self.id = id
    self.isShown = isShown
    self.routes = routes
    self.after = after
    self.steps = steps
    self.attributes = attributes
    self.condition = condition
  }
}

/// What the rules about a tool's disclosure look at.
///
/// `{"step","route","actorId","tenantId","attributes","goal","toolCalls","denials","succeeded":[…]}`:
/// the step that the packet opens, what `run_started` says of the run, what it has used, and the tools
/// of which a call has succeeded, in the order of their first successes.
struct DisclosureView {
  let route: String?
  let step: Int
  let succeeded: [String]
  let value: JSONValue

  init(state: AgentState, history: ContextHistory) {
    route = state.policyContext["route"]?.stringValue
    step = state.steps + 1
    succeeded = history.succeeded
    var object = state.policyContext
    object["attributes"] = object["attributes"] ?? [:]
    object["step"] = JSONValue(step)
    object["goal"] = state.goal
    object["toolCalls"] = JSONValue(state.totals.toolCalls)
    object["denials"] = JSONValue(state.counters.denials)
    object["succeeded"] = JSONValue(succeeded)
    value = .object(object)
  }
}

extension ToolRegistration {
  /// What a packet calls the tool.
  var ref: String { "tool:\(definition.name)" }

  /// Whether the model may be told of this tool on a route, as far as the route decides.
  func isOpen(on route: String?) -> Bool {
    guard let routes else { return true }
    guard let route else { return false }
    return routes.contains { $0.hasSameUTF8(as: route) }
  }

  /// Whether the model is told of this tool, and why.
  func disclosure(in view: DisclosureView) -> (isShown: Bool, reason: String) {
    guard isOpen(on: view.route) else {
      return (false, "only open on \((routes ?? []).joined(separator: ", "))")
    }
    guard let disclose else {
      return (true, routes == nil ? "open on every route" : "open on route \(view.route ?? "")")
    }
    for rule in disclose {
      switch rule.holds(in: view) {
      case true?:
        return (rule.isShown, "\(rule.isShown ? "shown" : "hidden") by rule \(rule.id)")
      // What cannot be known hides.
      case nil where !rule.isShown: return (false, "hidden by rule \(rule.id)")
      default: continue
      }
    }
    return (false, "no rule of the tool shows it")
  }
}

extension PromptPart {
  private static let digestMark = "(SHA-256 "

  /// How packets name the file that a text stands in.
  static func words(for file: (path: String, digest: String)) -> String {
    "\(file.path) \(digestMark)\(file.digest.prefix(12))…)"
  }

  /// The digests that ``words(for:)`` put into why something is in a packet: the only place where a log holds those of
  /// files of prompts.
  package static func digests(in reason: String) -> [Substring] {
    reason.ranges(of: digestMark).map { reason[$0.upperBound...].prefix { $0 != ")" } }
  }

  /// What packets call it.
  var ref: String { id.isEmpty ? "system" : "system:\(id)" }

  /// Whether it is said, and why. What cannot be known leaves it out.
  func disclosure(in view: DisclosureView) -> (isSaid: Bool, reason: String) {
    var words = "the agent's instructions"
    if let file { words += " of \(Self.words(for: file))" }
    guard let rule else { return (true, words) }
    switch rule.holds(in: view) {
    case true?: return (true, words + ", as its “when” says")
    case false?: return (false, words + ": its “when” does not hold")
    case nil: return (false, words + ": whether its “when” holds cannot be known")
    }
  }
}

extension DisclosureRule {
  /// Whether every condition holds; `nil` where that cannot be known.
  fileprivate func holds(in view: DisclosureView) -> Bool? {
    if let routes {
      guard let route = view.route, routes.contains(where: { $0.matches(route) }) else {
        return false
      }
    }
    if let steps, !steps.contains(view.step) { return false }
    guard after.allSatisfy({ glob in view.succeeded.contains { glob.matches($0) } }) else {
      return false
    }
    let answers = [
      attributes.map { $0.matches(view.value["attributes"]) },
      condition.map { $0.matches(view.value) },
    ].compactMap { $0 }
    if answers.contains(false) { return false }
    return answers.contains(nil) ? nil : true
  }
}
