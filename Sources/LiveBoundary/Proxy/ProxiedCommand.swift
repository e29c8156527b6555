public import AgentRuntime
import CPrograms
import Glibc

/// A program that is watched: it has this process's input, outputs and terminal, a process group of its own,
/// and a few more variables.
public struct ProxiedCommand: Sendable {
  private let program: String
  private let arguments: [String]
  private let variables: [(name: String, value: String?)]

  /// Nothing is started.
  ///
  /// - Parameters:
  ///   - program: its path, or a name that is looked for in `PATH`.
  ///   - arguments: those behind the program's name.
  ///   - variables: beside those of this process, or in their place; `nil` for one that is not passed on.
  public init(
    _ program: String, _ arguments: [String], variables: [(name: String, value: String?)]
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
  /// group, and the end is still waited for; whatever else cancels it ends it, with all that it started.
  ///
  /// - Parameters:
  ///   - cancellation: What ends it early.
  ///   - watch: looks at its connections.
  ///   - network: where it is; `nil` for the network of this process.
  /// - Throws: ``StartFault``.
  public func run(
    until cancellation: Cancellation, watch: ConnectionWatch? = nil,
    in network: IsolatedNetwork? = nil
  ) async throws -> CommandEnd {
    var environment = Self.inherited
    for (name, value) in variables { environment[name] = value }
    let search = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(program)" }
    var order = ProgramOrder(
      paths: program.utf8.contains(UInt8(ascii: "/")) ? [program] : search,
      arguments: [program] + arguments, environment: environment)
    order.input = .inherited
    order.hasSession = false
    order.network = network
    let started = order
    let hub = ProgramHub.shared
    let number = hub.number()
    let terminal = Foreground()
    defer { terminal.takeBack() }
    let tell: @Sendable () -> Void = {
      // A signal is the command's to heed; what else ends it ends it with all that it started.
      if let signal = cancellation.signal.flatMap(SignalName.number(of:)) {
        hub.signal(number, signal)
      } else {
        hub.end(number, .cancelled(signal: cancellation.signal ?? "a wish"))
      }
    }
    let result = await cancellation.whileListening(tell) {
      await withCheckedContinuation { continuation in
        hub.start(
          started, as: number,
          ProgramEvents(
            started: { group in
              terminal.give(to: group)
              watch?.follow(group)
              // Whoever asked before it ran was not heard.
              if cancellation.signal != nil { tell() }
            },
            ended: { continuation.resume(returning: $0) }))
      }
    }
    switch result {
    case .failure(.stage(Int(PROGRAM_STAGE_EXECUTE), _)):
      throw StartFault(description: "\(program) could not be started: not found, or no program")
    case .failure(let fault):
      throw StartFault(description: "\(program) could not be started: \(fault.words)")
    case .success(let ended):
      if let signal = cancellation.signal { return .cancelled(signal: signal) }
      return switch ended.end {
      case .exited(let code): .exited(code)
      case .killed(let signal): .killed(signal)
      }
    }
  }

  /// The variables of this process.
  private static var inherited: [String: String] {
    var variables: [String: String] = [:]
    var next = environ
    while let text = next.pointee {
      next += 1
      let parts = String(cString: text).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
    }
    return variables
  }
}

/// The terminal that this process is in the foreground of, lent to a process group: whoever reads from a
/// terminal in the background is stopped.
private struct Foreground: Sendable {
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
