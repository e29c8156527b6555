import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceImporting
import TraceReceiving

/// Requests that real exporters sent, from a folder that the environment names.
@Suite(.enabled(if: Captures.folder != nil, "AGENT_EVAL_CORPORA names no folder with captures"))
struct CapturedRequestTests {
  @Test(
    "what real exporters sent comes to the runs of an import, in order, shuffled, and doubled",
    arguments: ["in order", "shuffled", "shuffled and doubled"])
  func sameRuns(_ order: String) async throws {
    let captures = try Captures.all()
    #expect(captures.count > 50)
    var requests = captures.flatMap(\.requests)
    var random = Seeded(seed: 7)
    if order.hasSuffix("doubled") { requests += requests }
    if order != "in order" { requests.shuffle(using: &random) }
    let receiver = try TestReceiver(try TemporaryFolder(), settle: 1_000, idle: 1_000)
    for request in requests { await Captures.send(request, to: receiver) }
    try await receiver.write(isLast: true)
    let expected = try captures.flatMap { try Captures.imported($0) }
    let runs = try receiver.names.map { LogEvents.essence(try receiver.events($0)) }
    #expect(runs.count == expected.count)
    LogEvents.expectSame(runs, expected)
  }

  @Test("without the requests that hold roots no run is lost, and those that lack theirs are open")
  func noRoots() async throws {
    let receiver = try TestReceiver(try TemporaryFolder(), settle: 1_000, idle: 1_000)
    var expected: [[JSONValue]] = []
    for capture in try Captures.all() {
      var rest = capture
      rest.requests = try capture.requests.filter { try !Captures.holdsRoot($0) }
      guard rest.requests.count < capture.requests.count,
        rest.requests.contains(where: { $0.path.hasSuffix("traces") })
      else { continue }
      for request in rest.requests { await Captures.send(request, to: receiver) }
      expected += try Captures.imported(rest)
    }
    #expect(expected.count > 8)
    let written = try await receiver.write(isLast: true).flatMap(\.logs)
    #expect(written.allSatisfy { $0.isOpen })
    func withoutState(_ run: [JSONValue]) -> JSONValue {
      // Of a run that is open nothing is said against its calls.
      var start = run.first?[5]?.objectValue ?? [:]
      var (source, recorded) = (
        start["source"]?.objectValue ?? [:], start["recorded"]?.objectValue ?? [:]
      )
      var labels = source["labels"]?.objectValue ?? [:]
      labels["state"] = nil
      source["labels"] = .object(labels)
      recorded["calls"] = nil
      start["source"] = .object(source)
      start["recorded"] = .object(recorded)
      return .array([.object(start)] + run.dropFirst())
    }
    let runs = try receiver.names.map { LogEvents.essence(try receiver.events($0)) }
    #expect(Set(runs.map(withoutState)) == Set(expected.map(withoutState)))
  }
}

/// One run of a real agent, as its exporter sent it.
struct Capture {
  struct Request {
    var path: String
    var type: String
    var encoding: String
    var body: [UInt8]
    var file: String
  }

  var name: String
  var requests: [Request]
}

enum Captures {
  static let folder: String? = {
    guard let corpora = ProcessInfo.processInfo.environment["AGENT_EVAL_CORPORA"] else {
      return nil
    }
    let path = corpora + "/interop"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  static func all() throws -> [Capture] {
    let root = folder ?? ""
    var captures: [String: Capture] = [:]
    let files = FileManager.default.enumerator(atPath: root)?.allObjects as? [String] ?? []
    for file in files.sorted() where file.hasSuffix(".headers.json") {
      let place = String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
      let head = try JSONValue(
        parsing: Array(Data(contentsOf: URL(fileURLWithPath: "\(root)/\(file)"))))
      var headers: [String: String] = [:]
      for member in head["headers"]?.objectValue ?? [:] {
        headers[member.key.lowercased()] = member.value.stringValue
      }
      let stem = String(file.dropLast(".headers.json".count))
      guard let body = files.first(where: { $0.hasPrefix(stem + ".") && $0 != file }) else {
        continue
      }
      captures[place, default: Capture(name: place, requests: [])].requests.append(
        Capture.Request(
          path: head["path"]?.stringValue ?? "", type: headers["content-type"] ?? "",
          encoding: headers["content-encoding"] ?? "",
          body: Array(try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(body)"))),
          file: "\(root)/\(body)"))
    }
    return captures.values.sorted { $0.name < $1.name }
  }

  static func send(_ request: Capture.Request, to receiver: TestReceiver) async {
    await receiver.post(
      request.body, to: request.path, type: request.type, encoding: request.encoding,
      status: request.path.hasPrefix("/runs") ? 202 : 200)
  }

  /// What `import` makes of a capture's requests.
  static func imported(_ capture: Capture) throws -> [[JSONValue]] {
    let folder = try TemporaryFolder()
    for request in capture.requests {
      let name = request.file.split(separator: "/").last.map(String.init) ?? ""
      try folder.write("in/\(name)", request.body)
      let headers = request.file.replacing(#/\.(pb\.gz|pb|json|bin)$/#, with: ".headers.json")
      try folder.write(
        "in/" + (headers.split(separator: "/").last.map(String.init) ?? ""),
        try Data(contentsOf: URL(fileURLWithPath: headers)))
    }
    var runs: [[JSONValue]] = []
    try Importer(format: nil, output: folder.path + "/logs").run(paths: [folder.path + "/in"]) {
      if case .imported(let log, _) = $0.outcome {
        runs.append(LogEvents.essence(try LogEvents.all(of: log)))
      }
    }
    return runs
  }

  /// Whether a request in protocol buffers holds a span without a parent.
  static func holdsRoot(_ request: Capture.Request) throws -> Bool {
    guard request.type.contains("protobuf"), request.path.hasSuffix("traces") else { return false }
    var bytes = request.body
    if request.encoding == "gzip" { bytes = try ForeignBytes.gunzip(bytes) }
    for (_, resource) in ForeignBytes.messages(bytes, 1) {
      for (_, scope) in ForeignBytes.messages(resource, 2) {
        for (_, span) in ForeignBytes.messages(scope, 2)
        where ForeignBytes.messages(span, 4).allSatisfy({ $0.1.isEmpty }) {
          return true
        }
      }
    }
    return false
  }
}
