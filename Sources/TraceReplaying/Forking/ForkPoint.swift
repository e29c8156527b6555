/// Where a run is forked.
public enum ForkPoint: Sendable, Hashable {
  /// Before the first event of a step, from 1.
  case step(Int)
  /// Behind an event, by its number; where an edit names the event, in its place.
  case event(Int)

  /// Reads `step:N` or `event:N`; `nil` for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[1].isEmpty,
      parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = Int(parts[1])
    else { return nil }
    switch parts[0] {
    case "step": self = .step(number)
    case "event": self = .event(number)
    default: return nil
    }
  }
}

extension ForkPoint: CustomStringConvertible {
  public var description: String {
    switch self {
    case .step(let number): "step:\(number)"
    case .event(let number): "event:\(number)"
    }
  }
}
