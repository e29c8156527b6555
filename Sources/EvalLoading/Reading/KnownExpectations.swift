import AgentTrace
import TraceJudging

/// Expectations that were read before in files of one folder: cases often expect the same, and
/// comparing values costs less than compiling what they say.
final class KnownExpectations {
  private var byValue: [JSONValue: Expectations] = [:]
  /// Often the next case expects the same: comparing takes less time than looking up.
  private var last: (value: JSONValue, expectations: Expectations)?
  private static let limit = 1000

  /// What a value was read as; `nil` where it was not read before.
  func expectations(in value: JSONValue) -> Expectations? {
    if let last, last.value == value { return last.expectations }
    guard let known = byValue[value] else { return nil }
    last = (value, known)
    return known
  }

  func add(_ expectations: Expectations, for value: JSONValue) {
    last = (value, expectations)
    if byValue.count < Self.limit { byValue[value] = expectations }
  }
}
