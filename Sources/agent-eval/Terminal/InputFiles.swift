import TraceStorage

/// Files that a verb reads whole.
enum InputFiles {
  /// A file that cannot be read.
  struct Failure: Error, CustomStringConvertible {
    var path: String
    var reason: WholeFile.Failure
    var isTooLarge: Bool { if case .tooLarge = reason { true } else { false } }
    var description: String { "\(path) cannot be read: \(reason)" }
  }

  /// The bytes of a file, or of a pipe to its end.
  ///
  /// - Parameter limitBytes: More than that are refused.
  static func all(of path: String, limitBytes: Int = 1 << 30) throws -> [UInt8] {
    do {
      return try WholeFile.readToEnd(path, limitBytes: limitBytes)
    } catch {
      throw Failure(path: path, reason: error)
    }
  }
}
