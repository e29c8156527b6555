import TestSupport
import Testing

@Suite("The library's examples")
struct SnippetTests {
  /// What each prints; `OwnAgent` takes a path besides.
  private static let outputs = [
    "Authorizing": """
    allow – the authorizer entitlements allows it
    deny – nobody may refund that much

    """,
    "JudgedRun": """
    pass stopReason
    pass toolsCalled[0]
    fail toolsNotCalled[0]
    pass

    """,
    "ManyRuns": "20 runs, 20 as expected\n",
    "Middleware": """
    error
    ok
    It is on its way. – desk

    """,
  ]

  @Test("Docs/library.md shows each snippet as it is built, in under 50 lines")
  func documented() throws {
    let page = try Project.text("Docs/library.md")
    let names = Project.files(below: "Snippets", ending: ".swift")
    #expect(names.count == Self.outputs.count + 1)
    for name in names {
      let snippet = try Project.text("Snippets/\(name.split(separator: "/").last ?? "")")
      #expect(page.contains("```swift\n\(snippet)```"), "\(name)")
      #expect(snippet.split(separator: "\n").count < 50, "\(name)")
    }
  }

  @Test("each says what its page promises", arguments: outputs.keys.sorted())
  func says(name: String) async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Command(
      program: Binary.builtWithTests(name), arguments: [], folder: folder.path
    ).run(status: 0)
    #expect(outcome.output == Self.outputs[name])
  }

  @Test("the built snippet runs its agent, and its log verifies and is shown")
  func runs() async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Command(
      program: Binary.builtWithTests("OwnAgent"), arguments: ["run.jsonl.gz"], folder: folder.path
    ).run(status: 0)
    #expect(outcome.output == "success run.jsonl.gz\n")
    try await Binary.run(["verify", "run.jsonl.gz"], in: folder.path)
    let shown = try await Binary.run(["show", "run.jsonl.gz"], in: folder.path).output
    #expect(shown.contains("weather") && shown.contains("Take a coat."))
  }
}
