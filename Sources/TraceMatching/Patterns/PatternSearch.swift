/// One search: the machine's sets of places, each worked out once and then remembered (a lazily
/// built deterministic automaton, as in RE2 and ripgrep).
///
/// A text costs one table look-up a scalar once its sets of places are known. Where a pattern has
/// more sets than are worth remembering, the rest of the text is walked without a table, at O(places)
/// a scalar. All work outside the table has one budget.
struct PatternSearch {
  /// How many places may be visited outside the table; about a second's worth.
  static let workLimit = 200_000_000
  private static let stateLimit = 2_000
  private static let tableLimit = 200_000
  static let kindLimit = 2_000
  /// After so many tables full of states, none is made any more.
  private static let tableCountLimit = 8

  /// What stands on one side of a place.
  enum Edge: UInt8 {
    /// The start or the end of the text.
    case text
    case newline
    case lastNewline
    case word
    case other
  }

  private struct State: Hashable {
    var places: [Int32]
    var before: Edge
  }

  /// Scalars that no set of the pattern tells apart.
  struct ScalarKind: Hashable {
    var sets: [UInt64]
    var edge: Edge
  }

  private static let unknown: Int32 = -1
  private static let foundState: Int32 = -2

  let program: PatternProgram
  var workLeft = Self.workLimit

  private(set) var kinds: [ScalarKind] = []
  private var kindIndex: [ScalarKind: Int32] = [:]
  private var asciiKinds = [Int32](repeating: unknown, count: 128)
  private var otherKinds: [UInt32: Int32] = [:]
  private var lastNewlineKind = unknown

  private var states: [State] = []
  private var stateIndex: [State: Int32] = [:]
  private var table: [Int32] = []
  private var stride = 32

  // A place is in the current closure when its mark is the current turn.
  var marks: [Int32]
  var turn: Int32 = 0
  private var pending: [Int32] = []
  /// The `take` places of the current closure.
  private var takes: [Int32] = []
  private var tablesForgotten = 0

  init(_ program: PatternProgram) {
    self.program = program
    marks = [Int32](repeating: 0, count: program.instructions.count + 1)
  }

  /// Whether the pattern is found anywhere; `nil` when the budget is used up.
  mutating func run(_ text: UnsafeBufferPointer<UInt8>) -> Bool? {
    var state = number(of: State(places: [], before: edgeIfNeeded(.text)))
    var position = 0
    while position < text.count {
      let scalar = Self.decode(text, at: &position)
      if kinds.count >= Self.kindLimit { state = forgetKinds(at: state) }
      let kind = kind(of: scalar, isLast: position == text.count)
      var next = table[Int(state) * stride + Int(kind)]
      if next == Self.unknown {
        next = step(from: state, over: kind)
        if workLeft < 0 { return nil }
      }
      if next == Self.foundState { return true }
      state = next
      if tablesForgotten > Self.tableCountLimit {
        return walk(text, from: position, in: states[Int(state)])
      }
    }
    let found = !close(states[Int(state)], before: .text)
    return workLeft < 0 ? nil : found
  }

  /// Goes on without a table.
  private mutating func walk(
    _ text: UnsafeBufferPointer<UInt8>, from start: Int, in state: State
  ) -> Bool? {
    var position = start
    var state = state
    while position < text.count {
      let scalar = Self.decode(text, at: &position)
      if kinds.count >= Self.kindLimit { forgetKinds() }
      let kind = Int(kind(of: scalar, isLast: position == text.count))
      guard close(state, before: kinds[kind].edge) else { return true }
      if workLeft < 0 { return nil }
      state.places.removeAll(keepingCapacity: true)
      appendPlaces(behind: kinds[kind], to: &state.places)
      state.before = kinds[kind].edge
    }
    let found = !close(state, before: .text)
    return workLeft < 0 ? nil : found
  }

  /// The scalar at a position, which moves behind it. The bytes are a `String`'s, hence valid.
  static func decode(
    _ text: UnsafeBufferPointer<UInt8>, at position: inout Int
  ) -> Unicode.Scalar {
    let first = UInt32(text[position])
    position += 1
    if first < 0x80 { return Unicode.Scalar(UInt8(first)) }
    let count = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3
    var value = first & (0x3f >> UInt32(count))
    for _ in 0..<count where position < text.count {
      value = value << 6 | UInt32(text[position] & 0x3f)
      position += 1
    }
    return Unicode.Scalar(value) ?? "\u{fffd}"
  }

  // MARK: Kinds of scalars

  mutating func kind(of scalar: Unicode.Scalar, isLast: Bool) -> Int32 {
    if isLast, scalar == "\n", program.looksForLastNewline {
      if lastNewlineKind == Self.unknown {
        lastNewlineKind = number(of: kind(of: scalar, edge: .lastNewline))
      }
      return lastNewlineKind
    }
    if scalar.value < 128 {
      let known = asciiKinds[Int(scalar.value)]
      if known != Self.unknown { return known }
      let new = number(of: kind(of: scalar, edge: edge(of: scalar)))
      asciiKinds[Int(scalar.value)] = new
      return new
    }
    if let known = otherKinds[scalar.value] { return known }
    let new = number(of: kind(of: scalar, edge: edge(of: scalar)))
    otherKinds[scalar.value] = new
    return new
  }

  private func edge(of scalar: Unicode.Scalar) -> Edge {
    guard program.hasAssertions else { return .other }
    if scalar == "\n" { return .newline }
    return ScalarClass.isWord(scalar) ? .word : .other
  }

  func edgeIfNeeded(_ edge: Edge) -> Edge { program.hasAssertions ? edge : .other }

  private mutating func kind(of scalar: Unicode.Scalar, edge: Edge) -> ScalarKind {
    var bits = [UInt64](repeating: 0, count: (program.sets.count + 63) / 64)
    for (index, set) in program.sets.enumerated() where set.contains(scalar) {
      bits[index / 64] |= 1 << UInt64(index % 64)
    }
    workLeft -= program.sets.count
    return ScalarKind(sets: bits, edge: edge)
  }

  private mutating func number(of kind: ScalarKind) -> Int32 {
    if let known = kindIndex[kind] { return known }
    if kinds.count == stride {
      stride *= 2
      table = [Int32](repeating: Self.unknown, count: states.count * stride)
    }
    kinds.append(kind)
    kindIndex[kind] = Int32(kinds.count - 1)
    return Int32(kinds.count - 1)
  }

  // MARK: States

  private mutating func number(of state: State) -> Int32 {
    if let known = stateIndex[state] { return known }
    states.append(state)
    stateIndex[state] = Int32(states.count - 1)
    table.append(contentsOf: repeatElement(Self.unknown, count: stride))
    return Int32(states.count - 1)
  }

  /// Forgets every state; the pattern has more than is worth remembering.
  private mutating func forgetStates() {
    tablesForgotten += 1
    states.removeAll(keepingCapacity: true)
    stateIndex.removeAll(keepingCapacity: true)
    table.removeAll(keepingCapacity: true)
  }

  /// Forgets every kind of scalar, and with them every state but the current one.
  private mutating func forgetKinds(at number: Int32) -> Int32 {
    let current = states[Int(number)]
    forgetKinds()
    forgetStates()
    return self.number(of: current)
  }

  mutating func forgetKinds() {
    kinds.removeAll(keepingCapacity: true)
    kindIndex.removeAll(keepingCapacity: true)
    otherKinds.removeAll(keepingCapacity: true)
    asciiKinds = [Int32](repeating: Self.unknown, count: 128)
    lastNewlineKind = Self.unknown
    stride = 32
  }

  private mutating func step(from number: Int32, over kind: Int32) -> Int32 {
    let scalarKind = kinds[Int(kind)]
    guard close(states[Int(number)], before: scalarKind.edge) else {
      table[Int(number) * stride + Int(kind)] = Self.foundState
      return Self.foundState
    }
    var places: [Int32] = []
    appendPlaces(behind: scalarKind, to: &places)
    places.sort()
    let next = State(places: places, before: scalarKind.edge)
    if states.count >= Self.stateLimit || table.count >= Self.tableLimit {
      forgetStates()
      return self.number(of: next)
    }
    let target = self.number(of: next)
    table[Int(number) * stride + Int(kind)] = target
    return target
  }

  /// The places behind those of the current closure that take a kind of scalar.
  private func appendPlaces(behind kind: ScalarKind, to places: inout [Int32]) {
    for place in takes {
      if case .take(let set) = program.instructions[Int(place)],
        kind.sets[set / 64] >> UInt64(set % 64) & 1 == 1
      {
        places.append(place + 1)
      }
    }
  }

  /// Gathers the `take` places that can be reached without a scalar, given what stands on both sides.
  ///
  /// - Returns: `false` where the pattern is found.
  private mutating func close(_ state: State, before after: Edge) -> Bool {
    turn += 1
    takes.removeAll(keepingCapacity: true)
    pending.removeAll(keepingCapacity: true)
    // A match may begin anywhere, so the first place always counts.
    pending.append(0)
    pending.append(contentsOf: state.places)
    while let place = pending.popLast() {
      guard marks[Int(place)] != turn else { continue }
      marks[Int(place)] = turn
      workLeft -= 1
      switch program.instructions[Int(place)] {
      case .take: takes.append(place)
      case .split(let first, let second):
        pending.append(Int32(first))
        pending.append(Int32(second))
      case .jump(let target): pending.append(Int32(target))
      case .check(let assertion):
        if Self.holds(assertion, before: state.before, after: after) { pending.append(place + 1) }
      case .found: return false
      }
    }
    return true
  }

  static func holds(_ assertion: PatternAssertion, before: Edge, after: Edge) -> Bool {
    switch assertion {
    case .textStart: before == .text
    case .textEnd: after == .text
    case .textEndOrLastNewline: after == .text || after == .lastNewline
    case .lineStart: before == .text || before == .newline || before == .lastNewline
    case .lineEnd: after == .text || after == .newline || after == .lastNewline
    case .wordBoundary: (before == .word) != (after == .word)
    case .noWordBoundary: (before == .word) == (after == .word)
    }
  }
}
