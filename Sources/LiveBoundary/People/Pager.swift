import Glibc

/// A program that a person reads long output in (`less`, for example), which takes it on its standard input.
///
/// It has the terminal for itself until it ends, so that it is no program beneath a watcher: nothing in a run waits
/// for it, and it is started by the reader's own words alone.
public struct Pager: Sendable {
  /// Where its input is written to.
  public let input: Int32
  private let process: pid_t

  /// Starts it by a shell, as `$PAGER` is understood; `nil` where it cannot be started.
  ///
  /// Signals of the terminal are the pager's from then on.
  public init?(_ command: String) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for signal in [SIGPIPE, SIGINT, SIGXFSZ] { sigaddset(&defaults, signal) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    // As git does: what fits on the screen is not paged, colours are shown, the screen is kept.
    setenv("LESS", "FRX", 0)
    var process: pid_t = 0
    var words: [UnsafeMutablePointer<CChar>?] = []
    // One that is not there has read nothing: all is shown without it.
    let script = "\(command)\ncase $? in 126 | 127) exec cat ;; esac"
    for word in ["/bin/sh", "-c", script] { words.append(strdup(word)) }
    words.append(nil)
    defer { for word in words { free(word) } }
    let status = posix_spawn(&process, "/bin/sh", &actions, &attributes, words, environ)
    close(ends[0])
    guard status == 0 else {
      close(ends[1])
      return nil
    }
    signal(SIGINT, SIG_IGN)
    signal(SIGQUIT, SIG_IGN)
    self.process = process
    input = ends[1]
  }

  /// Says that nothing more comes, and waits until the reader has had enough.
  public func waitForEnd() {
    close(input)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
  }
}
