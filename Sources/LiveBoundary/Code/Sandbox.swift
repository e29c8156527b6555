import AgentRuntime
import Glibc
import Subprocess
import Synchronization
import SystemPackage

/// What keeps a program that a model wrote from the rest of the machine: namespaces of its own
/// (namespaces(7)), by way of the program `unshare` of util-linux, as far as the system lets this
/// process make them.
struct Sandbox: Sendable {
  /// Arguments that the program's own follow.
  var prefix: [String]
  /// Whether the program has no network: not even its own machine.
  var isOffline: Bool
  /// Whether its processes are in a namespace of their own, so that none outlives the first.
  var ownsProcesses: Bool

  /// The best that the system allows.
  static func best(offline: Bool) async -> Sandbox {
    if let known = found.withLock({ $0[offline] }) { return known }
    var best = Sandbox(prefix: [], isOffline: false, ownsProcesses: false)
    for candidate in candidates(offline: offline) where await candidate.works() {
      best = candidate
      break
    }
    found.withLock { $0[offline] = best }
    return best
  }

  /// What the system allows does not change while this process runs.
  private static let found = Mutex<[Bool: Sandbox]>([:])

  /// The first that works is taken. A user namespace in which the program is who it was, without any
  /// right in it, is better than one in which it seems to be root; one of its own for processes ends
  /// whatever it leaves behind; and whoever is root may do without the former.
  private static func candidates(offline: Bool) -> [Sandbox] {
    let network = offline ? ["--net"] : []
    let processes = ["--pid", "--fork", "--kill-child=KILL", "--ipc"]
    return [
      (["--user", "--map-current-user"] + network + processes, true),
      (["--user", "--map-root-user"] + network + processes, true),
      (network + processes, true),
      (["--user", "--map-root-user"] + network, false),
      (network, false),
    ].filter { !$0.0.isEmpty }.map { flags, ownsProcesses in
      Sandbox(
        prefix: ["unshare"] + flags + ["--"], isOffline: offline, ownsProcesses: ownsProcesses)
    }
  }

  private func works() async -> Bool {
    let configuration = Configuration(
      executable: .name(prefix.first ?? ""),
      arguments: Arguments(Array(prefix.dropFirst()) + ["true"]),
      environment: .custom(CommandVariables(CommandEnvironment()).all))
    let ending = try? await CommandProcess(
      configuration: configuration, input: [], outputLimitBytes: 1_024,
      timeoutMicroseconds: 10_000_000
    ).run(until: Cancellation())
    return ending?.status == .exited(0)
  }

  /// The program of util-linux that sets limits before anything of what follows runs.
  static let limiter = "prlimit"
  /// Whether it is there.
  static let hasLimiter = CommandVariables(CommandEnvironment()).path(of: limiter) != nil
}
