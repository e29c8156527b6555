public import AgentRuntime
import AgentTrace
import Glibc
import Subprocess
import SystemPackage

/// A tool that runs a program which the model wrote: in a folder of its own that is taken away
/// afterwards, and kept from the network and from other processes as far as the system allows.
/// Docs/commands.md says what that is worth.
public struct CodeTool: Tool {
  /// How long a program may take whose tool and run set no limit.
  public static let defaultTimeoutMicroseconds = 30_000_000

  private let definition: CodeDefinition
  private let folder: String
  private let clock: any RunClock
  private let cancellation: Cancellation

  /// - Parameters:
  ///   - folder: The folder of the agent file, where an interpreter with a `/` is looked for.
  ///   - clock: On a fixed clock a call takes no time, so that a run gives the same bytes each time.
  ///   - cancellation: What cuts a call off.
  public init(
    _ definition: CodeDefinition, folder: String, clock: any RunClock, cancellation: Cancellation
  ) {
    self.definition = definition
    self.folder = CommandTool.absolute(folder)
    self.clock = clock
    self.cancellation = cancellation
  }

  public func run(_ request: ToolRequest) async -> ToolAnswer {
    guard let code = request.input["code"]?.stringValue else {
      return ToolAnswer(result: .error("the input has no text “code”"))
    }
    let limit = request.timeoutMicroseconds ?? Self.defaultTimeoutMicroseconds
    if let signal = cancellation.signal {
      return ToolAnswer(result: .error("not started: cancelled by \(signal)"))
    }
    if limit <= 0 { return ToolAnswer(result: .error("not started: no time is left")) }
    guard let program = program else {
      return ToolAnswer(
        result: .error(
          "cannot start “\(definition.interpreter.first ?? "")”: not found, or no program"))
    }
    let sandbox = await Sandbox.best(offline: definition.network != .on)
    if definition.network == .requiredOff, !sandbox.isOffline {
      return ToolAnswer(
        result: .error("not started: this system cannot keep a program from the network"))
    }
    guard let scratch = ScratchFolder(),
      scratch.write(Array(code.utf8), to: definition.fileName)
    else { return ToolAnswer(result: .error("not started: no folder can be made for it")) }
    let start = SuspendingClock.now
    let ending: CommandProcess.Ending
    do {
      ending = try await process(program, in: scratch.path, sandbox, limit).run(
        until: cancellation)
    } catch {
      return .cutOff(request, reason: "“\(program)”: \(error)", afterMicroseconds: 0)
    }
    let elapsed = clock.isFixed ? 0 : (SuspendingClock.now - start).wholeMicroseconds
    return answer(
      to: request, after: ending, in: scratch, sandbox: sandbox, elapsed: elapsed, limit: limit)
  }

  // MARK: Start

  /// The interpreter, found before anything stands before it; `nil` where there is none.
  private var program: String? {
    guard let name = definition.interpreter.first, !name.isEmpty else { return nil }
    if name.utf8.contains(UInt8(ascii: "/")) {
      let path = name.utf8.first == UInt8(ascii: "/") ? name : "\(folder)/\(name)"
      return access(path, X_OK) == 0 ? path : nil
    }
    return CommandVariables(definition.environment).path(of: name)
  }

  private func process(
    _ interpreter: String, in folder: String, _ sandbox: Sandbox, _ limit: Int
  ) -> CommandProcess {
    var options = PlatformOptions()
    options.createSession = true
    options.teardownSequence = [
      .gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: CommandProcess.grace)
    ]
    var arguments = sandbox.prefix
    if Sandbox.hasLimiter {
      arguments.append(Sandbox.limiter)
      arguments += definition.limits.options()
      // Counted for each user, and so for each user namespace: outside of one it would count the
      // processes of everybody's day.
      if sandbox.prefix.contains("--user") {
        arguments.append("--nproc=\(definition.maxProcesses + Self.wrappers)")
      }
      arguments.append("--")
    }
    // The first process of a namespace is spared signals that end others. So that is a shell, which
    // does nothing else, and says nothing of its own.
    if sandbox.ownsProcesses {
      arguments += ["/bin/sh", "-c", "exec 3>&2 2>/dev/null; (\"$@\" 2>&3 3>&-); exit $?", "sh"]
    }
    arguments += [interpreter] + definition.interpreter.dropFirst() + [definition.fileName]
    let program = arguments.first ?? ""
    var process = CommandProcess(
      configuration: Configuration(
        executable: program.utf8.contains(UInt8(ascii: "/"))
          ? .path(FilePath(program)) : .name(program),
        arguments: Arguments(Array(arguments.dropFirst())),
        environment: .custom(environment(in: folder)), workingDirectory: FilePath(folder),
        platformOptions: options),
      input: [], outputLimitBytes: definition.outputLimitBytes, endsAtOutputLimit: false,
      errorLimitBytes: definition.outputLimitBytes, timeoutMicroseconds: limit)
    process.limits = definition.limits
    process.maxProcesses = definition.maxProcesses + Self.wrappers
    return process
  }

  /// How many processes may stand before the program's own: `unshare`, the shell, and its copy.
  private static let wrappers = 3

  private func environment(in folder: String) -> [Environment.Key: String] {
    var variables = CommandVariables(definition.environment)
    variables.inherit("LANG")
    variables["HOME"] = folder
    variables["TMPDIR"] = folder
    return variables.all
  }

  // MARK: End

  private func answer(
    to request: ToolRequest, after ending: CommandProcess.Ending,
    in folder: borrowing ScratchFolder, sandbox: Sandbox, elapsed: Int, limit: Int
  ) -> ToolAnswer {
    let hidden = HiddenValues(definition.environment)
    switch ending.cause {
    case .timeLimit: return .timedOut(request, afterMicroseconds: limit)
    case .cancelled(let signal):
      return .cutOff(request, reason: "cancelled by \(signal)", afterMicroseconds: elapsed)
    case .processLimit:
      return .cutOff(
        request, reason: "more than \(definition.maxProcesses) processes",
        afterMicroseconds: elapsed)
    case .outputLimit, nil: break
    }
    let code: Int
    switch Self.ending(of: ending.status, isByShell: sandbox.ownsProcesses) {
    case .exited(let number): code = Int(number)
    case .signaled(let signal):
      return .cutOff(
        request,
        reason: "killed by \(SignalName.name(of: signal))\(hidden.quote(ending.errors))",
        afterMicroseconds: elapsed)
    }
    var result: JSONObject = [
      "stdout": ending.output.text, "stderr": ending.errorHead.text, "exitCode": JSONValue(code),
    ]
    if definition.network == .off, !sandbox.isOffline { result["network"] = "on" }
    if !definition.files.isEmpty {
      var files = JSONObject()
      for name in definition.files {
        files[name] = folder.read(name, limitBytes: definition.outputLimitBytes)?.text
      }
      result["files"] = .object(files)
    }
    return ToolAnswer(
      result: .ok(data: hidden.hide(.object(result))), elapsedMicroseconds: elapsed)
  }

  /// A shell tells of a program that a signal ended by the number of the signal above 128.
  private static func ending(
    of status: TerminationStatus, isByShell: Bool
  ) -> TerminationStatus {
    if isByShell, case .exited(let code) = status, (129...192).contains(code) {
      return .signaled(code - 128)
    }
    return status
  }
}
