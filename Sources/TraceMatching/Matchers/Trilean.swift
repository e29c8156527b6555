/// Yes, no, or not to be known: Kleene's strong logic.
enum Trilean: Sendable {
  case no
  case unknown
  case yes

  init(_ value: Bool) { self = value ? .yes : .no }

  static prefix func ! (value: Trilean) -> Trilean {
    switch value {
    case .no: .yes
    case .unknown: .unknown
    case .yes: .no
    }
  }
}
