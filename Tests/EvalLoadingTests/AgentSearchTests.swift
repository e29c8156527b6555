import AgentRuntime
import EvalLoading
import TestSupport
import Testing

@Suite("Finding the agent file of a run")
struct AgentSearchTests {
  private static let agent = "name: a\nmodel: {script: [{answer: x}]}\n"

  private static let noAgents: [(String, String)] = [
    ("a.yaml", "name: a\n"), ("a.yaml", "name: [\n"), ("a.yaml", ""),
    ("a.yaml", "- name: a\n"), ("a.txt", agent), (".a.yaml", agent), (".hidden/a.yaml", agent),
    ("a.jsonl", agent), ("a.yaml", "\(agent)---\n\(agent)"), ("a.yaml", "caseId: a\n\(agent)"),
    ("a.json", agent), ("a.yaml", "name: b\nmodel: {}\n"),
    ("a.yaml", "name: {a: b}\nmodel: {}\n"),
    ("a.yaml", "\(agent)# \(String(repeating: "x", count: AgentSearch.fileLimitBytes))"),
  ]

  private static func message(_ search: AgentSearch, _ name: String) -> String {
    do throws(AgentSearchError) {
      return try search.path(ofAgent: name, digest: nil)
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "what is no agent is passed over",
    arguments: Self.noAgents)
  func passedOver(name: String, text: String) throws {
    let folder = try TemporaryFolder()
    try folder.write(name, text)
    #expect(
      Self.message(AgentSearch(below: folder.path), "a").hasPrefix("no agent file below"))
  }

  @Test("folders are searched so deep and no deeper, and links to folders are not followed")
  func depth() throws {
    let folder = try TemporaryFolder()
    let levels = Array(repeating: "d", count: AgentSearch.depthLimit)
    try folder.write((levels + ["d", "a.yaml"]).joined(separator: "/"), Self.agent)
    try folder.link("round", to: folder.path)
    #expect(Self.message(AgentSearch(below: folder.path), "a").hasPrefix("no agent file"))
    let path = try folder.write((levels + ["a.yaml"]).joined(separator: "/"), Self.agent)
    #expect(try AgentSearch(below: folder.path).path(ofAgent: "a", digest: nil) == path)
  }

  @Test("so many files are looked at and no more, and that is said")
  func number() throws {
    let folder = try TemporaryFolder()
    for index in 0...AgentSearch.fileLimit { try folder.write("f\(index).json", "") }
    #expect(
      Self.message(AgentSearch(below: folder.path), "a").contains("only the first 5000 files"))
  }

  @Test("names are compared byte for byte, and files of one name are told apart by their digest")
  func several() throws {
    let folder = try TemporaryFolder()
    try folder.write("a.yaml", "name: caf\u{e9}\nmodel: {script: [{answer: x}]}\n")
    let other = try folder.write("b/b.yml", "name: cafe\u{301}\nmodel: {script: [{answer: x}]}\n")
    let search = AgentSearch(below: folder.path)
    #expect(Self.message(search, "cafe\u{301}") == other)
    try folder.write("c.yaml", "name: cafe\u{301}\nmodel: {script: [{answer: y}]}\n")
    let both = AgentSearch(below: folder.path)
    #expect(Self.message(both, "cafe\u{301}").contains("several agent files"))
    let digest = try #require(AgentLoader.load(other).value?.digest)
    #expect(try both.path(ofAgent: "cafe\u{301}", digest: digest) == other)
    // The file may have another name by now: the same bytes are the same agent.
    #expect(try both.path(ofAgent: "x", digest: digest) == other)
  }
}
