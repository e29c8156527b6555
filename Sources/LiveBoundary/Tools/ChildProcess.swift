import Glibc

/// What can be known of a child of this process that nobody has waited for.
enum ChildProcess {
  /// Looks, with growing pauses up to the one given, whether a process has ended; it stays a zombie.
  static func waitForExit(of process: pid_t, everyMicroseconds longest: Int) async {
    var pause = 50
    while !hasExited(process) {
      guard (try? await Task.sleep(for: .microseconds(pause))) != nil else { return }
      pause = min(pause * 2, longest)
    }
  }

  private static func hasExited(_ process: pid_t) -> Bool {
    guard let info = look(at: process) else { return true }
    return info._sifields._sigchld.si_pid != 0
  }

  /// How a process ended, in words.
  static func ending(of process: pid_t) -> String {
    guard let info = look(at: process), info._sifields._sigchld.si_pid != 0 else {
      return "the server has ended"
    }
    let status = info._sifields._sigchld.si_status
    return info.si_code == CLD_EXITED
      ? "the server exited with \(status)"
      : "the server was killed by \(SignalName.name(of: status))"
  }

  /// `nil` where there is no such child any more.
  private static func look(at process: pid_t) -> siginfo_t? {
    var info = siginfo_t()
    let status = waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT)
    return status == 0 ? info : nil
  }
}
