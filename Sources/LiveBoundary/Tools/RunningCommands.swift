import Glibc
import Synchronization

/// The process groups of the commands that run now, so that none outlives a process that ends at once.
final class RunningCommands: Sendable {
  static let shared = RunningCommands()

  private let groups = Mutex<Set<pid_t>>([])

  func insert(_ group: pid_t) { groups.withLock { _ = $0.insert(group) } }

  func remove(_ group: pid_t) { groups.withLock { _ = $0.remove(group) } }

  func killAll() {
    groups.withLock { groups in
      for group in groups { kill(-group, SIGKILL) }
    }
  }
}
