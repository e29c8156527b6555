import AgentTrace
import Foundation
import TestSupport
import Testing

/// The verbs of the built program and their options, as it tells them itself.
private struct CommandLineTable {
  /// Long options by verb; those of no verb under an empty name.
  var options: [String: Set<String>] = [:]

  var allOptions: Set<String> { options.values.reduce(into: []) { $0.formUnion($1) } }

  init() async throws {
    let help = try await Binary.run(["--experimental-dump-help"])
    let root = try JSONValue(parsing: help.outputBytes)["command"] ?? .null
    options[""] = Self.options(of: root)
    for verb in root["subcommands"]?.arrayValue ?? [] {
      options[verb["commandName"]?.stringValue ?? ""] = Self.options(of: verb)
    }
  }

  /// Its own, and those of what stands below it.
  private static func options(of command: JSONValue) -> Set<String> {
    let below = (command["commandName"] == "agent-eval" ? nil : command["subcommands"]?.arrayValue)
    let deeper = (below ?? []).reduce(into: Set<String>()) { $0.formUnion(options(of: $1)) }
    let names = (command["arguments"]?.arrayValue ?? []).flatMap { $0["names"]?.arrayValue ?? [] }
    return deeper.union(
      names.filter { $0["kind"] == "long" }.compactMap { $0["name"]?.stringValue })
  }

  /// What is wrong with a command as a document shows it.
  func faults(in code: String) -> [String] {
    code.matches(of: #/(?:^|[\s\/])agent-eval +([^|;&>]*)/#).flatMap { match -> [String] in
      let words = match.1.split { " []()`\"'“”".contains($0) }
      guard let verb = words.first, verb.contains(#/^[a-z]/#) else { return [] }
      guard let known = options[String(verb)] else { return ["no verb \(verb)"] }
      return words.filter { $0.hasPrefix("--") && $0.count > 2 }
        .map { String($0.dropFirst(2).prefix { $0 != "=" }) }
        .filter { !known.contains($0) }.map { "\(verb) has no --\($0)" }
    }
  }
}

@Suite("What the documents say")
struct DocumentTests {
  @Test("links lead to files that are there")
  func links() throws {
    for document in try Document.all() {
      let folder = document.path.split(separator: "/").dropLast().joined(separator: "/")
      for (index, line) in document.lines.enumerated() {
        for match in line.matches(of: #/\]\(([^)\s#]+)[^)]*\)/#) where !match.1.contains("://") {
          #expect(Project.has("\(folder)/\(match.1)"), "\(document):\(index + 1)")
        }
      }
    }
  }

  @Test("the list of the documents has each of them")
  func listed() throws {
    let list = try Project.text("Docs/architecture.md")
    let pages = Project.files(below: "Docs").filter { $0.contains(#/^Docs\/[^\/]+\.md$/#) }
    #expect(pages.count > 40)
    for page in pages where page != "Docs/architecture.md" {
      #expect(list.contains("](\(page.dropFirst("Docs/".count)))"), "\(page)")
    }
  }

  @Test("no change is told twice")
  func changes() throws {
    let titles = try Project.text("CHANGELOG.md").split(separator: "\n")
      .compactMap { $0.firstMatch(of: #/^- \*\*(.+?)\*\*/#)?.1 }
    #expect(titles.count > 10 && Set(titles).count == titles.count)
  }

  /// Paths that a piece of code names, without those with NAME in place of a name.
  private static func paths(in code: String) -> [String] {
    code.matches(
      of:
        #/(?:^|[\s"'`(=:])((?:Sources|Tests|Docs|Fixtures|EvalCases|Schemas|Snippets|Benchmarks|bin|\.ci)/[\w.\/*+-]*)/#
    ).map { String($0.1) }.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
      .filter { !$0.contains("NAME") }
  }

  private static func isThere(_ path: String) -> Bool {
    guard let star = path.firstIndex(of: "*") else { return Project.has(path) }
    let folder = path[..<star].split(separator: "/", omittingEmptySubsequences: false).dropLast()
    return !Project.files(below: folder.joined(separator: "/")).isEmpty
  }

  @Test("paths in code are there")
  func paths() throws {
    for document in try Document.all() {
      for (line, text) in document.code {
        for path in Self.paths(in: text) { #expect(Self.isThere(path), "\(document):\(line)") }
      }
    }
  }

  @Test("a path that is not there is seen")
  func missingPath() {
    let code = "cat Docs/none.md bin/test Tests/TidyTests/*.swift \"Sources/X/NAME.swift\""
    #expect(Self.paths(in: code).filter { !Self.isThere($0) } == ["Docs/none.md"])
    #expect(Self.paths(in: code).count == 3)
  }

  @Test("commands in code have verbs and options that the program knows")
  func commands() async throws {
    let table = try await CommandLineTable()
    #expect(table.options["run"]?.contains("jobs") == true)
    for document in try Document.all() {
      for (line, text) in document.code {
        #expect(table.faults(in: text) == [], "\(document):\(line)")
      }
    }
  }

  @Test(
    "a verb or an option that the program lacks is seen",
    arguments: [
      ("agent-eval runn x", 1), ("$ bin/agent-eval run --jobbs 3 x", 1),
      ("agent-eval run --jobs=3", 0),
      ("agent-eval VERB --x", 0), ("agent-eval show LOG | jq --slurp .", 0),
      ("agent-eval --help", 0),
      ("agent-eval import [FORMAT] PATH… --out DIR [--json]", 0), ("my-agent-eval nonsense", 0),
    ])
  func wrongCommand(code: String, count: Int) async throws {
    #expect(try await CommandLineTable().faults(in: code).count == count)
  }

  @Test("options that are named alone belong to a verb or to a script")
  func options() async throws {
    let known = try await CommandLineTable().allOptions
    let scripts = try Project.files(below: "bin").map(Project.text).joined()
    for document in try Document.all() {
      for (line, text) in document.code {
        guard let option = text.firstMatch(of: #/^--([a-z][a-z-]+)/#)?.1 else { continue }
        #expect(
          known.contains(String(option)) || scripts.contains("--\(option)"), "\(document):\(line)")
      }
    }
  }

  @Test("hints in messages name verbs that there are")
  func hints() async throws {
    let table = try await CommandLineTable()
    for (file, source) in try SwiftText.sources() {
      for (index, line) in source.original.enumerated() {
        guard line.contains("agent-eval "), !line.contains(#/^\s*\/\//#) else { continue }
        for match in line.matches(of: #/[`“]agent-eval ([a-z]+)/#) {
          #expect(table.options[String(match.1)] != nil, "\(file):\(index + 1): \(match.0)")
        }
      }
    }
  }

  @Test("the project speaks of itself alone")
  func ownWords() throws {
    // In two halves, so that this file does not hold what it looks for.
    let needles = ["/wo" + "rk/", ".." + "/shared", "shared" + "/corpora", "shared" + "/design"]
    let allowed = [".ci/run": [needles[1], needles[2]]]
    let root = try FileManager.default.contentsOfDirectory(atPath: Project.root)
    var count = 0
    for name in root.sorted() where !name.contains(#/^\.(git|build.*|agent-eval)$/#) {
      let below = Project.files(below: name)
      for file in below.isEmpty ? [name] : below where !file.contains("/.build/") {
        guard let text = try? Project.text(file) else { continue }
        count += 1
        for needle in needles where !(allowed[file]?.contains(needle) ?? false) {
          #expect(!text.contains(needle), "\(file) names a place outside the project")
        }
      }
    }
    #expect(count > 100)
  }
}
