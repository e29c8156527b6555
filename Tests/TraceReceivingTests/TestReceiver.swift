import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceImporting
import TraceReceiving
import TraceStorage

/// A receiver over a folder of its own, that takes bodies without a network.
struct TestReceiver {
  static let json = "application/json"

  let receiver: Receiver
  let folder: String
  /// Held, so that it is there for as long as the receiver is.
  private let root: TemporaryFolder

  init(
    _ folder: TemporaryFolder, settle: Double = 0, idle: Double = 0, keep: Double = 3_600,
    _ change: (inout Receiver.Options) -> Void = { _ in }
  ) throws {
    var options = Receiver.Options()
    options.settleSeconds = settle
    options.idleSeconds = idle
    options.keepSeconds = keep
    change(&options)
    root = folder
    self.folder = folder.path + "/out"
    receiver = try Receiver(folder: self.folder, options: options)
  }

  @discardableResult
  func post(
    _ body: [UInt8], to target: String = "/v1/traces", type: String = json, encoding: String = "",
    status: Int = 200
  ) async -> ReceivedAnswer {
    let answer = await receiver.take(
      method: "POST", target: target, contentType: type, contentEncoding: encoding, body: body)
    #expect(answer.status == status, "\(String(decoding: answer.body, as: UTF8.self))")
    return answer
  }

  /// Writes what is due.
  @discardableResult
  func write(isLast: Bool = false) async throws -> [WrittenRuns] {
    var all: [WrittenRuns] = []
    while true {
      let written = try await receiver.writeNext(isLast: isLast)
      guard !written.isEmpty else { return all }
      all += written
      try receiver.judged(written.flatMap(\.logs))
    }
  }

  /// The names of the logs that are there.
  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
      .filter { $0.hasSuffix(".jsonl.gz") }.map { String($0.dropLast(9)) }.sorted()
  }

  func events(_ name: String) throws -> [Event] {
    try LogEvents.all(of: "\(folder)/\(name).jsonl.gz")
  }
}

enum LogEvents {
  static func all(of path: String) throws -> [Event] {
    var reader = try LogReader(path: path)
    var events: [Event] = []
    while let event = try reader.next() { events.append(event) }
    return events
  }

  /// What a run is whichever way it came: without its id and the places where it stood.
  static func essence(_ events: [Event]) -> [JSONValue] {
    events.map { event in
      var data = event.data
      if var source = data["source"]?.objectValue {
        for key in ["pointers", "file", "index", "field", "unread"] { source[key] = nil }
        data["source"] = .object(source)
      }
      return [
        .string(event.type.rawValue), JSONValue(event.seq), JSONValue(event.step),
        JSONValue(event.t), .string(event.time ?? ""), withoutPlaces(.object(data)),
      ]
    }
  }

  /// Expects two sets of runs to be the same, and shows where the first of them that are alike differ.
  static func expectSame(
    _ runs: [[JSONValue]], _ expected: [[JSONValue]],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let (missing, extra) = (Set(expected).subtracting(runs), Set(runs).subtracting(expected))
    guard let one = missing.first ?? extra.first else { return }
    let others = missing.isEmpty ? expected : Array(extra)
    func trace(_ run: [JSONValue]) -> JSONValue? { run.first?[5]?["source"]?["labels"]?["trace"] }
    let other = others.first { trace($0) == trace(one) } ?? []
    let place = zip(one, other).first { $0 != $1 }
    Issue.record(
      "\(missing.count) missing, \(extra.count) too many; \(one.count) events, \(other.count): \(String(describing: place))",
      sourceLocation: sourceLocation)
  }

  private static func withoutPlaces(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let elements): return .array(elements.map(withoutPlaces))
    case .object(let object):
      let kept = object.filter { !["runId", "pointer", "pointers"].contains($0.key) }
      return .object(JSONObject(kept.map { ($0.key, withoutPlaces($0.value)) }))
    default: return value
    }
  }
}
