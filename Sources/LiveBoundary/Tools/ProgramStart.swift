import AgentRuntime
import Glibc
import Subprocess
import SystemPackage

/// How a program of an agent file is started: without a shell, in a session of its own, in the agent file's
/// folder.
struct ProgramStart: Sendable {
  private let arguments: [String]
  private let folder: String
  private let variables: CommandVariables
  let limits: ProcessLimits

  init(
    _ arguments: [String], folder: String, variables: CommandVariables, limits: ProcessLimits
  ) {
    self.arguments = arguments
    self.folder = folder
    self.variables = variables
    self.limits = limits
  }

  /// As the agent file has it: a full path would differ between machines.
  var name: String { arguments.first ?? "" }

  /// Why it cannot be started, as far as its words tell; `nil` where they do not.
  var fault: String? {
    if name.isEmpty { return "not started: the command is empty" }
    if arguments.contains(where: { $0.utf8.contains(0) }) {
      return "not started: an argument of the command holds a zero byte"
    }
    return nil
  }

  var configuration: Configuration {
    var options = PlatformOptions()
    // A session of its own: no terminal, and one group that can be ended as a whole.
    options.createSession = true
    options.teardownSequence = [
      .gracefulShutDown(
        toProcessGroup: true, allowedDurationToNextStep: CommandProcess.grace)
    ]
    var executable: Executable = hasPath ? .path(path) : .name(name)
    var arguments = Arguments(
      executablePathOverride: name, remainingValues: Array(arguments.dropFirst()))
    if let limited {
      executable = .name(Sandbox.limiter)
      arguments = Arguments(limited + self.arguments.dropFirst())
    }
    return Configuration(
      executable: executable, arguments: arguments, environment: .custom(variables.all),
      workingDirectory: FilePath(folder), platformOptions: options)
  }

  private var hasPath: Bool { name.utf8.contains(UInt8(ascii: "/")) }

  private var path: FilePath { FilePath(folder).pushing(FilePath(name)) }

  /// The arguments of a program that sets the limits before it becomes the command: once that runs, it
  /// may have started others already. `nil` where there are no limits, no such program, or no command;
  /// the limits are set on the running command then.
  private var limited: [String]? {
    guard limits != ProcessLimits(), Sandbox.hasLimiter else { return nil }
    let path = hasPath ? path.string : variables.path(of: name)
    guard let path, access(path, X_OK) == 0 else { return nil }
    return limits.options() + ["--", path]
  }

  /// Why it could not be started, in words.
  func startFault(_ error: any Error) -> String {
    guard let error = error as? SubprocessError else { return "lost “\(name)”: \(error)" }
    return switch error.code {
    case .executableNotFound: "cannot start “\(name)”: not found, or no program"
    case .failedToChangeWorkingDirectory:
      "cannot start “\(name)”: the folder of the agent file cannot be entered"
    case .spawnFailed:
      "cannot start “\(name)”: \(error.underlyingError.map { "\($0)" } ?? "the system refused")"
    default: "lost “\(name)”: \(error)"
    }
  }

  /// Whether an error says that nothing was started.
  static func isBeforeStart(_ error: any Error) -> Bool {
    guard let error = error as? SubprocessError else { return false }
    return [.executableNotFound, .failedToChangeWorkingDirectory, .spawnFailed]
      .contains(error.code)
  }
}
