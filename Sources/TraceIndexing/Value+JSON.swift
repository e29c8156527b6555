import AgentTrace
import SQLite

extension Value {
  /// The value as JSON: blobs, and text that is no UTF-8, are bytes; infinity, which JSON lacks, is `null`.
  var json: JSONValue {
    switch self {
    case .null: .null
    case .integer(let value): JSONValue(value)
    case .real(let value): JSONValue(value)
    case .text(let text): .string(text)
    case .blob(let bytes): .bytes(bytes)
    }
  }
}
