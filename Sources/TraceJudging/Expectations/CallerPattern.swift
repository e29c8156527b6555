import AgentTrace
import TraceMatching

/// A caller's name, or a glob of callers, in which brackets may name elements of tasks: `refactor[*]`, `refactor[3]`.
struct CallerPattern: Sendable, Hashable {
  /// As it was written.
  let glob: Glob
  /// The same where it names elements, in which brackets are no class; `nil` where it names none.
  private let addressed: Glob?

  var text: String { glob.text }

  init(_ glob: Glob) {
    self.glob = glob
    addressed = Self.addressed(glob)
  }

  /// Whether it names someone.
  ///
  /// A task that runs for each of many is spoken of as a whole where no element is named: `refactor` is each
  /// `refactor[3]`.
  func matches(_ caller: String) -> Bool {
    if glob.matches(caller) { return true }
    guard caller.utf8.contains(UInt8(ascii: "[")) else { return false }
    return addressed?.matches(caller) ?? false || glob.matches(Self.withoutElements(caller))
  }

  /// Whether it may name one of some tasks, or somebody below one.
  func mayName(_ tasks: [Trajectory.Task]) -> Bool {
    // A choice may hold slashes of its own: what each of its parts names is not looked at.
    guard !text.utf8.contains(UInt8(ascii: "{")) else { return true }
    let first = text.split(separator: "/", omittingEmptySubsequences: false).first.map(String.init)
    guard let first, let glob = try? Glob(Self.withoutElements(first)) else { return true }
    let namesElements = !Self.withoutElements(first).hasSameUTF8(as: first)
    return tasks.contains { glob.matches($0.id) && ($0.isFanOut || !namesElements) }
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

  /// A caller without the elements of tasks in it.
  static func withoutElements(_ caller: String) -> String {
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
