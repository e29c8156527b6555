public import AgentTrace

/// What a matcher says of a value.
public enum MatchResult: Hashable, Sendable {
  case match
  /// It does not match, and this is the first place where that shows.
  case mismatch(Mismatch)
  /// The answer depends on something that is not there to be seen.
  case unverifiable(Unverifiable)

  /// Whether this is a match.
  public var isMatch: Bool { self == .match }
}

/// Where and how a value differs from what a matcher asks.
public struct Mismatch: Hashable, Sendable {
  /// From the whole value to the part at fault.
  public var pointer: JSONPointer
  /// What was asked of that part, in words or as JSON; at most a few hundred bytes.
  public var expected: String
  /// What stood there; at most a few hundred bytes.
  public var actual: String

  /// The texts stay as they are, also long ones.
  public init(pointer: JSONPointer, expected: String, actual: String) {
    self.pointer = pointer
    self.expected = expected
    self.actual = actual
  }
}

extension Mismatch: CustomStringConvertible {
  public var description: String {
    let place = pointer.tokens.isEmpty ? "" : "\(pointer): "
    return "\(place)expected \(expected), found \(actual)"
  }
}

/// Why a matcher has no answer.
public struct Unverifiable: Hashable, Sendable {
  /// What keeps the answer away.
  public enum Reason: String, Hashable, Sendable {
    /// The value's bytes are gone from the log.
    case lost
    /// The value was too large and only its beginning was kept.
    case cut
    /// The value was redacted before it was recorded.
    case withheld
    /// Finding out would take more work than is allowed.
    case limit
    /// It may have come from a result that the log does not show.
    case hidden
    /// There is no run beside it, whose earlier results would tell.
    case noRun
  }

  /// What keeps the answer away.
  public var reason: Reason
  /// From the whole value to the part that is not there.
  public var pointer: JSONPointer

  /// An empty pointer stands for the whole value.
  public init(reason: Reason, pointer: JSONPointer) {
    self.reason = reason
    self.pointer = pointer
  }
}

extension Unverifiable: CustomStringConvertible {
  public var description: String {
    let place = pointer.tokens.isEmpty ? "the value" : "the value at \(pointer)"
    return switch reason {
    case .lost: "\(place) is lost from the log"
    case .cut: "\(place) is cut: no more than its beginning is there"
    case .withheld: "\(place) was redacted"
    case .limit: "\(place) is too large to be searched"
    case .hidden: "\(place) may come from a result that the log does not show"
    case .noRun: "\(place) has no run beside it that shows where it came from"
    }
  }
}
