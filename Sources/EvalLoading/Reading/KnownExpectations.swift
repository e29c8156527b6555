import AgentTrace
import Glibc
import TraceJudging

/// Expectations that were read before in files of one folder: cases often expect the same, and
/// comparing values costs less than compiling what they say.
final class KnownExpectations {
  private var byValue: [JSONValue: Expectations] = [:]
  /// Often the next case expects the same: comparing takes less time than looking up.
  private var last: (value: JSONValue, expectations: Expectations)?
  private static let limit = 1000
  /// What the last case on a line expected, as it stands there.
  private var lastText: (bytes: [UInt8], expectations: Expectations)?

  /// What a value was read as; `nil` where it was not read before.
  func expectations(in value: JSONValue) -> Expectations? {
    if let last, last.value == value { return last.expectations }
    guard let known = byValue[value] else { return nil }
    last = (value, known)
    return known
  }

  /// What a text was read as, if it is that of the last case on a line.
  func expectations(written text: UnsafeRawBufferPointer) -> Expectations? {
    guard let lastText, lastText.bytes.count == text.count, let start = text.baseAddress,
      lastText.bytes.withUnsafeBytes({ $0.baseAddress.map { memcmp($0, start, text.count) == 0 } })
        ?? false
    else { return nil }
    return lastText.expectations
  }

  func add(_ expectations: Expectations, written text: [UInt8]) { lastText = (text, expectations) }

  func add(_ expectations: Expectations, for value: JSONValue) {
    last = (value, expectations)
    if byValue.count < Self.limit { byValue[value] = expectations }
  }
}
