import Foundation
import Testing

extension Project {
  /// Expects a table of a document to have these rows; with `UPDATE_TABLES` set, writes them into it instead.
  ///
  /// - Parameter head: the two lines at its top, with their line ends.
  public static func checkTable(_ rows: [String], below head: String, in document: String) throws {
    let text = try text(document)
    let start = try #require(text.range(of: head), "\(document) has no such table").upperBound
    let end = try #require(text.range(of: "\n\n", range: start..<text.endIndex)).lowerBound
    let table = rows.joined(separator: "\n")
    guard ProcessInfo.processInfo.environment["UPDATE_TABLES"] == nil else {
      return try text.replacingCharacters(in: start..<end, with: table).write(
        toFile: path(document), atomically: true, encoding: .utf8)
    }
    #expect(text[start..<end] == table, "\(document): UPDATE_TABLES=1 makes it anew")
  }
}
