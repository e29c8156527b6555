import TestSupport

/// What Docs/architecture.md says of the targets.
struct ArchitectureTable {
  struct Row {
    var target: String
    /// In the order of the table's cell.
    var imports: [String]
  }

  let rows: [Row]

  init() throws {
    rows = try Self.rows(of: Project.text("Docs/architecture.md"))
  }

  static func rows(of document: String) throws -> [Row] {
    let lines = document.split(separator: "\n", omittingEmptySubsequences: false)
    let table = lines.drop { !$0.hasPrefix("| target |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
    return table.map { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
      let names = cells.dropFirst().map { words(inCodeSpansOf: String($0)) }
      return Row(target: names.first?.first ?? "", imports: names.count > 2 ? names[2] : [])
    }
  }

  private static func words(inCodeSpansOf text: String) -> [String] {
    let pieces = text.split(separator: "`", omittingEmptySubsequences: false)
    return pieces.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }
}

/// What Package.swift declares: each target of `Sources` with the modules it may use.
struct PackageManifest {
  struct Target {
    var name: String
    var dependencies: [String]
  }

  let targets: [Target]
  /// Debian packages that hold system libraries.
  let aptPackages: [String]

  init() throws { try self.init(manifest: Project.text("Package.swift")) }

  init(manifest: String) {
    var constants: [String: String] = [:]
    for match in manifest.matches(
      of: #/let (\w+): Target\.Dependency = \.product\(\s*name: "(\w+)"/#)
    {
      constants[String(match.1)] = String(match.2)
    }
    targets = manifest.matches(
      of:
        #/\.(?:systemLibrary|target|executableTarget)\(\s*name: "([\w-]+)"(?:|(.*?)(?:Settings: [\w +]+|\]\)|\n      \]|\]))\)(?:,|\n  \])/#
        .dotMatchesNewlines()
    ).filter { !($0.2 ?? "").contains("path:") }.map { match in
      let list =
        (match.2 ?? "").firstMatch(of: #/dependencies: \[(.*?)\]/#.dotMatchesNewlines())?.1 ?? ""
      let words = list.split { ", \n".contains($0) }.map { word in
        // `nio("NIOCore")` is a function of the manifest's; the name is what it is given.
        let name = word.firstMatch(of: #/^(?:nio\()?"([\w-]+)"\)?$/#).map { String($0.1) }
        return name ?? constants[String(word)] ?? ""
      }
      return Target(name: String(match.1), dependencies: words)
    }
    aptPackages = manifest.matches(of: #/\.apt\(\[(.*?)\]\)/#).flatMap { match in
      match.1.split { ", \"".contains($0) }.map(String.init)
    }
  }
}
