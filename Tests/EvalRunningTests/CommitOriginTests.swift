import AgentTrace
import TestSupport
import Testing
import TraceJudging

@testable import EvalRunning

@Suite("Which commit is judged")
struct CommitOriginTests {
  private static let id = String(repeating: "0123456789", count: 4)
  private static let other = String(repeating: "abcdef0123", count: 4)

  @Test(
    "what is no reference or leads out of git's folder says nothing",
    arguments: [
      "", "ref: ", "ref: refs/heads/../../../secret", "ref: /etc/passwd", "ref: secret", "xyz",
      "ref: refs/heads/none", "ref: refs/heads/a\u{0}b", "\(id)0",
      String(repeating: "a", count: 5_000),
      "ref: refs/heads/text",
    ])
  func hostile(head: String) throws {
    let folder = try TemporaryFolder()
    try folder.write(".git/HEAD", head)
    try folder.write(".git/refs/heads/text", "no identifier\n")
    try folder.write("secret", Self.id + "\n")
    #expect(CommitOrigin(workingTree: folder.path) == CommitOrigin())
  }

  @Test("HEAD, the reference that it names and packed references are read, from any folder below")
  func workingTree() throws {
    let folder = try TemporaryFolder()
    #expect(CommitOrigin(workingTree: folder.path) == CommitOrigin())
    try folder.write("deep/er/file", "")
    try folder.write(".git/HEAD", "ref: refs/heads/topic/one\n")
    try folder.write(
      ".git/packed-refs",
      "# pack-refs with: peeled\n\(Self.other) refs/heads/topic/one\n^\(Self.id)\n\(Self.id) refs/heads/x\n"
    )
    let packed = CommitOrigin(workingTree: folder.path("deep/er"))
    #expect(packed == CommitOrigin(commit: Self.other, branch: "topic/one"))
    try folder.write(".git/refs/heads/topic/one", Self.id + "\n")
    #expect(CommitOrigin(workingTree: folder.path).commit == Self.id)
    try folder.write(".git/HEAD", Self.other + "\n")
    #expect(CommitOrigin(workingTree: folder.path) == CommitOrigin(commit: Self.other))
  }

  @Test("a further working tree has its own HEAD and the references of the first")
  func furtherTree() throws {
    let folder = try TemporaryFolder()
    try folder.write("main/.git/refs/heads/topic", Self.id + "\n")
    try folder.write("main/.git/worktrees/two/HEAD", "ref: refs/heads/topic\n")
    try folder.write("main/.git/worktrees/two/commondir", "../..\n")
    try folder.write("two/.git", "gitdir: ../main/.git/worktrees/two\n")
    #expect(
      CommitOrigin(workingTree: folder.path("two"))
        == CommitOrigin(commit: Self.id, branch: "topic"))
    try folder.write("three/.git", "nothing of ours")
    #expect(CommitOrigin(workingTree: folder.path("three")) == CommitOrigin())
  }

  @Test("each service's variables are known, and an empty one counts for nothing")
  func services() {
    for (commit, branches) in CommitOrigin.variables {
      let values = [commit: "c0ffee", branches[branches.count - 1]: "topic"]
      #expect(CommitOrigin { values[$0] } == CommitOrigin(commit: "c0ffee", branch: "topic"))
      #expect(CommitOrigin { values[$0].map { _ in "" } } == CommitOrigin())
    }
    let pull = ["GITHUB_SHA": "1", "GITHUB_HEAD_REF": "mine", "GITHUB_REF_NAME": "7/merge"]
    #expect(CommitOrigin { pull[$0] }.branch == "mine")
  }

  @Test(
    "a record gets a file of its own in the folder, whatever its commit is called",
    arguments: [
      "4f1d2c9", "../../evil", "", "\u{1b}[31m", "a/b", String(repeating: "x", count: 300),
    ])
  func names(commit: String) throws {
    let folder = try TemporaryFolder()
    var record = SuiteRecord(startedAt: "2026-03-01T09:00:00.000000Z")
    record.commit = commit
    let history = HistoryFolder(folder.path("kept/here"))
    let names = Set(try (0..<20).map { _ in try history.keep(record) })
    #expect(names.count == 20)
    #expect(folder.listing.filter { $0.hasSuffix(SuiteRecord.fileSuffix) }.count == 20)
    for name in names {
      #expect(name.hasPrefix(folder.path("kept/here") + "/20260301T090000000000Z-"))
      let text = try folder.read(String(name.dropFirst(folder.path.count + 1)))
      #expect(try SuiteRecord(decoding: try JSONValue(parsing: Array(text))) == record)
    }
    #expect(throws: HistoryFolder.Failure.self) {
      try HistoryFolder("/proc/nowhere").keep(record)
    }
  }
}
