import Foundation
import TestSupport
import Testing

/// A receiver that runs, and what it printed so far.
final class RunningReceiver: @unchecked Sendable {
  private let process = Process()
  private let folder: TemporaryFolder
  private let name: String
  /// Where it listens.
  private(set) var port = 0

  struct NeverListened: Error { var errors: String }

  /// Starts one and waits until it listens.
  init(
    _ arguments: [String] = [], in folder: TemporaryFolder, out: String = "out",
    listen: String = "127.0.0.1:0", environment: [String: String] = [:]
  ) async throws {
    self.folder = folder
    name = "receiver-\(UUID().uuidString)"
    process.executableURL = URL(fileURLWithPath: Binary.path)
    process.arguments = ["receive", out, "--listen", listen] + arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    for (stream, ending) in [("out", ".out"), ("err", ".err")] {
      let path = try folder.write(name + ending, [])
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      if stream == "out" {
        process.standardOutput = handle
      } else {
        process.standardError = handle
      }
    }
    try process.run()
    let isUp = await eventually(withinSeconds: 60) {
      if let match = self.errors.firstMatch(of: #/listening on http:\/\/\S*:(\d+);/#) {
        self.port = Int(match.1) ?? 0
      }
      return self.port > 0 || !self.process.isRunning
    }
    guard isUp, port > 0 else { throw NeverListened(errors: errors) }
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  var output: String { folder.text(name + ".out") ?? "" }
  var errors: String { folder.text(name + ".err") ?? "" }

  /// Sends a signal and waits for its end.
  @discardableResult
  func end(_ signal: Int32 = SIGTERM) async -> Int32 {
    kill(process.processIdentifier, signal)
    _ = await eventually(withinSeconds: 60) { !self.process.isRunning }
    return process.isRunning ? -1 : process.terminationStatus
  }

  struct Reply: Sendable {
    /// 0 where none came.
    var status: Int
    var head: String
    var body: [UInt8]
  }

  /// Posts a body on a connection of its own.
  @discardableResult
  func post(
    _ body: [UInt8], to target: String = "/v1/traces", type: String = "application/json",
    headers: String = "", method: String = "POST"
  ) async throws -> Reply {
    let port = port
    return try await apart { Self.post(body, target, type, headers, method, port: port) }
  }

  /// The same on the calling thread.
  static func post(
    _ body: [UInt8], _ target: String, _ type: String, _ headers: String, _ method: String,
    port: Int
  ) -> Reply {
    let client = RawClient(port: port)
    let head =
      "\(method) \(target) HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\ncontent-type: \(type)\r\n"
      + "\(headers)content-length: \(body.count)\r\nconnection: close\r\n\r\n"
    guard client.send(Array(head.utf8) + body) else { return Reply(status: 0, head: "", body: []) }
    let all = client.receiveAll()
    client.close()
    guard let end = all.firstRange(of: Array("\r\n\r\n".utf8)) else {
      return Reply(status: 0, head: "", body: [])
    }
    let text = String(decoding: all[..<end.lowerBound], as: UTF8.self)
    let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return Reply(status: status, head: text.lowercased(), body: Array(all[end.upperBound...]))
  }
}
