/// A pattern as instructions of a machine that is in many places at once (Thompson's construction).
struct PatternProgram: Sendable {
  /// What one pattern may unfold to.
  static let sizeLimit = 10_000

  enum Instruction: Sendable {
    /// Goes on behind a scalar of the numbered set.
    case take(Int)
    /// Goes on in both places.
    case split(Int, Int)
    case jump(Int)
    case check(PatternAssertion)
    case found
  }

  private(set) var instructions: [Instruction] = []
  /// The distinct sets of all `take` instructions.
  private(set) var sets: [ScalarSet] = []
  private(set) var hasAssertions = false
  private(set) var looksForLastNewline = false

  private var setIndex: [ScalarSet: Int] = [:]
  private var work = 0

  init(_ node: PatternNode) throws(PatternError) {
    try append(node)
    instructions.append(.found)
    setIndex = [:]
  }

  private mutating func spend() throws(PatternError) {
    work += 1
    // Empty groups cost no instruction, so turns are counted too.
    guard work <= Self.sizeLimit, instructions.count < Self.sizeLimit else {
      throw PatternError(code: .tooLarge(limit: Self.sizeLimit), offset: 0)
    }
  }

  private mutating func append(_ node: PatternNode) throws(PatternError) {
    try spend()
    switch node {
    case .take(let set): instructions.append(.take(number(of: set)))
    case .check(let assertion):
      hasAssertions = true
      if assertion == .textEndOrLastNewline { looksForLastNewline = true }
      instructions.append(.check(assertion))
    case .sequence(let parts):
      for part in parts { try append(part) }
    case .choice(let alternatives): try append(choice: alternatives)
    case .repetition(let body, let minimum, let maximum):
      for _ in 0..<minimum { try append(body) }
      if let maximum {
        try append(optional: body, times: maximum - minimum)
      } else {
        try append(loop: body)
      }
    }
  }

  private mutating func number(of set: ScalarSet) -> Int {
    if let known = setIndex[set] { return known }
    sets.append(set)
    setIndex[set] = sets.count - 1
    return sets.count - 1
  }

  private mutating func append(choice alternatives: [PatternNode]) throws(PatternError) {
    var exits: [Int] = []
    for (index, alternative) in alternatives.enumerated() {
      guard index < alternatives.count - 1 else {
        try append(alternative)
        break
      }
      let split = instructions.count
      instructions.append(.found)
      try append(alternative)
      exits.append(instructions.count)
      instructions.append(.found)
      instructions[split] = .split(split + 1, instructions.count)
    }
    for exit in exits { instructions[exit] = .jump(instructions.count) }
  }

  private mutating func append(optional body: PatternNode, times: Int) throws(PatternError) {
    var splits: [Int] = []
    for _ in 0..<times {
      splits.append(instructions.count)
      instructions.append(.found)
      try append(body)
    }
    for split in splits { instructions[split] = .split(split + 1, instructions.count) }
  }

  private mutating func append(loop body: PatternNode) throws(PatternError) {
    let split = instructions.count
    instructions.append(.found)
    try append(body)
    instructions.append(.jump(split))
    instructions[split] = .split(split + 1, instructions.count)
  }
}
