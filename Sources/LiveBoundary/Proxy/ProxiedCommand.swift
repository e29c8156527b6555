public import AgentRuntime
import Glibc
import Subprocess
import SystemPackage

/// A program that is watched: it has this process's input, outputs and terminal, a process group of its own,
/// and a few more variables.
public struct ProxiedCommand: Sendable {
  private let program: String
  private let arguments: [String]
  private let variables: [(name: String, value: String)]

  /// Nothing is started; `arguments` are those behind the program's name.
  public init(
    _ program: String, _ arguments: [String], variables: [(name: String, value: String)]
  ) {
    self.program = program
    self.arguments = arguments
    self.variables = variables
  }

  /// Why the program could not be started.
  public struct StartFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// In words.
    public var description: String
  }

  /// Runs the program to its end. A signal that asks this process to end is passed on to the program's whole
  /// group, and the end is still waited for.
  ///
  /// - Throws: ``StartFault``.
  public func run(until cancellation: Cancellation) async throws -> CommandEnd {
    var options = PlatformOptions()
    options.processGroupID = 0
    var added: [Environment.Key: String?] = [:]
    for (name, value) in variables { added[Environment.Key(stringLiteral: name)] = value }
    let configuration = Configuration(
      executable: program.utf8.contains(UInt8(ascii: "/"))
        ? .path(FilePath(program)) : .name(program),
      arguments: Arguments(arguments), environment: .inherit.updating(added),
      platformOptions: options)
    let terminal = Foreground()
    defer { terminal.takeBack() }
    do {
      let result = try await Subprocess.run(
        configuration, input: .fileDescriptor(.standardInput, closeAfterSpawningProcess: false),
        output: .fileDescriptor(.standardOutput, closeAfterSpawningProcess: false),
        error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false)
      ) { running in
        let group = running.processIdentifier.value
        RunningCommands.shared.insert(group)
        terminal.give(to: group)
        await cancellation.whileListening({
          let name = cancellation.signal ?? ""
          kill(-group, SignalName.number(of: name) ?? SIGTERM)
        }) {
          await Self.waitForExit(of: group)
        }
        RunningCommands.shared.remove(group)
      }
      if let signal = cancellation.signal { return .cancelled(signal: signal) }
      return switch result.terminationStatus {
      case .exited(let code): .exited(code)
      case .signaled(let signal): .killed(signal)
      }
    } catch let error as SubprocessError {
      throw StartFault(description: "\(program) could not be started: \(error)")
    }
  }

  /// Looks, with growing pauses, whether a process has ended; it stays a zombie.
  private static func waitForExit(of process: pid_t) async {
    var pause = 200
    while !Task.isCancelled {
      var info = siginfo_t()
      let status = waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT)
      if status != 0 || info._sifields._sigchld.si_pid != 0 { return }
      guard (try? await Task.sleep(for: .microseconds(pause))) != nil else { return }
      pause = min(pause * 2, 10_000)
    }
  }
}

/// The terminal that this process is in the foreground of, lent to a process group: whoever reads from a
/// terminal in the background is stopped.
private struct Foreground {
  private let owner: pid_t?

  init() {
    let group = isatty(STDIN_FILENO) == 1 ? tcgetpgrp(STDIN_FILENO) : -1
    owner = group > 0 && group == getpgrp() ? group : nil
  }

  func give(to group: pid_t) {
    guard owner != nil else { return }
    tcsetpgrp(STDIN_FILENO, group)
    // It may have asked for input too early.
    kill(-group, SIGCONT)
  }

  /// This process is in the background now, where asking for the terminal would stop it.
  func takeBack() {
    guard let owner else { return }
    let before = signal(SIGTTOU, SIG_IGN)
    tcsetpgrp(STDIN_FILENO, owner)
    signal(SIGTTOU, before)
  }
}
