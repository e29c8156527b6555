import ArgumentParser
import FilePaths
import Glibc
import TraceReporting

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

  /// Refuses a report in the place of what one that is written by a slip would cost: what people wrote, a log, a
  /// trace. Earlier reports and results are replaced.
  static func checkReplaced(_ path: String) throws {
    // No more than brackets: an earlier report without findings, or a file that was made for one.
    guard let status = fileStatus(path), status.st_size > 3 else { return }
    guard let sort = FileSort(of: path), sort != .results, sort != .folder else { return }
    throw ValidationError(
      Visible.line("\(path) is \(sort.noun), which no report replaces; name another file."))
  }
}
