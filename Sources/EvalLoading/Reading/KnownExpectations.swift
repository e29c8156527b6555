import AgentTrace
import TraceJudging

/// Expectations that were read before in files of one folder: cases often expect the same, and
/// comparing values costs less than compiling what they say.
final class KnownExpectations {
  private var byValue: [JSONValue: Expectations] = [:]
  private static let limit = 1000

  subscript(value: JSONValue) -> Expectations? {
    get { byValue[value] }
    set { if byValue.count < Self.limit { byValue[value] = newValue } }
  }
}
