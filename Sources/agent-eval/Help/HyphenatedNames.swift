import FilePaths
import Glibc

/// Names of files that begin with a hyphen.
///
/// ArgumentParser takes `-hello.yaml` for options of a letter each, `-h` among them, so that a suite of that name would
/// be help, and a success.
enum HyphenatedNames {
  /// Refuses the first that there is: what is meant, nobody knows.
  static func refuse(in arguments: [String]) {
    let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
    // A letter and its value are an option: `-ojunit.xml`.
    for word in arguments[..<end].dropFirst()
    where word.hasPrefix("-") && word.utf8.count > 2 && !word.hasPrefix("--") && isThere(word) {
      Output.error(
        "Error: “\(word)” is a file here, and would be read as options of a letter each; write ./\(word)"
      )
      AgentEval.end(64)
    }
  }

  private static func isThere(_ path: String) -> Bool { linkStatus(path) != nil }
}
