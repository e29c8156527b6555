import AgentRuntime
import Glibc

extension ProcessLimits {
  /// Limits a process that runs already, and with it whatever it starts from now on (prlimit(2)).
  func apply(to process: pid_t) {
    set(memoryBytes, UInt32(RLIMIT_AS.rawValue), process)
    set(cpuSeconds, UInt32(RLIMIT_CPU.rawValue), process)
    set(openFiles, UInt32(RLIMIT_NOFILE.rawValue), process)
    set(fileBytes, UInt32(RLIMIT_FSIZE.rawValue), process)
  }

  /// The same as options of the program `prlimit` of util-linux, which sets them before anything runs.
  func options() -> [String] {
    [("as", memoryBytes), ("cpu", cpuSeconds), ("nofile", openFiles), ("fsize", fileBytes)]
      .compactMap { name, value in value.map { "--\(name)=\(max(0, $0))" } }
  }

  private func set(_ value: Int?, _ resource: UInt32, _ process: pid_t) {
    guard let value, let change = Self.change else { return }
    var limit = rlimit(rlim_cur: rlim_t(max(0, value)), rlim_max: rlim_t(max(0, value)))
    _ = change(process, resource, &limit, nil)
  }

  private typealias Change =
    @convention(c) (
      pid_t, UInt32, UnsafePointer<rlimit>?, UnsafeMutablePointer<rlimit>?
    ) -> Int32

  /// A function of GNU that headers show only to those who ask for it.
  private static let change: Change? = dlsym(nil, "prlimit").map {
    unsafeBitCast($0, to: Change.self)
  }
}
