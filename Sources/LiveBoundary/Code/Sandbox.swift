import AgentRuntime
import CPrograms
import Glibc
import Synchronization

/// What keeps a program that a model wrote from the rest of the machine: namespaces of its own
/// (namespaces(7)), as far as the system lets this process make them.
struct Sandbox: Sendable, Hashable {
  /// Whether who is not root is given the right to make the others.
  var hasUsers = false
  /// Whether it has a root of its own: of this system no more than is shown, read-only, and one place to
  /// write, of a size.
  var hasRoot = false
  /// Whether the program has no network: not even its own machine.
  var isOffline = false
  /// Whether its processes are in a namespace of their own, so that none outlives the first.
  var ownsProcesses = false

  /// Where a program may write that has a root of its own.
  static let home = "/home/agent"
  /// The parts of a system that programs need, as far as they are there.
  static let system = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store",
    "/gnu/store", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime", "/etc/ssl/certs", "/etc/pki", "/etc/ca-certificates",
  ]

  var isNone: Bool { self == Sandbox() }

  /// What a system allows.
  struct Found: Sendable {
    /// The best that it allows.
    var sandbox: Sandbox
    /// What it lacks for all that was asked for, in words; `nil` where nothing.
    var lack: String?
  }

  /// The best that the system allows.
  ///
  /// - Complexity: starts a few programs the first time.
  static func best(offline: Bool) -> Found {
    found.withLock { found in
      if let known = found[offline] { return known }
      var best = Found(sandbox: Sandbox())
      for candidate in candidates(offline: offline) {
        guard let fault = candidate.fault() else {
          best.sandbox = candidate
          break
        }
        best.lack = best.lack ?? fault
      }
      if best.sandbox.isWhole(offline: offline) { best.lack = nil }
      found[offline] = best
      return best
    }
  }

  /// Whether it keeps a program from all that it is to be kept from.
  func isWhole(offline: Bool) -> Bool { hasRoot && ownsProcesses && (isOffline || !offline) }

  /// What a program is not kept from, in words for a result.
  func gaps(offline: Bool) -> [String] {
    var gaps: [String] = []
    if !hasRoot { gaps.append("files") }
    if offline, !isOffline { gaps.append("network") }
    if !ownsProcesses { gaps.append("processes") }
    return gaps
  }

  /// What the system allows does not change while this process runs.
  private static let found = Mutex<[Bool: Found]>([:])

  /// The first that works is taken. A namespace of users takes away rights even from root; whoever is root
  /// may do without.
  private static func candidates(offline: Bool) -> [Sandbox] {
    let parts = [(true, offline, true), (false, offline, true), (false, offline, false)]
    return parts.flatMap { root, offline, processes in
      [true, false].map {
        Sandbox(hasUsers: $0, hasRoot: root, isOffline: offline, ownsProcesses: processes)
      }
    }.filter { $0 != Sandbox() && $0 != Sandbox(hasUsers: true) }
  }

  // MARK: Trying

  /// How long a trial may take.
  private static let patienceMilliseconds: Int32 = 10_000

  /// Why a program cannot be started in it; `nil` where one was.
  private func fault() -> String? {
    let null = open("/dev/null", O_RDWR | O_CLOEXEC)
    guard null >= 0 else { return "there is no /dev/null" }
    defer { close(null) }
    var order = ProgramOrder(
      paths: ["/bin/true", "/usr/bin/true"], arguments: ["true"], environment: [:])
    order.sandbox = SandboxedFile(
      sandbox: self, visible: Self.system, quotaBytes: 1 << 20, name: "program", bytes: [])
    let control: Int32
    let watcher: pid_t
    do throws(ProgramFault) {
      (control, watcher) = try RunningProgram.watch(order, (null, null, null))
    } catch { return error.words }
    defer {
      close(control)
      waitpid(watcher, nil, 0)
    }
    while true {
      var descriptor = pollfd(fd: control, events: Int16(POLLIN), revents: 0)
      guard poll(&descriptor, 1, Self.patienceMilliseconds) > 0 else { return "it takes too long" }
      var word = program_word()
      var home: Int32 = -1
      guard program_hear(control, &word, &home) == 1 else { return "its watcher was killed" }
      if home >= 0 { close(home) }
      switch Int(word.kind) {
      case Int(PROGRAM_FAILED): return ProgramFault.stage(Int(word.value), word.detail).words
      case Int(PROGRAM_ENDED):
        return word.value == 0 ? nil : "the program “true” fails there"
      default: break
      }
    }
  }
}

extension ProgramFault {
  /// In words, for a program without a name.
  var words: String {
    switch self {
    case .stage(let stage, let number):
      let reason = String(cString: strerror(number))
      return "\(Self.deed(of: stage)): \(reason)"
    case .system(let number): return String(cString: strerror(number))
    case .descriptors(let needed, let open, let limit):
      return "too few file descriptors: \(needed) are needed beside the \(open) that are open, and "
        + "\(limit) are allowed; allow more (ulimit -n)"
    case .ended(.cancelled(let signal)): return "cancelled by \(signal)"
    case .ended: return "no time is left"
    }
  }

  private static func deed(of stage: Int) -> String {
    switch stage {
    case Int(PROGRAM_STAGE_FOLDER): "its folder cannot be entered"
    case Int(PROGRAM_STAGE_LIMITS): "its limits cannot be set"
    case Int(PROGRAM_STAGE_EXECUTE): "it cannot be executed"
    case Int(PROGRAM_STAGE_NAMESPACES): "namespaces of its own cannot be made (clone)"
    case Int(PROGRAM_STAGE_USERS): "no user can be named in a namespace of users (uid_map)"
    case Int(PROGRAM_STAGE_ROOT): "a root of its own cannot be made (mount, pivot_root)"
    case Int(PROGRAM_STAGE_SYSTEM): "the system cannot be shown read-only (mount)"
    case Int(PROGRAM_STAGE_QUOTA): "a home of limited size cannot be made (tmpfs)"
    case Int(PROGRAM_STAGE_PROCESSES): "/proc cannot be mounted"
    case Int(PROGRAM_STAGE_RIGHTS): "rights cannot be given up (capset)"
    case Int(PROGRAM_STAGE_NETWORK): "its network cannot be entered (setns)"
    default: "nothing can be started"
    }
  }

  /// Whether it lacks descriptors, which no other call has more of.
  var isLackOfDescriptors: Bool {
    if case .descriptors = self { true } else { false }
  }
}

/// A sandbox as C takes it.
enum SandboxArguments {
  /// The most files that a program may make for each MiB that it may write, and besides.
  private static let filesPerMebibyte = 64
  private static let fewestFiles = 1_024

  static func with<Result>(
    _ file: SandboxedFile?, _ body: (UnsafePointer<program_sandbox>?) -> Result
  ) -> Result {
    guard let file else { return body(nil) }
    let texts = CTexts([Sandbox.home, file.name])
    let visible = CTexts(file.visible)
    defer { withExtendedLifetime((texts, visible)) {} }
    return file.bytes.withUnsafeBytes { bytes in
      var sandbox = program_sandbox()
      sandbox.has_users = file.sandbox.hasUsers ? 1 : 0
      sandbox.has_root = file.sandbox.hasRoot ? 1 : 0
      sandbox.has_network = file.sandbox.isOffline ? 1 : 0
      sandbox.has_processes = file.sandbox.ownsProcesses ? 1 : 0
      sandbox.quota_bytes = UInt64(max(4_096, file.quotaBytes))
      sandbox.quota_files = UInt64(fewestFiles + max(0, file.quotaBytes >> 20) * filesPerMebibyte)
      sandbox.home = texts.start[0]
      sandbox.visible = UnsafePointer(visible.start)
      sandbox.file_name = texts.start[1]
      sandbox.file_bytes = bytes.baseAddress
      sandbox.file_length = bytes.count
      return body(&sandbox)
    }
  }
}
