import AgentRuntime
import CPrograms
import Glibc

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

  /// A session of its own: no terminal, and one group that can be ended as a whole.
  var order: ProgramOrder {
    ProgramOrder(
      paths: hasPath ? [path] : variables.paths(of: name), arguments: arguments,
      environment: variables.all, folder: folder, limits: limits)
  }

  private var hasPath: Bool { name.utf8.contains(UInt8(ascii: "/")) }

  private var path: String { name.utf8.first == UInt8(ascii: "/") ? name : "\(folder)/\(name)" }

  /// Why it could not be started, in words.
  func startFault(_ fault: ProgramFault) -> String {
    switch fault {
    case .stage(Int(PROGRAM_STAGE_EXECUTE), ENOENT), .stage(Int(PROGRAM_STAGE_EXECUTE), EACCES),
      .stage(Int(PROGRAM_STAGE_EXECUTE), ENOTDIR):
      "cannot start “\(name)”: not found, or no program"
    case .stage(Int(PROGRAM_STAGE_FOLDER), _):
      "cannot start “\(name)”: the folder of the agent file cannot be entered"
    case .ended, .descriptors: "not started: \(fault.words)"
    case .stage, .system: "cannot start “\(name)”: \(fault.words)"
    }
  }
}
