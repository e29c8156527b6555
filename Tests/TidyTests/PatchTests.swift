import Foundation
import TestSupport
import Testing

/// What git says of a patch on the project as it stands in its folder, committed or not.
private enum Git {
  static func isThere() async -> Bool { (try? await run(["--version"], "").status) == 0 }

  static func run(_ arguments: [String], _ input: String) async throws -> Command.Outcome {
    // A repository around the project would have git pass over all of it.
    let parent = (Project.root as NSString).deletingLastPathComponent
    return try await Command(
      program: "/usr/bin/env", arguments: ["git"] + arguments,
      environment: ["GIT_CEILING_DIRECTORIES": parent], input: Array(input.utf8)
    ).run(status: nil)
  }

  static func check(_ patch: String) async throws -> Command.Outcome {
    try await run(["apply", "--check", "--verbose", "-"], patch)
  }
}

/// Whether the patches of Tests/Patches can be applied to the tree as it is here. What they then do,
/// `Tests/Patches/check` tries.
@Suite(
  "What adding one thing takes",
  .enabled("skipped: there is no git on this machine") { await Git.isThere() })
struct PatchTests {
  private struct Patch: Sendable, CustomTestStringConvertible {
    var path: String
    var text: String

    init(_ path: String) throws {
      self.path = path
      text = try Project.text(path)
    }

    var testDescription: String { path }

    /// What it says of itself above its first difference.
    func told(_ key: String) -> String? {
      text.split(separator: "\n").prefix { !$0.hasPrefix("diff ") }
        .first { $0.hasPrefix("\(key): ") }.map { String($0.dropFirst(key.count + 2)) }
    }

    /// The files that it touches.
    var files: [String] {
      text.matches(of: #/(?m)^diff --git a\/(\S+) b\//#).map { String($0.1) }
    }
  }

  private static let patches: [String] = Project.files(below: "Tests/Patches", ending: ".patch")

  @Test("there is one for a word of each sort, an event and an importer")
  func all() {
    #expect(
      Self.patches.map { ($0 as NSString).lastPathComponent } == [
        "composite-expectation.patch", "importer.patch", "scalar-expectation.patch",
        "type-of-event.patch",
      ])
  }

  @Test(
    "each applies, brings tests and touches no more files of Sources than it says",
    arguments: patches)
  func applies(path: String) async throws {
    let patch = try Patch(path)
    let outcome = try await Git.check(patch.text)
    #expect(
      outcome.status == 0,
      "\(path) no longer applies; CONTRIBUTING.md says how to make it anew: \(outcome)")
    let limit = try #require(patch.told("Sources").flatMap { Int($0) })
    #expect((1...limit).contains(patch.files.count { $0.hasPrefix("Sources/") }), "\(patch.files)")
    let tests = try #require(patch.told("Tests")).split(separator: "|")
    for name in tests {
      #expect(patch.files.contains { $0.hasPrefix("Tests/") && $0.hasSuffix("/\(name).swift") })
    }
    // What is generated is made anew by whoever tries it.
    for folder in ["Schemas/", "Conformance/", "EvalCases/accepted/"] {
      #expect(!patch.files.contains { $0.hasPrefix(folder) })
    }
    let steps = try #require(patch.told("Steps"))
    let section = try Project.text("CONTRIBUTING.md").components(separatedBy: "\n## ")
      .first { $0.hasPrefix("\(steps)\n") }
    #expect(section?.contains("```sh\n") == true, "\(steps)")
    #expect(section?.contains(path) == true, "\(steps)")
  }

  @Test("one that does not fit the tree is seen", arguments: patches)
  func stale(path: String) async throws {
    let patch = try Patch(path)
    // The first line of the tree that it rests on is another.
    let line = try #require(patch.text.firstMatch(of: #/\n@@ -[1-9][^\n]*\n ([^\n]*\S)\n/#)?.1)
    let other = patch.text.replacing("\n \(line)\n", with: "\n \(line) otherwise\n")
    #expect(try await Git.check(other).status != 0)
  }
}
