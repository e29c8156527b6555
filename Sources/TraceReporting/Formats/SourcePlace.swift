/// Where a case stands: a file as services of continuous integration name it, and a line.
struct SourcePlace: Equatable {
  /// Relative to the root of the project where it lies below that, `.` for the root itself, else a full path; never
  /// with `.` or `..` on the way.
  var path: String
  /// From 1.
  var line: Int

  /// - Parameter position: `path:line`, as ``CaseResult/position`` has it; line 1 where it has none.
  init(_ position: String, in context: ReportContext) {
    var path = position[...]
    line = 1
    if let colon = position.lastIndex(of: ":"),
      let number = Int(position[position.index(after: colon)...]), number > 0
    {
      path = position[..<colon]
      line = number
    }
    path = path.prefix(Self.longest)
    let full = path.hasPrefix("/") ? String(path) : "\(context.folder)/\(path)"
    let (parts, root) = (Self.parts(of: full), Self.parts(of: context.root))
    if parts.count >= root.count, zip(parts, root).allSatisfy({ $0.hasSameBytes(as: $1) }) {
      let below = parts.dropFirst(root.count).joined(separator: "/")
      self.path = below.isEmpty ? "." : below
    } else {
      self.path = "/" + parts.joined(separator: "/")
    }
  }

  /// No path of a file is longer.
  private static let longest = 4_096

  /// The names on the way to a file, those left out that lead nowhere or back.
  private static func parts(of path: String) -> [String] {
    var parts: [String] = []
    for part in path.utf8.split(separator: UInt8(ascii: "/")) {
      let name = String(part) ?? ""
      switch name {
      case ".": break
      case "..": _ = parts.popLast()
      default: parts.append(name)
      }
    }
    return parts
  }
}

extension String {
  fileprivate func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
