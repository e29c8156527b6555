import AgentTrace
import TraceMatching

extension FieldReader {
  /// Warns of each tool that is named and not there. A script may call one on purpose, to see an
  /// invalid decision; a rule for no tool protects nothing.
  ///
  /// - Parameter prefixes: what the names of tools begin with that only their servers know.
  func checkMentions(tools: [String], open prefixes: [String] = []) {
    for (path, mention) in mentions {
      guard let message = mention.fault(tools: tools, prefixes) else { continue }
      reportAt(path, .warning, message.text, hint: message.hint)
    }
    for (mention, place) in adopted {
      guard let message = mention.fault(tools: tools, prefixes) else { continue }
      var diagnostic = place
      diagnostic.message = message.text
      diagnostic.hint = message.hint
      attached.append(diagnostic)
    }
  }

  /// The tools that are named, each with a warning that lacks only its words.
  func mentionPlaces(
    path file: String, in root: SourceRoot
  ) -> [(mention: ToolMention, place: Diagnostic)] {
    guard !mentions.isEmpty else { return [] }
    let tree = root.tree
    return mentions.map { path, mention in
      let place = tree.position(of: path, end: .value)
      let diagnostic = Diagnostic(
        .warning, path: file, line: place.line, column: place.column, key: path.dotted,
        message: "")
      return (mention, diagnostic)
    }
  }
}

extension ToolMention {
  /// What is wrong with naming it; `nil` where there is such a tool.
  fileprivate func fault(
    tools: [String], _ prefixes: [String]
  ) -> (text: String, hint: String?)? {
    if mayBeOpen(prefixes) { return nil }
    switch self {
    case .call(let name):
      // A name that is filled in at run time is nobody's to judge here.
      if name.contains("${") || tools.contains(where: { $0.hasSameUTF8(as: name) }) { return nil }
      let nearest = Spelling.nearest(to: name, among: tools)
      return (
        "the agent has no tool \(name.quoted); the call will be an invalid decision",
        nearest.map { "did you mean “\($0)”?" }
      )
    case .guarded(let glob):
      guard let name = glob.literal, !tools.contains(where: { $0.hasSameUTF8(as: name) }),
        let nearest = Spelling.nearest(to: name, among: tools)
      else { return nil }
      return (
        "the agent has no tool \(name.quoted): guarding it protects nothing",
        "did you mean “\(nearest)”?"
      )
    case .rule(let glob):
      if tools.contains(where: { glob.matches($0) }) { return nil }
      let nearest = Spelling.nearest(to: glob.text, among: tools)
      return (
        "the agent has no tool that \(glob.text.quoted) fits",
        nearest.map { "did you mean “\($0)”?" }
      )
    }
  }

  /// Whether it may name a tool that only its server knows.
  private func mayBeOpen(_ prefixes: [String]) -> Bool {
    guard !prefixes.isEmpty else { return false }
    let name: String
    switch self {
    case .call(let called): name = called
    case .rule(let glob), .guarded(let glob):
      guard let literal = glob.literal else { return true }
      name = literal
    }
    return prefixes.contains { name.utf8.starts(with: $0.utf8) }
  }
}
