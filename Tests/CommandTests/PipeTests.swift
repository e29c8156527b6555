import Foundation
import TestSupport
import Testing

@Suite("A named pipe in the place of a log")
struct NamedPipeTests {
  @Test(
    "is refused at once, whatever was to be done with it",
    arguments: [
      "show", "verify", "repair", "replay --reexecute", "replay --step 1", "diff one.jsonl.gz",
    ])
  func refused(verb: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "one.jsonl.gz",
      Array(Data(contentsOf: URL(fileURLWithPath: Fixture.run("refund-drafted")))))
    // Nor is a device read that never ends.
    let device = try await shell(
      "\"$0\" \(verb) /dev/zero; echo \"exit $?\"", in: folder.path, timeoutSeconds: 20)
    #expect(device.lines.last == "exit 2", "\(device)")
    let outcome = try await shell(
      "mkfifo pipe.jsonl.gz; \"$0\" \(verb) pipe.jsonl.gz; echo \"exit $?\"", in: folder.path,
      timeoutSeconds: 20)
    #expect(outcome.lines.last == "exit 2", "\(outcome)")
    #expect((outcome.errors + outcome.output).contains("no regular file"), "\(outcome)")
  }
}
