public import AgentTrace
public import TraceMatching

/// A call that a case speaks of.
public struct CallEntry: Sendable, Hashable {
  /// How often: from `minimum` to `maximum` times.
  public struct Times: Sendable, Hashable {
    /// At least so many calls.
    public var minimum: Int
    /// At most so many calls; `nil` for any number.
    public var maximum: Int?
    /// Written as `min` and `max`, not as one number.
    public var isRange: Bool

    /// Where `maximum` is below `minimum`, no number of calls will do.
    public init(minimum: Int, maximum: Int?, isRange: Bool = true) {
      self.minimum = minimum
      self.maximum = maximum
      self.isRange = isRange
    }
  }

  /// The tool's name, or a glob of names.
  public var tool: Glob
  /// What the call's input is; `nil` for any.
  public var input: Matcher?
  /// One of these became of it.
  public var statuses: [CallStatus]?
  /// Of its result: the data of one that is ok, else the reason.
  public var result: Matcher?
  /// Without it, an entry needs a call of its own.
  public var times: Times?
  /// Who made it, or a glob; without it every caller but `user`.
  public var caller: Glob? { didSet { addressed = caller.flatMap(Self.addressed) } }
  /// The same where it names elements of tasks, `refactor[*]` or `refactor[3]`, in which brackets are no class.
  private var addressed: Glob?
  /// Which arguments may differ without meaning anything; `nil` where each counts.
  public var arguments: ArgumentRule?

  /// Without conditions, any call of the tool fits that `user` did not make.
  public init(
    tool: Glob, input: Matcher? = nil, statuses: [CallStatus]? = nil, result: Matcher? = nil,
    times: Times? = nil, caller: Glob? = nil
  ) {
    self.tool = tool
    self.input = input
    self.statuses = statuses
    self.result = result
    self.times = times
    self.caller = caller
    addressed = caller.flatMap(Self.addressed)
  }

  /// Every key that an entry may have.
  public static let keyNames = [
    "tool", "input", "status", "result", "times", "caller", "defaults", "ignore",
  ]

  /// The caller whose calls an entry does not speak of unless it says so.
  static let simulatedUser = "user"

  /// Whether the entry speaks of calls by someone.
  ///
  /// A task that runs for each of many is spoken of as a whole where no element is named: `refactor` is each
  /// `refactor[3]`.
  func speaks(of caller: String) -> Bool {
    guard let own = self.caller else { return !caller.hasSameUTF8(as: Self.simulatedUser) }
    if own.matches(caller) { return true }
    guard caller.utf8.contains(UInt8(ascii: "[")) else { return false }
    return addressed?.matches(caller) ?? false || own.matches(Self.withoutElements(caller))
  }

  /// A glob whose brackets name elements, with these taken as they stand; `nil` where it names none.
  private static func addressed(_ glob: Glob) -> Glob? {
    let bytes = Array(glob.text.utf8)
    var text: [UInt8] = []
    var place = 0
    var namesElements = false
    while place < bytes.count {
      guard let end = elementEnd(bytes, from: place) else {
        text.append(bytes[place])
        place += 1
        continue
      }
      namesElements = true
      let inner = bytes[(place + 1)..<end]
      // Any element: what begins with a digit.
      let element = inner.elementsEqual("*".utf8) ? Array("[0-9]*".utf8) : Array(inner)
      text += Array("\\[".utf8)
      text += element
      text += Array("\\]".utf8)
      place = end + 1
    }
    return namesElements ? try? Glob(String(decoding: text, as: UTF8.self)) : nil
  }

  /// Whether a caller may be one of some tasks, or somebody below one.
  static func names(_ caller: Glob, amongst tasks: [Trajectory.Task]) -> Bool {
    let text = caller.text
    // A choice may hold slashes of its own: what each of its parts names is not looked at.
    guard !text.utf8.contains(UInt8(ascii: "{")) else { return true }
    let first = text.split(separator: "/", omittingEmptySubsequences: false).first.map(String.init)
    guard let first, let glob = try? Glob(withoutElements(first)) else { return true }
    let namesElements = !withoutElements(first).hasSameUTF8(as: first)
    return tasks.contains { glob.matches($0.id) && ($0.isFanOut || !namesElements) }
  }

  /// A caller without the elements of tasks in it.
  private static func withoutElements(_ caller: String) -> String {
    let bytes = Array(caller.utf8)
    var text: [UInt8] = []
    var place = 0
    while place < bytes.count {
      if let end = elementEnd(bytes, from: place) {
        place = end + 1
      } else {
        text.append(bytes[place])
        place += 1
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Where an element's closing bracket stands: `[3]` or `[*]` at a place; `nil` where none begins there.
  private static func elementEnd(_ bytes: [UInt8], from place: Int) -> Int? {
    guard bytes[place] == UInt8(ascii: "["),
      let end = bytes[place...].firstIndex(of: UInt8(ascii: "]"))
    else { return nil }
    let inner = bytes[(place + 1)..<end]
    let isNumber = !inner.isEmpty && inner.allSatisfy { (0x30...0x39).contains($0) }
    return isNumber || inner.elementsEqual("*".utf8) ? end : nil
  }
}

extension CallEntry: CustomStringConvertible {
  /// The entry in words, a few hundred bytes at most.
  public var description: String {
    var text = tool.text
    if let input { text += " with input \(Self.short(input.description))" }
    if let statuses { text += ", " + statuses.map(\.rawValue).joined(separator: " or ") }
    if let result { text += ", result \(Self.short(result.description))" }
    if let times { text += ", \(times)" }
    if let caller { text += ", by \(caller.text)" }
    return text
  }

  private static func short(_ text: String) -> String {
    let head = text.prefix(utf8Bytes: 200)
    return head.utf8.count < text.utf8.count ? head + "…" : head
  }
}

extension CallEntry.Times: CustomStringConvertible {
  public var description: String {
    switch (minimum, maximum) {
    case (let least, let most?) where least == most:
      least == 1 ? "once" : least == 0 ? "never" : "\(least) times"
    case (0, let most?): "at most \(most) times"
    case (let least, nil): least == 1 ? "at least once" : "at least \(least) times"
    case (let least, let most?): "\(least) to \(most) times"
    }
  }

  /// Whether a number of calls is within.
  func contains(_ count: Int) -> Bool { count >= minimum && count <= maximum ?? .max }
}

extension [CallEntry] {
  /// What of a trajectory judging these entries looks at.
  var needs: TrajectoryNeeds {
    reduce(into: []) { needs, entry in
      if let input = entry.input {
        needs.formUnion([.body, .inputs])
        if input.usesOrigins { needs.insert(.results) }
      }
      if entry.result != nil { needs.formUnion([.body, .results]) }
    }
  }
}
