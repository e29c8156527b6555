import TestSupport
import Testing

@Suite("Who may import whom")
struct ArchitectureTests {
  /// Modules that come with the toolchain and are no dependency in Package.swift.
  private static let systemModules = ["Glibc", "Synchronization", "FoundationEssentials"]

  private static func imports(in source: String) -> [String] {
    imports(in: SwiftText(source))
  }

  private static func imports(in source: SwiftText) -> [String] {
    source.lines.compactMap { line in
      guard line.contains("import") else { return nil }
      return line.firstMatch(
        of:
          #/^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:\w+\s+)?import\s+(?:(?:struct|class|enum|func|protocol|typealias|let|var)\s+)?([\w-]+)/#
      ).map { String($0.1) }
    }
  }

  @Test("each import in Sources stands in the table of Docs/architecture.md")
  func imports() throws {
    let rows = try ArchitectureTable().rows
    #expect(rows.count > 10)
    for row in rows {
      for (file, source) in try SwiftText.sources(of: row.target) {
        let extra = Self.imports(in: source).filter { !row.imports.contains($0) }
        #expect(extra.isEmpty, "\(file) imports \(extra); its target's row does not name that")
      }
    }
  }

  @Test("the table and the folders of Sources hold the same targets")
  func folders() throws {
    let folders = Set(Project.files(below: "Sources").map { $0.split(separator: "/")[1] })
    #expect(Set(try ArchitectureTable().rows.map { Substring($0.target) }) == folders)
  }

  @Test("the dependencies in Package.swift are those of the table")
  func manifest() throws {
    let targets = try PackageManifest().targets
    let rows = try ArchitectureTable().rows
    #expect(Set(targets.map(\.name)) == Set(rows.map(\.target)))
    for row in rows {
      let declared = targets.first { $0.name == row.target }?.dependencies ?? []
      // The trait stands in the table between what is always there and what it brings.
      let named = row.imports.filter { !Self.systemModules.contains($0) && $0 != "Live" }
      #expect(Set(declared) == Set(named), "the dependencies of \(row.target)")
    }
  }

  @Test("data flows downwards: a target names only targets that stand above it")
  func order() throws {
    let rows = try ArchitectureTable().rows
    for (index, row) in rows.enumerated() {
      let below = rows[index...].map(\.target)
      #expect(row.imports.filter(below.contains).isEmpty, "\(row.target)")
    }
  }

  @Test(
    "an import is seen however it is written",
    arguments: [
      ("import A", ["A"]), ("public import A", ["A"]), ("@preconcurrency import A", ["A"]),
      ("@testable public import A", ["A"]), ("import struct A.B", ["A"]), ("// import A", []),
      ("let x = \"\"\"\nimport A\n\"\"\"", []), ("/* /* */\nimport A */import B", ["B"]),
    ])
  func reading(source: String, modules: [String]) {
    #expect(Self.imports(in: source) == modules)
  }
}
