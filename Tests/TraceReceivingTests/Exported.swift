import TestSupport
import Testing
import TraceExporting

/// Requests in protocol buffers, made of the project's own runs.
enum Exported {
  /// - Parameter isPlain: whether the log does not go along.
  static func otlp(_ log: String, isPlain: Bool = false) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var exporter = Exporter(format: .otlp, output: nil, version: "0")
    exporter.isPlain = isPlain
    let kept = Kept()
    try exporter.run(
      logs: [log], taking: { kept.bytes += $0 }, report: { #expect($0.error == nil) })
    bytes = kept.bytes
    return bytes
  }

  private final class Kept { var bytes: [UInt8] = [] }
}
