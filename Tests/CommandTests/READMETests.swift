import Foundation
import TestSupport
import Testing

/// A fenced `console` block: lines that begin with `$ ` are commands, the lines below each are what
/// it prints. In them `…` stands for any text, and a line of `…` alone for any lines.
struct Example: Sendable {
  struct Step: Sendable {
    var command: String
    var expected: [String]
    /// The number of the command's line in the document.
    var line: Int
  }

  var steps: [Step] = []

  init(_ block: Document.Block) {
    for (index, line) in block.lines.enumerated() {
      if line.hasPrefix("$ ") {
        steps.append(
          Step(command: String(line.dropFirst(2)), expected: [], line: block.firstLine + index))
      } else if steps.last?.command.hasSuffix("\\") == true {
        steps[steps.count - 1].command += "\n" + line
      } else if !steps.isEmpty {
        steps[steps.count - 1].expected.append(String(line))
      }
    }
  }

  /// Whether it is an example of ours; installing Swift or cloning a repository is not run, nor what
  /// needs a program that is not here.
  var isRun: Bool {
    guard let command = steps.first?.command else { return false }
    if command.hasPrefix("bin/agent-eval") || command.hasPrefix("sed -i ") { return true }
    return command.hasPrefix("zcat ") && (!command.contains("jq ") || Self.hasJQ)
  }

  private static let hasJQ = FileManager.default.isExecutableFile(atPath: "/usr/bin/jq")

  /// A script that runs the steps in one shell and writes a mark with a step's number behind each.
  func script(mark: String) -> String {
    steps.indices.map { index in
      "\(steps[index].command)\nstatus=$?; printf '\\n%s%d\\n' \(mark) \(index); (exit $status)\n"
    }.joined()
  }

  /// Whether what a command printed is what the document shows.
  static func matches(_ printed: [String], _ expected: [String]) -> Bool {
    guard let pattern = expected.first else { return printed.isEmpty }
    if pattern == "…" {
      return printed.indices.contains {
        matches(Array(printed[$0...]), Array(expected.dropFirst()))
      }
        || matches([], Array(expected.dropFirst()))
    }
    guard let line = printed.first, matches(line, pattern) else { return false }
    return matches(Array(printed.dropFirst()), Array(expected.dropFirst()))
  }

  static func matches(_ line: String, _ pattern: String) -> Bool {
    let pieces = pattern.components(separatedBy: "…")
    guard pieces.count > 1 else { return line == pattern }
    guard line.hasPrefix(pieces[0]) else { return false }
    var rest = line.dropFirst(pieces[0].count)
    for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
      guard let range = rest.range(of: piece) else { return false }
      rest = rest[range.upperBound...]
    }
    return rest.hasSuffix(pieces[pieces.count - 1])
  }
}

@Suite("Examples in the documents")
struct READMETests {
  /// A folder that looks like the project's root, with the built program as `bin/agent-eval`; what
  /// an example writes stays in it. Copies, not links: paths are shortened only where no link is.
  private static func makeFolder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: Project.root)
    where !name.hasPrefix(".") && !["Sources", "Tests"].contains(name) {
      try FileManager.default.copyItem(atPath: Project.path(name), toPath: folder.path(name))
    }
    try FileManager.default.removeItem(atPath: folder.path("bin/agent-eval"))
    try folder.link("bin/agent-eval", to: Binary.path)
    return folder
  }

  @Test("every example prints what the document shows", arguments: try Document.all())
  func examples(document: Document) async throws {
    let examples = document.blocks.filter { $0.language == "console" }.map(Example.init)
      .filter(\.isRun)
    // Three of four documents have none, and a copy of the project takes half a second.
    guard !examples.isEmpty else { return }
    let folder = try Self.makeFolder()
    for example in examples {
      let mark = "@@\(UInt64.random(in: 0...(.max)))@"
      let outcome = try await Command(
        program: "/bin/bash", arguments: ["-c", "exec 2>&1\n" + example.script(mark: mark)],
        folder: folder.path
      ).run(status: nil)
      var rest = outcome.output[...]
      for (index, step) in example.steps.enumerated() {
        guard let end = rest.range(of: "\n\(mark)\(index)\n") else {
          Issue.record("\(document):\(step.line): the shell ended early\n\(outcome)")
          break
        }
        let printed = Self.lines(rest[..<end.lowerBound])
        #expect(
          Example.matches(printed, Self.lines(step.expected.joined(separator: "\n")[...])),
          "\(document):\(step.line): $ \(step.command)\n\(printed.joined(separator: "\n"))")
        rest = rest[end.upperBound...]
      }
    }
  }

  /// Lines without the white space at their ends, and without empty ones at the end of all.
  private static func lines(_ text: Substring) -> [String] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      var line = line
      while line.last == " " { line.removeLast() }
      return String(line)
    }
    while lines.last == "" { lines.removeLast() }
    return lines
  }

  @Test(
    "output is compared line by line, … stands for any text",
    arguments: [
      (["a"], ["a"], true), (["a"], ["b"], false), ([], ["a"], false), (["a"], [], false),
      (["a", "b", "c"], ["a", "…"], true), (["a", "b", "c"], ["…", "c"], true),
      (["a", "b", "c"], ["a", "…", "c", "d"], false), (["a"], ["…", "a", "…"], true),
      (["log    x/1.gz"], ["log    …"], true), (["log x"], ["log …y"], false),
      (["a1b2c"], ["a…b…c"], true), (["a1b2c"], ["a…d…c"], false), ([], ["…"], true),
    ] as [([String], [String], Bool)])
  func comparing(printed: [String], expected: [String], isEqual: Bool) {
    #expect(Example.matches(printed, expected) == isEqual)
  }

  @Test("an example whose output differs is seen, and each step has its own")
  func steps() {
    let text =
      "# A\n```console\n$ bin/agent-eval one\na\n$ echo \\\n  two\nb\n```\n```yaml\nx: 1\n```"
    let document = Document(path: "X.md", text: text)
    #expect(document.blocks.map(\.language) == ["console", "yaml"])
    let example = Example(document.blocks[0])
    #expect(example.isRun)
    #expect(example.steps.map(\.command) == ["bin/agent-eval one", "echo \\\n  two"])
    #expect(example.steps.map(\.expected) == [["a"], ["b"]])
    #expect(example.steps.map(\.line) == [3, 5])
  }
}
