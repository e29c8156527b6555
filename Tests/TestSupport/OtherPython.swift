import Foundation

/// A Python with other people's packages (`AGENT_EVAL_PYTHON`), for tests of what goes between them and us.
public enum OtherPython {
  /// The program; that of the path where nothing names one.
  public static let path = ProcessInfo.processInfo.environment["AGENT_EVAL_PYTHON"] ?? "python3"

  /// Whether it has all of these packages.
  public static func has(_ packages: [String]) async -> Bool {
    let program = "/usr/bin/env"
    let check = Command(
      program: program,
      arguments: [path, "-c", "import " + packages.joined(separator: ", ")])
    return (try? await check.run()) != nil
  }
}
