import TestSupport
import Testing

@Suite("The library's example")
struct SnippetTests {
  @Test("Docs/library.md shows the snippet as it is built, in under 30 lines")
  func documented() throws {
    let snippet = try Project.text("Snippets/OwnAgent.swift")
    let page = try Project.text("Docs/library.md")
    #expect(page.contains("```swift\n\(snippet)```"))
    #expect(snippet.split(separator: "\n").count < 30)
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
