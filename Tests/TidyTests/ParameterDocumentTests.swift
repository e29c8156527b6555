import TestSupport
import Testing

/// What documentation comments say of parameters. The pages of the libraries that are offered are refused where a
/// comment tells of some of a declaration's parameters and not of others; this says so without making them.
@Suite("What is said of parameters")
struct ParameterDocumentTests {
  /// The lines of public declarations whose comments name some parameters and not all, or others than they have.
  private static func misfits(in source: SwiftText) -> [String] {
    var told: [String] = []
    var found: [String] = []
    var isList = false
    for (index, line) in source.original.enumerated() {
      let words = line.drop { $0 == " " }
      if words.hasPrefix("///") {
        let comment = words.dropFirst(4)
        if comment.hasPrefix("- ") { isList = comment.hasPrefix("- Parameters:") }
        let name =
          comment.hasPrefix("- Parameter ")
          ? comment.dropFirst(12) : isList && comment.hasPrefix("  - ") ? comment.dropFirst(4) : nil
        if let name { told.append(name.prefix { $0 != ":" }.filter { $0 != "`" }) }
        continue
      }
      // Attributes stand between a comment and what it is of.
      if line.hasSuffix("@discardableResult") { continue }
      if !told.isEmpty {
        let names = Self.parameters(of: source.lines[index...])
        if line.contains("public "), !line.contains("@_spi("), names.sorted() != told.sorted() {
          found.append("\(index + 1): tells of \(told), has \(names)")
        }
      }
      (told, isList) = ([], false)
    }
    return found
  }

  /// The names by which a declaration's body knows its parameters, in their order.
  private static func parameters(of lines: ArraySlice<String>) -> [String] {
    let text = lines.prefix(40).joined(separator: "\n")
    guard
      let start = text.firstMatch(
        of: #/\b(?:func\s+(?:[^\s(<]+)|init[?]?|subscript|case\s+\w+|macro\s+\w+)/#)
    else { return [] }
    var names: [String] = []
    var depth = 0
    var generics = 0
    var piece = text[start.range.upperBound...].startIndex
    for place in text[start.range.upperBound...].indices {
      switch text[place] {
      case "<" where depth == 0: generics += 1
      case ">" where depth == 0: generics -= 1
      case "(", "[", "{":
        if generics > 0 { continue }
        if depth == 0, text[place] != "(" { return names }
        depth += 1
        if depth == 1 { piece = text.index(after: place) }
      case ")", "]", "}", ",":
        if generics > 0 { continue }
        if depth == 1, text[place] == "," || text[place] == ")" {
          let label = text[piece..<place].prefix { $0 != ":" }
          if let name = label.split(whereSeparator: \.isWhitespace).last {
            names.append(String(name))
          }
          piece = text.index(after: place)
        }
        if text[place] != "," { depth -= 1 }
        if depth == 0, text[place] != "," { return names }
      default: break
      }
    }
    return names
  }

  @Test("comments that tell of parameters of what is offered tell of each")
  func all() throws {
    let offered = try Project.text("Package.swift").matches(of: #/\.library\(name: "([A-Za-z]+)"/#)
    #expect(offered.count > 8)
    for target in offered {
      for (file, source) in try SwiftText.sources(of: String(target.1)) {
        #expect(Self.misfits(in: source) == [], "\(file)")
      }
    }
  }

  @Test(
    "a comment that tells of some or of others is seen",
    arguments: [
      ("- Parameter a: x", "public func f(a: Int) {}", true),
      ("- Parameter a: x", "public func f(a: Int, b: [Int: (Int, Int)] = [:]) {}", false),
      ("- Parameter b: x", "public func f<A: B<C>>(to b: @escaping (Int, A) -> Void) {}", true),
      ("- Parameter a: x", "public init?(_ b: Int) {}", false),
      (
        "- Parameters:\n///   - a: x\n///     more\n///   - b: x",
        "public init(\n_ a: Int,\nb: Int\n)",
        true
      ),
      ("- Parameters:\n///   - b: x\n///   - a: x", "public init(a: Int, b: Int)", true),
      ("- Parameter a: x", "func f(a: Int, b: Int) {}", true),
      ("- Returns: x", "public func f(a: Int) -> Int {}", true),
      ("- Parameter a: x", "@discardableResult\npublic func f(a: Int) -> Int {}", true),
      ("- Returns:\n///   - a: x", "public func f(b: Int) -> Int {}", true),
    ])
  func seen(comment: String, declaration: String, isWhole: Bool) {
    #expect(Self.misfits(in: SwiftText("/// \(comment)\n\(declaration)\n")).isEmpty == isWhole)
  }
}
