import AgentTrace
import Foundation
import Testing

@testable import TraceStorage

@Suite struct TempTests {
  @Test func example() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("example.jsonl.gz")
    try writeLog(ExampleLog.events, to: path, options: ExampleLog.options)
    try Data(contentsOf: URL(filePath: path)).write(to: URL(filePath: "/tmp/example.gz"))
  }
}
