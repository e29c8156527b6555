import AgentTrace
import Glibc
import Synchronization
import TraceReporting

/// How standard output looks.
enum Screen {
  /// What the command line says of it.
  private struct Choice {
    var color: ColorChoice?
    var isFull = false
    var hasPager = true
  }

  private static let choice = Mutex(Choice())

  /// Takes what the command line says.
  static func choose(_ options: ScreenOptions) {
    choice.withLock {
      $0 = Choice(
        color: options.color, isFull: options.full, hasPager: !options.noPager)
    }
  }

  /// Whether somebody sits before it.
  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// Whether the last line of standard error can be written over.
  static let canReplaceLines = isatty(STDERR_FILENO) == 1 && !isDumb

  /// Whether the terminal knows nothing but lines of plain text, as it says itself.
  static var isDumb: Bool { variable("TERM") == "dumb" }

  /// The pager that long output goes through; `nil` where it goes to the terminal or a pipe as it comes.
  static var pager: String? {
    guard isTerminal, !isDumb, choice.withLock({ $0.hasPager }) else { return nil }
    guard let pager = Settings.here.pager ?? variable("PAGER"), pager != "cat", pager != "none"
    else { return nil }
    return pager
  }

  /// Colours as `--color` says, then the variables of https://no-color.org and https://force-color.org, then the
  /// project's settings; else on a terminal that knows them.
  static var painter: Painter { Painter(isColoured: isColoured) }

  private static var isColoured: Bool {
    switch choice.withLock({ $0.color }) ?? Settings.here.colorOfEnvironment {
    case .always?: return true
    case .never?: return false
    case .auto?: return isTerminal && !isDumb
    case nil: break
    }
    if variable("NO_COLOR") != nil { return false }
    if let forced = variable("FORCE_COLOR") ?? variable("CLICOLOR_FORCE") {
      return forced != "0" && forced != "false"
    }
    switch Settings.here.color {
    case .always?: return true
    case .never?: return false
    case .auto?, nil: return isTerminal && !isDumb && variable("CLICOLOR") != "0"
    }
  }

  /// Whether texts are shown to their ends, and broken where they break lines.
  static var isFull: Bool { choice.withLock { $0.isFull } }

  /// Characters that a line is cut at: those of the terminal; nowhere in files and pipes, and with `--full`.
  static var width: Int { isTerminal && !isFull ? columns : Visible.unlimited }

  /// Characters that columns are laid out for: those of the terminal, else 120.
  static var columns: Int {
    guard let size, size.ws_col > 0 else { return 120 }
    return Int(size.ws_col)
  }

  /// The fewest characters that help is laid out for.
  private static let leastHelpColumns = 40

  /// Gives help room where a terminal, or the variable `COLUMNS`, has less: ArgumentParser, which looks at both,
  /// stops the process or leaves its texts out where a line has no place behind its indentation.
  ///
  /// Changes the environment: for a process that tells of its arguments and ends.
  static func giveHelpRoom() {
    let terminal = size.flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil }
    guard let columns = variable("COLUMNS").flatMap({ Int($0) }) ?? terminal,
      columns < leastHelpColumns
    else { return }
    setenv("COLUMNS", String(leastHelpColumns), 1)
  }

  /// Lines of the terminal; `nil` where there is none.
  static var rows: Int? { size.flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil } }

  private static var size: winsize? {
    var size = winsize()
    guard isTerminal, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    return size
  }

  /// A variable of the environment; `nil` where it is not set or empty.
  static func variable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}

extension Screen {
  /// Variables that services of continuous integration set, as their documents say. `bin/setup.bash` and
  /// Docs/continuous-integration.md have the same.
  private static let variablesOfCI = [
    "CI", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "TF_BUILD", "JENKINS_URL", "CIRCLECI",
    "TRAVIS",
    "TEAMCITY_VERSION", "APPVEYOR", "DRONE", "CODEBUILD_BUILD_ID", "BITBUCKET_BUILD_NUMBER",
  ]

  /// Whether this is a run of continuous integration: one of the variables is there, and neither empty nor
  /// `0` nor `false`.
  static var isCI: Bool {
    variablesOfCI.contains { name in
      guard let value = getenv(name) else { return false }
      return !["", "0", "false"].contains(String(cString: value).lowercased())
    }
  }

  /// The day in Coordinated Universal Time, `2026-12-31`.
  static var today: String {
    String(UTC.text(microsecondsSince1970: time(nil) * 1_000_000).prefix(10))
  }

  /// Whether characters beyond ASCII can be shown: not on a terminal whose locale has another encoding
  /// (POSIX, XBD 8.2: the first that is set of three variables). Files and pipes hold UTF-8 always.
  static var knowsUnicode: Bool {
    guard isatty(STDOUT_FILENO) == 1 else { return true }
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      guard let value = getenv(name), value.pointee != 0 else { continue }
      let locale = String(cString: value).lowercased()
      return locale.contains("utf-8") || locale.contains("utf8")
    }
    return true
  }

  /// Processors that are on line.
  static var processorCount: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
