public import AgentTrace

/// A statement about a JSON value, itself written as a JSON value.
///
/// A literal matches by value, an object if each of its keys does, and operators (keys that begin
/// with `$`) say the rest. Eval cases and policy rules share this one language and this one
/// evaluator. Every word with its edge cases is in Docs/matchers.md.
///
/// Matching has three answers: where it depends on a value that is lost, cut or redacted, the answer
/// is *unverifiable*, carried through all operators by Kleene's strong logic.
public struct Matcher: Sendable {
  /// How deep a matcher may nest.
  public static let depthLimit = 128
  /// How many parts a matcher may have.
  public static let sizeLimit = 100_000
  /// How many steps one match may take before it is given up as unverifiable.
  public static let stepLimit = 4_000_000

  /// The value that the matcher was compiled from.
  public let source: JSONValue
  let root: MatcherNode
  /// Whether it asks where a value came from, so that it can only be judged beside a run.
  public let usesOrigins: Bool

  /// Compiles a matcher.
  ///
  /// - Parameters:
  ///   - source: the matcher as somebody wrote it: literals, objects and operators.
  ///   - allowsOrigins: whether `$from` has a meaning where the matcher stands.
  /// - Throws: ``MatcherError`` with a pointer into `source`.
  public init(compiling source: JSONValue, allowsOrigins: Bool = false) throws(MatcherError) {
    try self.init(compiling: source, origins: allowsOrigins ? .results : .nothing)
  }

  /// What `$from` may speak of where a matcher stands.
  public enum OriginScope: Sendable, Hashable {
    /// `$from` has no meaning there.
    case nothing
    /// Earlier results of tools: `{"tool","path","input"}`.
    case results
    /// The input of the call that a policy rule is asked about: `{"path"}`.
    case ownInput
  }

  /// Compiles a matcher whose `$from` speaks of what `origins` says.
  ///
  /// - Throws: ``MatcherError`` with a pointer into `source`.
  public init(compiling source: JSONValue, origins: OriginScope) throws(MatcherError) {
    self.source = source
    var compiler = MatcherCompiler(origins: origins)
    root = try compiler.compile(source, at: JSONPointer(), depth: 0)
    usesOrigins = compiler.usesOrigins
  }

  /// Judges a value; `nil` is one that is absent.
  ///
  /// - Parameters:
  ///   - value: what is held against the matcher; `nil` where nothing is there.
  ///   - origins: what earlier results hold, for `$from`; without it `$from` cannot be verified.
  /// - Complexity: O(size of the value · size of the matcher) at worst, never more than
  ///   ``stepLimit`` steps and the budgets of the patterns in it.
  public func match(_ value: JSONValue?, from origins: Origins? = nil) -> MatchResult {
    var evaluation = MatcherEvaluation(explains: true, origins: origins)
    switch evaluation.evaluate(root, value) {
    case .yes: return .match
    case .no: return .mismatch(evaluation.takeMismatch())
    case .unknown: return .unverifiable(evaluation.takeUnverifiable())
    }
  }

  /// Whether a value matches; `nil` where that cannot be verified. As `match(_:)`, but without
  /// putting an explanation into words.
  public func matches(_ value: JSONValue?, from origins: Origins? = nil) -> Bool? {
    var evaluation = MatcherEvaluation(explains: false, origins: origins)
    return switch evaluation.evaluate(root, value) {
    case .yes: true
    case .no: false
    case .unknown: nil
    }
  }

  /// The names of all operators.
  public static var operatorNames: [String] { MatcherOperator.allCases.map(\.rawValue) }
}

extension Matcher: Hashable {
  public static func == (left: Matcher, right: Matcher) -> Bool { left.source == right.source }
  public func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

extension Matcher: CustomStringConvertible {
  /// The canonical JSON of its source.
  public var description: String { CanonicalJSON.string(source, form: .plain) }
}

/// The words that a matcher may hold.
enum MatcherOperator: String, CaseIterable, Sendable {
  case any = "$any"
  case absent = "$absent"
  case not = "$not"
  case oneOf = "$oneOf"
  case allOf = "$allOf"
  case anyOf = "$anyOf"
  case regex = "$regex"
  case glob = "$glob"
  case greater = "$gt"
  case greaterOrEqual = "$gte"
  case less = "$lt"
  case lessOrEqual = "$lte"
  case approximate = "$approx"
  case contains = "$contains"
  case length = "$length"
  case type = "$type"
  case schema = "$schema"
  case ignoreCase = "$ignoreCase"
  case exact = "$exact"
  case subsetOf = "$subsetOf"
  case literal = "$literal"
  case from = "$from"
}

/// One compiled part of a matcher.
indirect enum MatcherNode: Sendable {
  /// A scalar that must be equal by value.
  case scalar(JSONValue, Decimal?)
  case array([MatcherNode])
  /// Each key's matcher must hold; other keys are free.
  case object([(key: String, node: MatcherNode)])
  case any
  case absent(Bool)
  case not(MatcherNode)
  case oneOf([MatcherNode])
  case allOf([MatcherNode])
  case anyOf([MatcherNode])
  case regex(Pattern)
  case glob(Glob)
  case compare(MatcherOperator, Decimal, JSONNumber)
  case approximate(Decimal, within: Decimal, value: Double, tolerance: Double)
  case contains(text: [UInt8]?, element: MatcherNode)
  case length(MatcherNode)
  case type([JSONTypeName])
  case schema(JSONSchema)
  case ignoreCase(folded: String, text: String)
  /// Equal by value and of the same keys, all the way down.
  case exact(JSONValue)
  case subsetOf([(key: String, node: MatcherNode)])
  /// Equal to a value that stood in an earlier result.
  case from(Origin)
}

/// The types that JSON Schema names.
enum JSONTypeName: String, CaseIterable, Sendable {
  case null, boolean, integer, number, string, array, object

  /// Whether a value is of this type; unknown for one that is not there to be seen.
  func includes(_ value: JSONValue) -> Trilean {
    switch value {
    case .lost, .cut: .unknown
    case .null: Trilean(self == .null)
    case .bool: Trilean(self == .boolean)
    case .string: Trilean(self == .string)
    case .array: Trilean(self == .array)
    case .object: Trilean(self == .object)
    case .number(let number):
      Trilean(self == .number || (self == .integer && Decimal(number).isInteger))
    case .bytes: .no
    }
  }
}
