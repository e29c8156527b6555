import Foundation
import TestSupport
import Testing

@testable import FilePaths

/// Names that are no UTF-8: as text and back, and in every verb that takes a path.
@Suite("Paths that are no UTF-8")
struct PathBytesTests {
  @Test("every name has a text of its own, and comes back from it byte by byte", arguments: 1...4)
  func roundTrip(_ seed: Int) {
    var numbers = Seeded(seed: UInt64(seed))
    // By their bytes: Swift takes texts for equal that Unicode does.
    var texts: [[UInt8]: [UInt8]] = [:]
    // Bytes between which there is much to tell: those of the stand-ins themselves are among them.
    let pieces: [[UInt8]] =
      [
        [0xff], [0xc3], [0xe2, 0x82], [0xf4, 0x8f, 0xb8, 0x80], [0xf4, 0x8f, 0xbb, 0xbf],
        [0xf4, 0x8f],
      ]
      + ["a", "/", "é", "…", "🙂", "\u{10fe41}", "\u{10ffff}"].map { Array($0.utf8) }
      + (1...255).map { [UInt8($0)] }
    for _ in 0..<TestRun.count(2_000, long: 200_000) {
      let bytes = (0..<Int.random(in: 0...6, using: &numbers)).flatMap { _ in
        pieces.randomElement(using: &numbers) ?? []
      }
      let text = String(pathBytes: bytes)
      #expect(PathText.bytes(of: text) == bytes)
      let written = text.withPath { path in
        (0..<bytes.count + 1).map { UInt8(bitPattern: path[$0]) }
      }
      #expect(written == bytes + [0])
      if let before = texts.updateValue(bytes, forKey: Array(text.utf8)) {
        #expect(before == bytes)
      }
      if let plain = String(validating: bytes, as: UTF8.self), !bytes.contains(0xf4) {
        #expect(text.utf8.elementsEqual(plain.utf8))
      }
    }
  }

  @Test("files whose names Unicode takes for equal are two files")
  func equivalentNames() async throws {
    let folder = try TemporaryFolder()
    // One character, and a letter with an accent behind it.
    _ = try await shell(
      "mkdir logs; cp \"$1\" logs/$'\\xc3\\xa9.jsonl.gz'; cp \"$1\" logs/$'e\\xcc\\x81.jsonl.gz'",
      [Fixture.run("refund-drafted")], in: folder.path)
    try folder.write("rules.yaml", "caseId: c\nexpected: {toolsNotCalled: [zzz]}\n")
    let verified = try await Binary.run(["verify", "logs"], in: folder.path)
    #expect(verified.lines.count { $0.contains("whole") } == 2, "\(verified)")
    let judged = try await Binary.run(["run", "rules.yaml", "--on", "logs"], in: folder.path)
    #expect(judged.output.contains("2 cases: 2 passed"), "\(judged)")
    try await Binary.run(["index", "logs"], in: folder.path)
    let listed = try await Binary.run(["list", "logs"], in: folder.path)
    #expect(listed.lines.count { $0.hasSuffix(".jsonl.gz") } == 2, "\(listed)")
  }

  @Test("each verb that takes a path finds a file whose name no text has", .timeLimit(.minutes(3)))
  func verbs() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile(goal: "x"))
    try folder.write(
      "case.yaml", "caseId: c\nrecording: '*.jsonl.gz'\nexpected: {stopReason: success}\n")
    let outcome = try await shell(
      """
      d=$'d\\xff'; mkdir "$d"
      log=$d/$'r\\xfe.jsonl.gz'; cases=$d/$'c\\xff.yaml'; agent=$d/$'a\\xc3.yaml'
      cp "$1" "$log"; cp "$1" plain.jsonl.gz; cp case.yaml "$cases"; cp agent.yaml "$agent"
      cp "$2" "$d"/$'p\\xff.yaml'; cp "$3" "$d"/$'t\\xff.json'
      is() { # STATUS ARGUMENTS…
        wanted=$1; shift
        "$0" "$@" >out 2>errors; got=$?
        [ "$got" = "$wanted" ] || { echo "$got, not $wanted: $(printf '%q ' "$@")"; cat out errors; }
      }
      export -f is 2>/dev/null
      is 0 show "$log"; is 0 show "$log" --html "$d"/$'page\\xff.html'; is 0 replay "$log" --step 1
      is 0 verify "$log"; is 0 verify "$d"; is 0 diff "$log" plain.jsonl.gz
      is 0 run "$cases" -r $'junit:r\\xff.xml'; is 0 run "$d"; is 0 check "$cases" "$agent"
      is 0 accept "$cases" --all; is 0 run "$cases" --against accepted; is 0 mutate "$cases" --limit 5
      is 0 list "$d"; is 0 index "$d"; is 0 query "$d" 'SELECT path FROM runs'; is 0 inspect "$log"
      is 0 export atif "$log" -o $'e\\xff.json'; is 0 import "$d"/$'t\\xff.json' --out $'o\\xff'
      is 0 record "$agent" -o $'runs\\xff' --seed 1; is 0 scrub "$log"
      is 0 repair "$log" --out $'fixed\\xff.jsonl.gz'
      is 0 policy check "$d"/$'p\\xff.yaml'; is 0 policy backtest "$log" --policy "$d"/$'p\\xff.yaml'
      is 0 promote "$log" --into $'made\\xff' --expect '{"stopReason": "blocked"}'
      is 0 fork "$log" --at step:1 --agent "$4" -o $'f\\xff'
      is 0 replay "$log" --reexecute --agent "$4"; is 0 tools "$agent"
      printf '%s\\n' "$log" | is 0 run "$cases" --files-from -
      is 2 show "$d"/$'none\\xff.jsonl.gz'
      mkdir $'cwd\\xff'; cd $'cwd\\xff'; printf 'out: logs\\n' >.agent-eval.yaml
      is 0 record ../"$agent" --seed 2; is 0 show latest; is 0 list; is 0 config
      cd ..; LC_ALL=C ls -d *$'\\xff'* | wc -l
      """,
      [
        Fixture.run("refund-drafted"), Project.path("Fixtures/policies/refunds.yaml"),
        Project.path("Fixtures/traces/weather.openai.json"), Fixture.agent("support"),
      ], in: folder.path, timeoutSeconds: 120)
    // Nothing but the number of what was made under such names: folders, report, export, repaired log.
    #expect(outcome.output == "9\n", "\(outcome)")
  }

  @Test("such a name is shown as its bytes, and acts on no terminal")
  func shown() async throws {
    let folder = try TemporaryFolder()
    let told = try await shell(
      "cp \"$1\" $'r\\x9b2J\\xff.jsonl.gz'; \"$0\" verify $'r\\x9b2J\\xff.jsonl.gz'",
      [Fixture.run("refund-drafted")], in: folder.path)
    #expect(told.output.hasPrefix("r\\x9b2J\\xff.jsonl.gz: whole"))
    #expect(controlBytes(in: told.outputBytes).isEmpty)
  }
}
