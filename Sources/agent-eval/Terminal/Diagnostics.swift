import ArgumentParser
import EvalLoading
import TraceReporting

/// What files say is wrong with them, on standard error.
enum Diagnostics {
  /// Prints diagnostics, one a line.
  static func print(_ diagnostics: [Diagnostic]) {
    for diagnostic in diagnostics { Output.error(Visible.line(diagnostic.description)) }
  }

  /// What was loaded, its warnings printed; exits with 2 and everything that is wrong where it could
  /// not be.
  static func unwrap<Value>(_ loaded: Loaded<Value>) throws -> Value {
    print(loaded.diagnostics)
    guard let value = loaded.value else { throw ExitCode(2) }
    return value
  }
}
