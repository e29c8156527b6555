import Glibc
import SQLite

/// Why an index cannot be made, or a question cannot be put to it.
public struct IndexError: Error, Hashable, Sendable {
  /// What is wrong; cases may be added.
  public enum Code: Hashable, Sendable {
    /// The index cannot be opened, read or written: what could not be done, and what SQLite says.
    case database(String)
    /// Another process has been writing for longer than we wait.
    case busy
    /// The file that is in the way of an index cannot be moved.
    case inTheWay(errno: Int32)
    /// The statement cannot be understood; what SQLite says.
    case badStatement(String)
    /// The statement would do more than read.
    case notReadOnly
    /// More than one statement, or none.
    case notOneStatement
    /// The statement ran for longer than it may.
    case tookTooLong(seconds: Double)
    /// The statement needed more memory than it may.
    case tooLarge
  }

  /// What is wrong.
  public var code: Code
  /// The index.
  public var path: String

  /// The path is the index's, also where the fault is the statement's.
  public init(_ code: Code, path: String) {
    self.code = code
    self.path = path
  }

  init(_ error: SQLiteError, path: String) {
    self.init(error.isBusy ? .busy : .database("\(error)"), path: path)
  }
}

extension IndexError: CustomStringConvertible {
  /// What, where and what next, in one line.
  public var description: String {
    switch code {
    case .database(let message):
      "\(path): \(message); the index is only derived: delete it and try again"
    case .busy: "\(path): another process is writing this index; try again when it has ended"
    case .inTheWay(let number):
      "\(path): is no index and cannot be moved away: \(String(cString: strerror(number)))"
    case .badStatement(let message):
      "the statement cannot be run: \(message); the statement SELECT sql FROM sqlite_schema, with --json, shows "
        + "the tables"
    case .notReadOnly: "the statement would do more than read; give one SELECT"
    case .notOneStatement: "give one statement, a SELECT"
    case .tookTooLong(let seconds):
      "the statement took longer than \(seconds) s; give it more with --timeout"
    case .tooLarge: "the statement needs too much memory; ask for less"
    }
  }
}
