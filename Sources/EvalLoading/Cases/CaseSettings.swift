import AgentTrace
public import TraceJudging

/// What cases say beside what they expect, as a baseline holds it. Each agent file is read once.
public struct CaseSettings {
  /// What an agent's file says that is no business of the case; `nil` where it cannot be read.
  private struct AgentSource {
    var digest: String
    var human: JSONValue?
  }

  private var agents: [[UInt8]: AgentSource?] = [:]

  /// How many files an agent's tree may have: beyond that, only their paths are looked at.
  private static let fileLimit = 256

  /// Nothing was read yet.
  public init() {}

  /// What a case says.
  public mutating func setting(of evalCase: EvalCase) -> CaseSetting {
    var setting = CaseSetting()
    let folder = Self.parts(evalCase.path).dropLast()
    if !evalCase.input.isEmpty { setting.say(.input, .string(evalCase.input)) }
    var human = evalCase.humanSource
    if let written = evalCase.writtenAgent { setting.say(.agent, written.source) }
    if let path = evalCase.runFile {
      setting.say(.agent, .string(Self.relative(path, to: folder)))
      if let source = source(ofAgent: path) {
        setting.say(.agentFile, .string(source.digest))
        human = human ?? source.human
      }
    }
    if let human { setting.say(.human, human) }
    if !evalCase.conditions.isEmpty {
      setting.say(.conditions, .object(evalCase.conditions.source))
    }
    if let plan = evalCase.plan { setting.say(.trials, plan.json) }
    if let recording = evalCase.recordingName ?? evalCase.recording {
      setting.say(.recording, .string(Self.relative(recording, to: folder)))
    }
    return setting
  }

  private mutating func source(ofAgent path: String) -> AgentSource? {
    let key = Array(path.utf8)
    if let known = agents[key] { return known }
    let values = SourceDocument(path: path).roots.map(\.value)
    var source: AgentSource?
    if !values.isEmpty {
      let said = Self.withAgents(values, path)
      source = AgentSource(digest: String(Digest(of: .array(said)).hex.prefix(32)))
      source?.human = values.first?["human"]
    }
    agents[key] = .some(source)
    return source
  }

  // MARK: Agents below

  /// What a file says, and behind it what each agent's file says that it names, or that one of those names, once each
  /// under its path: an agent is made of those it calls, too.
  private static func withAgents(_ values: [JSONValue], _ path: String) -> [JSONValue] {
    var said = values
    var seen: Set<[UInt8]> = [Array(parts(path).joined(separator: "/").utf8)]
    var pending = agents(in: values, of: path, as: "")
    while !pending.isEmpty {
      let next = pending.removeFirst()
      guard seen.insert(Array(next.path.utf8)).inserted else { continue }
      let inner =
        seen.count <= fileLimit ? SourceDocument(path: next.path).roots.map(\.value) : []
      said.append(["agent": .string(next.name), "says": .array(inner)])
      pending += agents(in: inner, of: next.path, as: next.name)
    }
    return said
  }

  /// The agents that a file names as tools, or a pipeline's for its tasks: the paths of their files, and what leads there
  /// from the first file, which is the same wherever the project lies.
  private static func agents(
    in values: [JSONValue], of path: String, as name: String
  ) -> [(path: String, name: String)] {
    let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? ""
    let base = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[...$0]) } ?? ""
    return values.flatMap { value in
      (value["tools"]?.arrayValue ?? []) + (value["tasks"]?.arrayValue ?? [])
    }
    .flatMap { [$0["agent"]?.stringValue, $0["pipeline"]?.stringValue].compactMap(\.self) }
    .map { file in
      let isAbsolute = file.utf8.first == UInt8(ascii: "/")
      let (full, short) = isAbsolute ? (file, file) : (folder + file, base + file)
      return (parts(full).joined(separator: "/"), parts(short).joined(separator: "/"))
    }
  }

  // MARK: Paths

  /// A path as one seen from a folder, by its text alone, so that it is the same wherever the project lies; an
  /// absolute one beside a relative folder stays as it is.
  private static func relative(_ path: String, to folder: ArraySlice<String>) -> String {
    let parts = parts(path)
    guard (parts.first == "") == (folder.first == "") else { return path }
    let shared = zip(parts, folder).prefix { $0.0.hasSameUTF8(as: $0.1) }.count
    let up = folder.dropFirst(shared)
    // Nobody knows what is left by going up from where one went up already.
    guard !up.contains("..") else { return path }
    return (up.map { _ in ".." } + parts.dropFirst(shared)).joined(separator: "/")
  }

  /// The parts of a path without those that lead nowhere; an absolute one begins with an empty part.
  private static func parts(_ path: String) -> [String] {
    var parts: [String] = path.utf8.first == UInt8(ascii: "/") ? [""] : []
    for part in path.utf8.split(separator: UInt8(ascii: "/")).map({ String(Substring($0)) }) {
      if part == "." { continue }
      if part == "..", let last = parts.last, last != "..", !last.isEmpty {
        parts.removeLast()
      } else {
        parts.append(part)
      }
    }
    return parts
  }
}
