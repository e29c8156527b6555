/// A Markdown document of the project.
public struct Document: Sendable, CustomStringConvertible {
  /// Its path from the project's root.
  public let path: String
  /// Its text, line by line.
  public let lines: [Substring]

  public init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  public var description: String { path }

  /// README.md, CONTRIBUTING.md and all of Docs, as far as they are there.
  public static func all() throws -> [Document] {
    let top = ["CONTRIBUTING.md", "README.md"].filter(Project.has)
    return try (top + Project.files(below: "Docs", ending: ".md")).map {
      Document(path: $0, text: try Project.text($0))
    }
  }

  /// A block between two fences.
  public struct Block: Sendable {
    /// The word behind the opening fence, for example `console`.
    public var language: String
    public var lines: [Substring]
    /// The number of its first line in the document, from 1.
    public var firstLine: Int
  }

  /// Every fenced block, in order.
  public var blocks: [Block] {
    var blocks: [Block] = []
    var open: Block?
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("```") {
        if let block = open { blocks.append(block) }
        open =
          open == nil
          ? Block(language: String(line.dropFirst(3)), lines: [], firstLine: index + 2) : nil
      } else {
        open?.lines.append(line)
      }
    }
    return blocks
  }

  /// Every piece of code with the number of its line: lines of fenced and of indented blocks, and what
  /// stands between backticks.
  public var code: [(line: Int, text: String)] {
    var pieces: [(Int, String)] = []
    var isFenced = false
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("```") {
        isFenced.toggle()
      } else if isFenced || line.hasPrefix("    ") {
        pieces.append((index + 1, String(line)))
      } else {
        let spans = line.split(separator: "`", omittingEmptySubsequences: false)
        for (number, span) in spans.enumerated() where number % 2 == 1 {
          pieces.append((index + 1, String(span)))
        }
      }
    }
    return pieces
  }
}
