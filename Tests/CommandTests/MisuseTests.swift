import Foundation
import TestSupport
import Testing

@Suite("What is said to somebody who names the wrong thing")
struct MisuseTests {
  /// A command line in a folder of odd files, what it exits with, what it says, and what it does not.
  struct Row: Sendable, CustomTestStringConvertible {
    var line: [String]
    var status: Int32
    var says: String
    var never: String?

    init(_ line: String..., status: Int32 = 2, says: String, never: String? = nil) {
      (self.line, self.status, self.says, self.never) = (line, status, says, never)
    }

    var testDescription: String { line.joined(separator: " ") }
  }

  @Test(
    "names what is wrong and what can be done about it",
    arguments: [
      // A format's name is a format first, and a folder may have it.
      Row("import", "otlp", "--out", "out", status: 64, says: "is ./otlp"),
      Row("import", "adk", "--out", "out", status: 64, says: "Name the files", never: "./adk"),
      // A path with a slip is no wrong format.
      Row("import", "nope.json", "--out", "out", says: "No such file", never: "The formats are"),
      Row("import", "traces/nope", "--out", "out", says: "No such file"),
      Row("import", "circle", "--out", "out", says: "symbolic links", never: "neither a format"),
      Row("import", "otpl", "--out", "out", status: 64, says: "Did you mean “otlp”?"),
      Row(
        "import", "log.jsonl.gz", "--out", "out",
        says: "import takes a trace of another tool or a folder.", never: "agent file"),
      Row(
        "inspect", "messages.json", "--import-cache", "text.txt", says: "--import-cache",
        never: ".jsonl.gz"),
      Row("receive", "text.txt/below", says: "the folder text.txt cannot be made: File exists"),
      Row("pause", "text.txt", says: "is no run log", never: "its pipeline"),
      Row("pause", "log.jsonl.gz", says: "no pipeline's log"),
      Row("scrub", "text.txt", says: "unreadable", never: "resume"),
      Row("export", "atif", "text.txt", says: "text.txt: ", never: "text.txt: text.txt"),
    ])
  func said(_ row: Row) async throws {
    let folder = try TemporaryFolder()
    try folder.write("text.txt", "words")
    try folder.write("otlp/here.txt", "words")
    try folder.write(
      "messages.json", #"[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]"#
    )
    let log = URL(fileURLWithPath: Fixture.run("refund-drafted"))
    try folder.write("log.jsonl.gz", try Data(contentsOf: log))
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("circle"), withDestinationPath: "circle")
    let told = try await Binary.run(row.line, in: folder.path, status: row.status)
    let all = told.output + told.errors
    #expect(all.contains(row.says), "\(all)")
    if let never = row.never { #expect(!all.contains(never), "\(all)") }
    #expect(try folder.read("text.txt") == Array("words".utf8))
  }

  @Test("a folder below that may not be read is named", .enabled(if: geteuid() != 0))
  func forbidden() async throws {
    let folder = try TemporaryFolder()
    try folder.write("runs/kept/here.txt", "words")
    #expect(chmod(folder.path("runs/kept"), 0) == 0)
    defer { chmod(folder.path("runs/kept"), 0o700) }
    for line in [["verify", "runs"], ["replay", "runs", "--reexecute"]] {
      let told = try await Binary.run(line, in: folder.path, status: 2)
      #expect(told.errors.contains("runs/kept: Permission denied"), "\(told.errors)")
    }
  }

  @Test("nothing is left in the cache of traces where a log could not be kept there")
  func noDraftIsLeft() async throws {
    let folder = try TemporaryFolder()
    let messages = #"[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]"#
    try folder.write("many.jsonl", "\(messages)\n\(messages)\n")
    let script = """
      (ulimit -f 0; trap '' XFSZ; exec "$0" inspect many.jsonl --import-cache cache 2>&1) | cat
      exit "${PIPESTATUS[0]}"
      """
    let told = try await shell(script, in: folder.path, status: 2)
    #expect(told.output.contains("--import-cache"), "\(told)")
    let left = FileManager.default.enumerator(atPath: folder.path("cache"))?.allObjects ?? []
    #expect(left.isEmpty, "\(left)")
  }

  @Test(
    "a file whose name begins with a hyphen is no option of a letter each, and no success",
    arguments: [["run", "-hello.yaml"], ["inspect", "-hello.yaml"], ["check", "-hello.yaml"]])
  func hyphenatedName(arguments: [String]) async throws {
    let folder = try TemporaryFolder()
    try folder.write("-hello.yaml", "caseId: a\nexpected: {maxSteps: 1}\n")
    let told = try await Binary.run(arguments, in: folder.path, status: 64)
    #expect(told.errors.contains("write ./-hello.yaml"), "\(told.errors)")
    #expect(told.output.isEmpty)
  }
}
