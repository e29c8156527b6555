import AgentTrace
import ArgumentParser
import Glibc
import LiveBoundary
import TraceExporting
import TraceJudging
import TraceReporting
import TraceStorage

/// The option of verbs that hand runs on as they are made or judged.
struct HandingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Hand each run on to this server, as `export otlp` writes it. Headers come from \
      OTEL_EXPORTER_OTLP_HEADERS. Whatever happens there changes nothing here.
      """, valueName: "url"))
  var otlp: String?

  func validate() throws { try Self.check(otlp) }

  static func check(_ url: String?) throws {
    if let url, HTTPAddress(url) == nil {
      throw ValidationError(
        Visible.line("--otlp takes a URL of http or https, as http://127.0.0.1:4318; not “\(url)”.")
      )
    }
  }

  /// Hands over to the build that can send, where that is asked for.
  static func require(_ url: String?) throws {
    if url != nil { try LiveBuild.require(for: "--otlp") }
  }
}

/// Hands runs that are over on to a server of OTLP. What does not go through is told once, and holds up nothing for long.
struct HandedRuns {
  /// Seconds without any success behind which the rest is given up.
  private static let patienceSeconds = 10.0
  private static let triesEach = 3

  private let url: String
  private let headers: [HTTPHeader]

  /// - Parameter url: with `/v1/traces`, or what that stands behind; `nil` makes none.
  init?(to url: String?) {
    guard let url else { return nil }
    let base = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.url = base.hasSuffix("/v1/traces") ? base : base + "/v1/traces"
    headers =
      [HTTPHeader("content-type", "application/x-protobuf")]
      + Self.headers(getenv("OTEL_EXPORTER_OTLP_HEADERS").map { String(cString: $0) } ?? "")
  }

  /// Hands on runs, and those that are calls of them, with their outcomes; each log once.
  func hand(_ logs: [String], results: EvalResults? = nil) async {
    var exporter = Exporter(
      format: .otlp, output: nil, version: AgentEval.configuration.version)
    if let results, let known = try? RunResults(decoding: results.json) { exporter.results = known }
    var (known, lost, reason): (Set<String>, Int, String?) = ([], 0, nil)
    var success = ContinuousClock.now
    for root in logs {
      for log in (try? LogFiles.tree(ofLog: root).map(\.path)) ?? [root] {
        guard known.insert(log).inserted else { continue }
        let rest = Self.patienceSeconds - (ContinuousClock.now - success) / .seconds(1)
        do throws(HandingFault) {
          guard rest > 0 else { throw HandingFault(description: "there was no time left") }
          try await post(try Self.body(of: log, exporter), within: rest)
          success = .now
        } catch {
          lost += 1
          reason = reason ?? error.description
        }
      }
    }
    guard lost > 0 else { return }
    Output.error(
      Visible.line(
        "note: \(lost) of \(Figures.count(known.count, "run")) could not be handed to \(url): "
          + (reason ?? "")))
  }

  /// `key1=value1,key2=value2`, values with the escapes of URLs
  /// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
  static func headers(_ text: String) -> [HTTPHeader] {
    text.split(separator: ",").compactMap { pair in
      guard let equal = pair.firstIndex(of: "=") else { return nil }
      let name = pair[..<equal].filter { $0 != " " }
      let value = pair[pair.index(after: equal)...].drop { $0 == " " }
      return name.isEmpty ? nil : HTTPHeader(String(name), unescaped(String(value)))
    }
  }

  private static func unescaped(_ text: String) -> String {
    var (plain, rest): ([UInt8], ArraySlice<UInt8>) = ([], Array(text.utf8)[...])
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
        plain.append(value)
        rest = rest.dropFirst(2)
      } else {
        plain.append(byte)
      }
    }
    return String(decoding: plain, as: UTF8.self)
  }

  private static func body(of log: String, _ exporter: Exporter) throws(HandingFault) -> [UInt8] {
    let taken = TakenBytes()
    var fault: String?
    do throws(ExportError) {
      try exporter.run(
        logs: [log], taking: { taken.bytes += $0 },
        report: { report in fault = report.error.map { "\($0)" } })
    } catch { fault = "\(error)" }
    if let fault { throw HandingFault(description: fault) }
    return taken.bytes
  }

  private func post(_ body: [UInt8], within seconds: Double) async throws(HandingFault) {
    #if Live
      let end = ContinuousClock.now + .seconds(seconds)
      for attempt in 1...Self.triesEach {
        let rest = (end - ContinuousClock.now) / .seconds(1)
        let call = HTTPCall(
          url: url, headers: headers, body: body,
          timeouts: HTTPTimeouts(connect: min(2, rest), firstByte: rest, idle: rest, total: rest))
        let head: HTTPHead
        do {
          head = try await HTTPConnector.shared.perform(call) { head, _ in head }
        } catch {
          throw HandingFault(description: "\(error)")
        }
        if (200..<300).contains(head.status) { return }
        let wait = min(max(head.headers["retry-after"].flatMap { Double($0) } ?? 0.5, 0), 5)
        // What OTLP says may be tried again.
        guard [429, 502, 503, 504].contains(head.status), attempt < Self.triesEach,
          .now + .seconds(wait) < end
        else { throw HandingFault(description: "it answered with \(head.status)") }
        try? await Task.sleep(for: .seconds(wait))
      }
    #else
      throw HandingFault(description: "this build has no HTTP stack")
    #endif
  }
}

private final class TakenBytes { var bytes: [UInt8] = [] }

/// Why a run was not handed on.
private struct HandingFault: Error, CustomStringConvertible {
  var description: String
}
