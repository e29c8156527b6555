public import AgentRuntime
import AgentTrace
import Glibc

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
  ///   - definition: Which interpreter runs what the model wrote, and what it may use.
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
    if let answer = ToolAnswer.untried("not started", within: limit, cancellation) { return answer }
    guard let program = program else {
      return ToolAnswer(
        result: .error(
          "cannot start “\(definition.interpreter.first ?? "")”: not found, or no program"))
    }
    let isOffline = definition.network != .on
    let found = definition.sandbox
    if let fault = definition.fault(in: found) {
      return ToolAnswer(result: .error("not started: \(fault)"))
    }
    // A root of its own has its own place to write.
    let scratch = found.sandbox.hasRoot ? nil : ScratchFolder()
    if !found.sandbox.hasRoot {
      guard let scratch, scratch.write(Array(code.utf8), to: definition.fileName) else {
        return ToolAnswer(result: .error("not started: no folder can be made for it"))
      }
    }
    var order = order(program, in: scratch?.path, found.sandbox, code)
    order.timeoutMicroseconds = limit
    let start = SuspendingClock.now
    let ending: CommandProcess.Exit
    do throws(ProgramFault) {
      ending = try await CommandProcess(
        order: order, outputLimitBytes: definition.outputLimitBytes, endsAtOutputLimit: false,
        errorLimitBytes: definition.outputLimitBytes
      ).run(until: cancellation)
    } catch {
      return .notStarted(
        error, "cannot start “\(definition.interpreter.first ?? "")”: \(error.words)",
        signal: cancellation.signal)
    }
    let elapsed = clock.isFixed ? 0 : (SuspendingClock.now - start).wholeMicroseconds
    let home = ending.home.map { HomeFolder(descriptor: $0.descriptor) } ?? scratch?.home
    let answer = answer(
      to: request, after: ending, in: home, gaps: found.sandbox.gaps(offline: isOffline),
      elapsed: elapsed, limit: limit)
    withExtendedLifetime(ending.home) {}
    return answer
  }

  // MARK: Start

  /// The interpreter, found before anything stands before it; `nil` where there is none. One that every
  /// sandbox shows is taken before others.
  private var program: String? {
    guard let name = definition.interpreter.first, !name.isEmpty else { return nil }
    if name.utf8.contains(UInt8(ascii: "/")) {
      let path = name.utf8.first == UInt8(ascii: "/") ? name : "\(folder)/\(name)"
      return access(path, X_OK) == 0 ? path : nil
    }
    let found = CommandVariables(definition.environment).paths(of: name)
      .filter { access($0, X_OK) == 0 }
    let visible = Sandbox.system + absoluteVisible
    return definition.isolation == .none
      ? found.first
      : found.first { path in visible.contains { path.utf8.starts(with: "\($0)/".utf8) } }
        ?? found.first
  }

  private var absoluteVisible: [String] {
    definition.visible.flatMap {
      Self.places(of: $0.utf8.first == UInt8(ascii: "/") ? $0 : "\(folder)/\($0)")
    }
  }

  /// A path without `.` and `..`, and where links on it lead to.
  private static func places(of path: String) -> [String] {
    var parts: [Substring] = []
    for part in path.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    let plain = "/" + parts.joined(separator: "/")
    guard let resolved = realpath(path, nil) else { return [plain] }
    defer { free(resolved) }
    let real = String(cString: resolved)
    return real.hasSameUTF8(as: plain) ? [plain] : [real, plain]
  }

  private func order(
    _ interpreter: String, in folder: String?, _ sandbox: Sandbox, _ code: String
  ) -> ProgramOrder {
    var order = ProgramOrder(
      paths: [interpreter],
      arguments: [interpreter] + definition.interpreter.dropFirst() + [definition.fileName],
      environment: environment(in: folder ?? Sandbox.home), folder: folder,
      limits: definition.limits)
    order.maxProcesses = definition.maxProcesses + (sandbox.isNone ? 0 : Self.wrappers)
    guard !sandbox.isNone else { return order }
    order.sandbox = SandboxedFile(
      sandbox: sandbox, visible: Sandbox.system + absoluteVisible + Self.places(of: interpreter),
      quotaBytes: definition.quotaBytes, name: definition.fileName, bytes: Array(code.utf8))
    // Counted for each user, and so for each namespace of users: outside of one it would count the
    // processes of everybody's day.
    if sandbox.hasUsers { order.maxProcessesOfUser = definition.maxProcesses + Self.wrappers }
    return order
  }

  /// How many processes stand before the program's own: the first of its namespace.
  private static let wrappers = 1

  private func environment(in folder: String) -> [String: String] {
    var variables = CommandVariables(definition.environment)
    variables.inherit("LANG")
    variables["HOME"] = folder
    variables["TMPDIR"] = folder
    return variables.all
  }

  // MARK: End

  private func answer(
    to request: ToolRequest, after ending: CommandProcess.Exit,
    in home: HomeFolder?, gaps: [String], elapsed: Int, limit: Int
  ) -> ToolAnswer {
    let edges = CutEdges(definition.environment)
    switch ending.cause {
    case .timeLimit: return .timedOut(request, afterMicroseconds: limit)
    case .cancelled(let signal):
      return .cutOff(
        request, reason: "cancelled by \(signal)", by: cancellation.signal,
        afterMicroseconds: elapsed)
    case .processLimit:
      return .cutOff(
        request, reason: "more than \(definition.maxProcesses) processes",
        afterMicroseconds: elapsed)
    case .outputLimit, nil: break
    }
    let code: Int
    switch ending.end {
    case .exited(let number): code = Int(number)
    case .killed(let signal):
      return .cutOff(
        request,
        reason: "killed by \(SignalName.name(of: signal))\(edges.quote(ending.errors))",
        afterMicroseconds: elapsed)
    }
    var result: JSONObject = [
      "stdout": ending.output.text, "stderr": ending.errorHead.text, "exitCode": JSONValue(code),
    ]
    if definition.network == .off, gaps.contains("network") || definition.isolation == .none {
      result["network"] = "on"
    }
    if definition.isolation == .best, !gaps.isEmpty {
      result["notIsolated"] = .array(gaps.map(JSONValue.string))
    }
    if !definition.files.isEmpty {
      var files = JSONObject()
      for name in definition.files {
        files[name] = home?.read(name, limitBytes: definition.outputLimitBytes)?.text
      }
      result["files"] = .object(files)
    }
    return ToolAnswer(
      result: .ok(data: edges.trimmed(.object(result))), elapsedMicroseconds: elapsed)
  }
}

extension CodeDefinition {
  /// The sandbox that its programs get here.
  var sandbox: Sandbox.Found {
    isolation == .none
      ? Sandbox.Found(sandbox: Sandbox()) : Sandbox.best(offline: network != .on)
  }

  /// Why its programs may not be started here; `nil` where they may.
  func fault(in found: Sandbox.Found) -> String? {
    if isolation == .required, let lack = found.lack {
      return
        "this system cannot keep a program from its files and its processes: \(lack). Run it where "
        + "it can, or say `isolation: best` and read Docs/commands.md for what that is worth"
    }
    if network == .requiredOff, !found.sandbox.isOffline {
      return "this system cannot keep a program from the network"
    }
    return nil
  }
}
