import AgentTrace
import TraceImporting

/// A table as spreadsheets write it (RFC 4180): the first row names the columns.
struct CommaSeparated {
  /// The names of the columns, in their order.
  var columns: [String] = []
  /// The rows below them, each an object of the cells in which something stands.
  var rows: [JSONValue] = []

  /// Reads a table.
  ///
  /// - Throws: ``ImportError`` where a quote is not closed, or a row has more cells than there are columns.
  init(_ bytes: [UInt8]) throws(ImportError) {
    var records = try Self.records(of: bytes[...])
    records.removeAll { $0 == [""] }
    guard let columns = records.first else { return }
    self.columns = columns
    for (index, record) in records.dropFirst().enumerated() {
      guard record.count <= columns.count else {
        throw ImportError(
          .wrongShape(expected: "at most \(columns.count) cells"),
          at: JSONPointer(tokens: [String(index)]))
      }
      var row = JSONObject()
      for (column, cell) in zip(columns, record) where !cell.isEmpty { row[column] = .string(cell) }
      rows.append(.object(row))
    }
  }

  /// The lines of a table, each its cells, behind a byte order mark or not.
  ///
  /// - Throws: ``ImportError`` where a quote is not closed.
  static func records(of bytes: ArraySlice<UInt8>) throws(ImportError) -> [[String]] {
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let bytes = bytes.starts(with: mark) ? bytes.dropFirst(3) : bytes
    var records: [[String]] = []
    var (record, cell): ([String], [UInt8]) = ([], [])
    var isQuoted = false
    var index = bytes.startIndex
    func closed(_ cell: [UInt8]) -> String { String(decoding: cell, as: UTF8.self) }
    while index < bytes.endIndex {
      let byte = bytes[index]
      index += 1
      if isQuoted {
        let isDoubled = byte == quote && index < bytes.endIndex && bytes[index] == quote
        if isDoubled { index += 1 }
        if byte == quote, !isDoubled { isQuoted = false } else { cell.append(byte) }
        continue
      }
      switch byte {
      case quote where cell.isEmpty: isQuoted = true
      case UInt8(ascii: ","):
        record.append(closed(cell))
        cell = []
      case UInt8(ascii: "\r") where index < bytes.endIndex && bytes[index] == UInt8(ascii: "\n"):
        break
      case UInt8(ascii: "\n"):
        records.append(record + [closed(cell)])
        (record, cell) = ([], [])
      default: cell.append(byte)
      }
    }
    guard !isQuoted else {
      throw ImportError(.wrongShape(expected: "a quote that closes the last"))
    }
    if !record.isEmpty || !cell.isEmpty { records.append(record + [closed(cell)]) }
    return records
  }

  private static let quote = UInt8(ascii: "\"")
}
