import Foundation

/// A Python with other people's packages (`AGENT_EVAL_PYTHON`), for tests of what goes between them and us.
public enum OtherPython {
  /// The program; that of the path where nothing names one.
  public static let path = ProcessInfo.processInfo.environment["AGENT_EVAL_PYTHON"] ?? "python3"

  /// Whether it has all of these packages; where it has, and one cannot be imported, the test of it fails.
  ///
  /// They are looked for, not imported: that takes a second or more for each of the large ones, before any test begins.
  public static func has(_ packages: [String]) async -> Bool {
    let script =
      "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    let check = Command(
      program: "/usr/bin/env", arguments: [path, "-c", script] + packages)
    return (try? await check.run()) != nil
  }
}
