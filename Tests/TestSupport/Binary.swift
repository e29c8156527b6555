import Foundation
import Subprocess
import SystemPackage

/// The built `agent-eval`: the one beside the tests, or the one that `AGENT_EVAL_BINARY` names.
public enum Binary {
  /// The full path of the program.
  public static let path: String = {
    if let given = ProcessInfo.processInfo.environment["AGENT_EVAL_BINARY"] { return given }
    return builtWithTests("agent-eval")
  }()

  /// The full path of a program of this package that stands beside the tests.
  public static func builtWithTests(_ name: String) -> String {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().path + "/" + name
  }

  /// Runs `agent-eval`.
  ///
  /// - Parameters:
  ///   - folder: Where it runs; the project's root without one.
  ///   - environment: Added to that of the tests. `NO_COLOR` is set and `CI` is not, unless it says so.
  ///   - input: Its standard input; empty without one.
  ///   - status: What it must exit with; any other is an error that shows everything. `nil` for any.
  ///   - timeoutSeconds: When it is killed.
  @discardableResult
  public static func run(
    _ arguments: [String], in folder: String? = nil, environment: [String: String] = [:],
    input: some Sequence<UInt8> = [UInt8](), status: Int32? = 0, timeoutSeconds: Double = 60
  ) async throws -> Command.Outcome {
    try await Command(
      program: path, arguments: arguments, folder: folder ?? Project.root, environment: environment,
      input: Array(input), timeoutSeconds: timeoutSeconds
    ).run(status: status)
  }
}

/// A program to run in a test.
public struct Command: Sendable {
  public var program: String
  public var arguments: [String]
  public var folder: String
  public var environment: [String: String]
  public var input: [UInt8]
  public var timeoutSeconds: Double

  public init(
    program: String, arguments: [String] = [], folder: String = Project.root,
    environment: [String: String] = [:], input: [UInt8] = [], timeoutSeconds: Double = 60
  ) {
    self.program = program
    self.arguments = arguments
    self.folder = folder
    self.environment = environment
    self.input = input
    self.timeoutSeconds = timeoutSeconds
  }

  /// What a program left behind.
  public struct Outcome: Sendable {
    public var command: Command
    /// The exit code, or minus the signal that ended it.
    public var status: Int32
    public var isTimedOut: Bool
    public var outputBytes: [UInt8]
    public var errorBytes: [UInt8]

    /// Standard output as text.
    public var output: String { String(decoding: outputBytes, as: UTF8.self) }
    /// Standard error as text.
    public var errors: String { String(decoding: errorBytes, as: UTF8.self) }
    /// The lines of standard output, without their ends.
    public var lines: [String] {
      outputBytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        .dropLast(outputBytes.isEmpty || outputBytes.last == UInt8(ascii: "\n") ? 1 : 0)
        .map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// An exit that a test did not expect, with everything needed to see it again.
  public struct UnexpectedExit: Error, CustomStringConvertible {
    public var outcome: Outcome
    public var expected: Int32

    public var description: String { "expected exit \(expected)\n\(outcome)" }
  }

  /// Runs the program to its end.
  ///
  /// - Throws: ``UnexpectedExit`` where `status` is given and not what it exited with.
  @discardableResult
  public func run(status expected: Int32? = 0) async throws -> Outcome {
    // Files instead of pipes: nothing blocks, however much is written, and nobody gets SIGPIPE.
    let files = try TemporaryFolder()
    let given = try FileDescriptor.open(FilePath(try files.write("input", input)), .readOnly)
    let printed = try FileDescriptor.open(FilePath(try files.write("output", [])), .writeOnly)
    let told = try FileDescriptor.open(FilePath(try files.write("errors", [])), .writeOnly)
    let ended = try await Subprocess.run(
      configuration, input: .fileDescriptor(given, closeAfterSpawningProcess: true),
      output: .fileDescriptor(printed, closeAfterSpawningProcess: true),
      error: .fileDescriptor(told, closeAfterSpawningProcess: true)
    ) { running in
      // A child of its own could hold up the end of a process that is killed alone.
      let session = running.processIdentifier.value
      return Task {
        let limit = timeoutSeconds * TestRun.patience
        guard (try? await Task.sleep(for: .seconds(limit))) != nil else { return false }
        // On a busy machine a program's end may be noticed only after the time that it had.
        return Processes.killSession(session)
      }
    }
    ended.closureResult.cancel()
    let isTimedOut = await ended.closureResult.value
    let status =
      switch ended.terminationStatus {
      case .exited(let code): code
      case .signaled(let signal): -signal
      }
    let outcome = Outcome(
      command: self, status: status, isTimedOut: isTimedOut, outputBytes: try files.read("output"),
      errorBytes: try files.read("errors"))
    if let expected, outcome.status != expected || isTimedOut {
      throw UnexpectedExit(outcome: outcome, expected: expected)
    }
    return outcome
  }

  /// What every program gets: the environment of the tests, but no word of it that changes what the
  /// program prints.
  private static let baseEnvironment: [String: String] = {
    var environment = ProcessInfo.processInfo.environment
    for name in [
      "CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR",
      "GITLAB_CI", "BUILDKITE", "TF_BUILD", "JENKINS_URL", "CIRCLECI", "TRAVIS", "TEAMCITY_VERSION",
      "APPVEYOR", "DRONE", "CODEBUILD_BUILD_ID", "BITBUCKET_BUILD_NUMBER",
    ] {
      environment[name] = nil
    }
    environment["NO_COLOR"] = "1"
    return environment
  }()

  /// How the program is started: in a session of its own, with no signal blocked or ignored.
  public var configuration: Configuration {
    let variables = Self.baseEnvironment.merging(environment) { $1 }
      .map { (Environment.Key(stringLiteral: $0.key), $0.value) }
    var options = PlatformOptions()
    options.createSession = true
    return Configuration(
      executable: .path(FilePath(program)), arguments: Arguments(arguments),
      environment: .custom(Dictionary(uniqueKeysWithValues: variables)),
      workingDirectory: FilePath(folder), platformOptions: options)
  }
}

extension Command.Outcome: CustomStringConvertible {
  public var description: String {
    let folder = command.folder
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? []
    let added = command.environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value) " }
    return """
      command: \(added.joined())\(([command.program] + command.arguments).joined(separator: " "))
      folder:  \(folder)
      holds:   \(names.joined(separator: "  "))
      status:  \(status)\(isTimedOut ? " (killed after \(command.timeoutSeconds) seconds)" : "")
      --- standard output
      \(output)
      --- standard error
      \(errors)
      ---
      """
  }
}
