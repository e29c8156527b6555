import TestSupport

/// Swift source reduced to its code: comments and the text of string literals become spaces, so that
/// columns and lines stay where they were. What stands in an interpolation is code and stays.
struct SwiftText: Sendable {
  /// The source as it is, line by line.
  let original: [Substring]
  /// The code, line by line.
  let lines: [String]

  init(_ source: String) {
    original = source.split(separator: "\n", omittingEmptySubsequences: false)
    var scanner = Scanner(source: Array(source.utf8))
    scanner.scanCode(untilParenthesis: false)
    lines = String(decoding: scanner.code, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Every source file of the project, read once.
  private static let all = Result {
    try Project.files(below: "Sources", ending: ".swift")
      .map { (file: $0, text: SwiftText(try Project.text($0))) }
  }

  /// The source files of a target; of all targets without a name.
  static func sources(of target: String? = nil) throws -> [(file: String, text: SwiftText)] {
    try all.get().filter { target == nil || $0.file.hasPrefix("Sources/\(target ?? "")/") }
  }

  /// Plain loops over bytes: tests are not optimised, and all sources pass through here.
  private struct Scanner {
    let source: [UInt8]
    var position = 0
    var code: [UInt8] = []

    init(source: [UInt8]) { self.source = source }

    func byte(at offset: Int) -> UInt8 {
      position + offset < source.count ? source[position + offset] : 0
    }

    func has(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
      byte(at: 0) == UInt8(ascii: first) && byte(at: 1) == UInt8(ascii: second)
    }

    mutating func keep() {
      code.append(source[position])
      position += 1
    }

    mutating func blank(_ count: Int = 1) {
      for _ in 0..<count where position < source.count {
        code.append(source[position] == 0x0a ? 0x0a : 0x20)
        position += 1
      }
    }

    mutating func scanCode(untilParenthesis: Bool) {
      var depth = 0
      while position < source.count {
        switch source[position] {
        case UInt8(ascii: "/") where has("/", "/"):
          while position < source.count, source[position] != 0x0a { blank() }
        case UInt8(ascii: "/") where has("/", "*"): scanBlockComment()
        case UInt8(ascii: "\""): scanString(hashes: 0)
        case UInt8(ascii: "#"):
          var hashes = 1
          while byte(at: hashes) == UInt8(ascii: "#") { hashes += 1 }
          if byte(at: hashes) == UInt8(ascii: "\"") { scanString(hashes: hashes) } else { keep() }
        case UInt8(ascii: "("):
          depth += 1
          keep()
        case UInt8(ascii: ")"):
          if depth == 0, untilParenthesis { return }
          depth -= 1
          keep()
        default: keep()
        }
      }
    }

    mutating func scanBlockComment() {
      var depth = 0
      repeat {
        if has("/", "*") {
          depth += 1
          blank(2)
        } else if has("*", "/") {
          depth -= 1
          blank(2)
        } else {
          blank()
        }
      } while depth > 0 && position < source.count
    }

    mutating func scanString(hashes: Int) {
      blank(hashes)
      let quote = UInt8(ascii: "\"")
      let count = byte(at: 1) == quote && byte(at: 2) == quote ? 3 : 1
      for _ in 0..<count { keep() }
      while position < source.count, !ends(quotes: count, hashes: hashes) {
        guard source[position] == UInt8(ascii: "\\"), isEscape(hashes: hashes) else {
          blank()
          continue
        }
        let isInterpolation = byte(at: 1 + hashes) == UInt8(ascii: "(")
        blank(2 + hashes)
        guard isInterpolation else { continue }
        scanCode(untilParenthesis: true)
        blank()
      }
      for _ in 0..<count where position < source.count { keep() }
      blank(hashes)
    }

    func ends(quotes: Int, hashes: Int) -> Bool {
      guard source[position] == UInt8(ascii: "\"") else { return false }
      for offset in 0..<quotes where byte(at: offset) != UInt8(ascii: "\"") { return false }
      for offset in 0..<hashes where byte(at: quotes + offset) != UInt8(ascii: "#") { return false }
      return true
    }

    func isEscape(hashes: Int) -> Bool {
      for offset in 0..<hashes where byte(at: 1 + offset) != UInt8(ascii: "#") { return false }
      return true
    }
  }
}
