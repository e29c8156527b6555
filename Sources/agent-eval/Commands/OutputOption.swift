import ArgumentParser

/// The option `--out` of several verbs, and others that name what is written.
enum OutputOption {
  /// Refuses an empty path: what an unset variable of a shell leaves would lead to the root folder.
  static func check(_ path: String) throws {
    if path.isEmpty { throw ValidationError("--out takes a path, and here it is empty.") }
    try checkMeaning(path)
  }

  /// Refuses what means something else elsewhere, and here would be the name of a file or a folder: `-`, and a `~`
  /// that the shell left as it is.
  static func checkMeaning(_ path: String) throws {
    if path == "-" {
      throw ValidationError("“-” is no standard output here; ./- is the file of that name.")
    }
    if path == "~" || path.hasPrefix("~/") {
      throw ValidationError(
        "A shell leaves “~” as it is behind “=”; write $HOME, or ./~ for a folder of that name.")
    }
  }
}
