/// Why a log could not be exported, or an output not be written.
public struct ExportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong; open, so that cases can be added.
  public enum Code: Hashable, Sendable {
    /// The log's own fault, in words.
    case log(String)
    /// A log with no event.
    case empty
    /// More than the format can say.
    case tooLarge(String)
    /// The file is there already and holds something else.
    case exists(String)
    /// The system's reason why a file could not be written.
    case unwritable(String, String)
  }

  /// What is wrong.
  public var code: Code

  init(_ code: Code) { self.code = code }

  public var description: String {
    switch code {
    case .log(let reason): reason
    case .empty: "holds no event; nothing can be exported of it"
    case .tooLarge(let what): "\(what): more than the format can hold; export fewer logs at once"
    case .exists(let path):
      "\(path) is there already and holds something else; name another output or remove it"
    case .unwritable(let path, let reason): "\(path) cannot be written: \(reason)"
    }
  }
}
