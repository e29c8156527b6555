/// A program that serves as a tool. Started without a shell.
public struct CommandDefinition: Sendable, Hashable {
  /// What becomes of output beyond the limit.
  public enum Excess: String, Sendable, Hashable, CaseIterable {
    /// It is dropped, and the result is the beginning as text with the mark of a cut value.
    case cut
    /// The command is ended, and the call fails.
    case error
  }

  /// The program and its arguments. A program with a `/` is relative to the agent file's folder.
  public var arguments: [String]
  /// The most bytes of standard output.
  public var outputLimitBytes: Int
  /// What becomes of more.
  public var outputLimit: Excess
  /// What its environment holds besides what every command gets.
  public var environment: CommandEnvironment
  /// What the process may use.
  public var limits: ProcessLimits
  /// The exit codes with which it says that it has done nothing.
  public var noEffectExitCodes: [Int] = []

  /// Nothing is started; where `arguments` names no program, each call fails. The output limit is 1 MiB
  /// unless given.
  public init(
    arguments: [String], outputLimitBytes: Int = 1 << 20, outputLimit: Excess = .cut,
    environment: CommandEnvironment = CommandEnvironment(), limits: ProcessLimits = ProcessLimits()
  ) {
    self.arguments = arguments
    self.outputLimitBytes = outputLimitBytes
    self.outputLimit = outputLimit
    self.environment = environment
    self.limits = limits
  }
}

/// Variables that a command gets besides the few that every command gets.
public struct CommandEnvironment: Sendable, Hashable {
  /// Names of variables that are passed on from this process, where they are set. No file and no log
  /// holds their values.
  public var pass: [String]
  /// Variables with their values.
  public var set: [String: String]

  /// A name that is both passed and set has the value that is set.
  public init(pass: [String] = [], set: [String: String] = [:]) {
    self.pass = pass
    self.set = set
  }
}

/// What a process may use; each process by itself where nothing else is said. `nil` is no limit.
public struct ProcessLimits: Sendable, Hashable {
  /// Bytes of address space (`RLIMIT_AS`, setrlimit(2)): what it has mapped, used or not.
  public var memoryBytes: Int?
  /// Seconds of processor time (`RLIMIT_CPU`).
  public var cpuSeconds: Int?
  /// Open files (`RLIMIT_NOFILE`).
  public var openFiles: Int?
  /// Bytes of a file that it writes (`RLIMIT_FSIZE`).
  public var fileBytes: Int?

  /// What is left out is no limit.
  public init(
    memoryBytes: Int? = nil, cpuSeconds: Int? = nil, openFiles: Int? = nil, fileBytes: Int? = nil
  ) {
    self.memoryBytes = memoryBytes
    self.cpuSeconds = cpuSeconds
    self.openFiles = openFiles
    self.fileBytes = fileBytes
  }
}

/// A tool that runs programs which the model writes: its input is `{"code"}`, its result
/// `{"stdout","stderr","exitCode","network","files"}`.
public struct CodeDefinition: Sendable, Hashable {
  /// Whether programs have a root, a home and processes of their own: of the system they see no more than
  /// they need, read-only, and of the user's files nothing.
  public enum Isolation: String, Sendable, Hashable, CaseIterable {
    /// Or nothing runs.
    case required
    /// As far as the system allows; the result says what it does not.
    case best
    /// Like any other program.
    case none
  }

  /// Whether a program may reach the network.
  public enum Network: String, Sendable, Hashable, CaseIterable {
    /// Not where the system can keep it from it; the result says whether it could.
    case off
    /// Not at all: where the system cannot keep it from it, nothing runs.
    case requiredOff = "required-off"
    /// Like any other program.
    case on
  }

  /// The interpreter and its arguments; the path of the file with the program follows them.
  public var interpreter: [String]
  /// What the file with the program is called.
  public var fileName: String
  /// Whether it may reach the network.
  public var network: Network
  /// Whether it is kept from the rest of the machine.
  public var isolation: Isolation
  /// What it sees of the system besides what every program needs, read-only; with a `/` at its beginning,
  /// or relative to the agent file's folder.
  public var visible: [String] = []
  /// The most bytes that all it writes may take, where it has a home of its own.
  public var quotaBytes = 128 << 20
  /// The most bytes of standard output and of standard error, each.
  public var outputLimitBytes: Int
  /// Files that the program may leave behind, whose texts the result holds; none where empty.
  public var files: [String]
  /// What its environment holds besides `PATH`, `LANG` and its folder.
  public var environment: CommandEnvironment
  /// What each of its processes may use.
  public var limits: ProcessLimits
  /// How many processes it may have at a time.
  public var maxProcesses: Int

  /// Nothing is started. The defaults are those of an agent file that leaves the key out.
  public init(
    interpreter: [String], fileName: String = "program", network: Network = .off,
    isolation: Isolation = .required,
    outputLimitBytes: Int = 1 << 16, files: [String] = [],
    environment: CommandEnvironment = CommandEnvironment(),
    limits: ProcessLimits = ProcessLimits(
      memoryBytes: 1 << 30, cpuSeconds: 60, openFiles: 256, fileBytes: 64 << 20),
    maxProcesses: Int = 32
  ) {
    self.interpreter = interpreter
    self.fileName = fileName
    self.network = network
    self.isolation = isolation
    self.outputLimitBytes = outputLimitBytes
    self.files = files
    self.environment = environment
    self.limits = limits
    self.maxProcesses = maxProcesses
  }
}
