/// Yes, no, or not to be known: Kleene's strong logic.
@frozen package enum Trilean: Sendable, Hashable {
  case no
  case unknown
  case yes

  /// Unknown for `nil`.
  @inlinable package init(_ value: Bool?) {
    switch value {
    case true?: self = .yes
    case false?: self = .no
    case nil: self = .unknown
    }
  }

  @inlinable package static prefix func ! (value: Trilean) -> Trilean {
    switch value {
    case .no: .yes
    case .unknown: .unknown
    case .yes: .no
    }
  }

  /// No beats unknown, unknown beats yes; behind a no the right side is not asked for.
  @inlinable package static func both(
    _ left: Trilean, _ right: @autoclosure () -> Trilean
  ) -> Trilean {
    guard left != .no else { return .no }
    let right = right()
    if right == .no { return .no }
    return left == .unknown || right == .unknown ? .unknown : .yes
  }
}
