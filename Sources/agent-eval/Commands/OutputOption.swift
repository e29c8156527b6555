import ArgumentParser

/// The option `--out` of several verbs.
enum OutputOption {
  /// Refuses an empty path: what an unset variable of a shell leaves would lead to the root folder.
  static func check(_ path: String) throws {
    if path.isEmpty { throw ValidationError("--out takes a path, and here it is empty.") }
  }
}
