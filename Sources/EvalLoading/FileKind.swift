public import AgentTrace
import TraceMatching

/// What a file is for, by the keys of its roots.
public enum FileKind: Sendable, Hashable {
  /// Eval cases.
  case `case`
  /// An agent.
  case agent
  /// A policy.
  case policy
  /// A pipeline.
  case pipeline
  /// Defaults and named sets of expectations, without cases.
  case shared

  /// The kind of a root; `nil` where nothing tells.
  ///
  /// `caseId`, `expected` or `cases`, what looks like a slip in one of the first two, or a list of cases under any other
  /// key make a case; `sets` or `defaults` without cases what cases share; `model`, `command`, `tools` or `mcpServers` an
  /// agent; `rules` a policy, also with a slip in it where verdicts stand below; `pipeline` with `tasks` a pipeline. A
  /// list in which a case stands is one of cases. What the program itself writes of cases (results, what was kept of a
  /// suite, a comparison, a line of `--files-from`) is none of these.
  public init?(of value: JSONValue) {
    switch value {
    case .array(let elements):
      guard Self.holdsCase(elements) else { return nil }
      self = .case
    case .object(let object):
      if Self.isWrittenHere(object) { return nil }
      if ["caseId", "expected", "cases"].contains(where: { object[$0] != nil })
        || Self.listOfCases(in: object) != nil
      {
        self = .case
      } else if object["sets"] != nil || object["defaults"] != nil {
        self = .shared
      } else if object["pipeline"] != nil, object["tasks"] != nil {
        self = .pipeline
      } else if ["model", "command", "tools", "mcpServers"].contains(where: { object[$0] != nil }) {
        self = .agent
      } else if object["rules"] != nil || Self.holdsRules(object) {
        self = .policy
      } else if object.count <= 100,
        object.keys.contains(where: Self.isSlip)
      {
        self = .case
      } else {
        return nil
      }
    default: return nil
    }
  }

  /// Whether this is what became of cases, as the program writes it: reports may lie among the cases that they are
  /// of. What expects something is a case all the same.
  private static func isWrittenHere(_ object: JSONObject) -> Bool {
    guard let cases = object["cases"]?.arrayValue,
      !cases.contains(where: { $0["expected"] != nil || $0["include"] != nil })
    else { return false }
    if object["outcome"]?.stringValue != nil, object["line"]?.intValue != nil { return true }
    let schema = object["schema"]?.stringValue ?? ""
    return ["results", "history", "comparison"].contains { schema.hasPrefix("agent-eval/\($0)/") }
  }

  /// How many elements of a list are looked at.
  private static let sample = 100

  private static func holdsCase(_ elements: [JSONValue]) -> Bool {
    elements.prefix(sample).contains { $0.objectValue != nil && FileKind(of: $0) == .case }
  }

  /// The key under which a mapping that is no case itself holds a list of cases.
  static func listOfCases(in object: JSONObject) -> String? {
    guard object["caseId"] == nil else { return nil }
    if object["cases"] != nil { return "cases" }
    return object.first { member in
      member.value.arrayValue?.prefix(sample).contains { $0["caseId"] != nil } ?? false
    }?.key
  }

  /// Whether rules of a policy stand under a key that is likely `rules` with a slip in it.
  private static func holdsRules(_ object: JSONObject) -> Bool {
    object.count <= 100
      && object.contains { member in
        Spelling.nearest(to: member.key, among: ["rules"]) != nil
          && member.value.arrayValue?.prefix(sample).contains {
            $0["verdict"] != nil || $0["authorizer"] != nil
          } ?? false
      }
  }

  /// Whether a key is likely one of a case with a slip in it. Few slips are in the first letter, and `last_id` is none.
  private static func isSlip(_ key: String) -> Bool {
    guard let nearest = Spelling.nearest(to: key, among: ["caseId", "expected"]) else {
      return false
    }
    guard key.prefix(1).lowercased() == nearest.prefix(1) else { return false }
    // Two slips make another word of so short a one: `call_id` stands in traces.
    let plain = key.lowercased().filter { $0 != "_" && $0 != "-" }
    return nearest == "expected" || Spelling.distance(plain, "caseid") <= 1
  }
}

extension FileKind {
  /// The kind of a file, by what stands in it; `nil` where it cannot be read or nothing tells. Mistakes in it are
  /// nobody's business here.
  public init?(path: String) {
    let found = SourceDocument(path: path).roots.lazy.compactMap { FileKind(of: $0.value) }.first
    guard let found else { return nil }
    self = found
  }
}
