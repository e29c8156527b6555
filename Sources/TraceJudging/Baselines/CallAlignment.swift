import TraceMatching

/// The calls of a run beside those of the accepted one, so that as few as possible differ.
struct CallAlignment {
  /// One place where the two are beside each other. Indices count calls from 0.
  enum Pair: Equatable {
    /// The same call, or one of the same tool that differs.
    case both(accepted: Int, actual: Int)
    /// An accepted call that was not made.
    case missing(Int)
    /// A call that was not accepted.
    case added(Int)
  }

  /// In the order of the calls.
  let pairs: [Pair]

  /// A run is held against each accepted one, so that less is tried than where two runs are compared
  /// for a person.
  private static let cellLimit = 4_000_000

  init(_ accepted: [AcceptedCall], _ actual: [AcceptedCall]) {
    var numbers = Numbers()
    let left = accepted.map { numbers.item(of: $0) }
    let right = actual.map { numbers.item(of: $0) }
    pairs = SequenceAlignment(left, right, limitCells: Self.cellLimit).pairs.map { pair in
      switch pair {
      case .both(let left, let right): .both(accepted: left, actual: right)
      case .left(let index): .missing(index)
      case .right(let index): .added(index)
      }
    }
  }

  /// Numbers in place of calls and tools, so that comparing them is cheap.
  private struct Numbers {
    private var known: [[UInt8]: Int] = [:]

    mutating func item(of call: AcceptedCall) -> SequenceAlignment.Item {
      let whole = number(of: call.key)
      let part = number(of: call.kindOfCall + call.inputKey + [0])
      let kind = number(of: call.kindOfCall)
      return SequenceAlignment.Item(whole: whole, part: part, kind: kind)
    }

    private mutating func number(of key: [UInt8]) -> Int {
      if let number = known[key] { return number }
      known[key] = known.count
      return known.count - 1
    }
  }
}
