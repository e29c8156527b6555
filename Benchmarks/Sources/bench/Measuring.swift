import Glibc

/// What a process cost.
struct Cost {
  /// User and system time.
  var cpuSeconds: Double
  var wallSeconds: Double
  var peakBytes: Int
  var exitCode: Int32
}

/// Runs processes and says what each cost, as the kernel tells it (wait4(2)).
enum Processes {
  /// Runs a program to its end; its output goes nowhere, or to a file.
  ///
  /// The kernel counts the memory of this process at the start of a child as the child's, so this
  /// process must stay small: whatever needs memory is a child.
  static func run(_ command: [String], output: String = "/dev/null") -> Cost {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    var arguments = command.map { strdup($0) } + [nil]
    // Results must not depend on whether the benchmark itself runs on CI.
    var environment = [strdup("PATH=/usr/bin:/bin"), nil]
    defer { for pointer in arguments + environment { free(pointer) } }
    var process = pid_t()
    let start = now()
    guard posix_spawn(&process, command[0], &actions, nil, &arguments, &environment) == 0 else {
      return Cost(cpuSeconds: .nan, wallSeconds: .nan, peakBytes: 0, exitCode: -1)
    }
    var (status, usage) = (Int32(), rusage())
    while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
    return Cost(
      cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime), wallSeconds: now() - start,
      peakBytes: usage.ru_maxrss * 1024, exitCode: status & 0x7f == 0 ? status >> 8 & 0xff : -1)
  }

  /// CPU seconds of this process so far.
  static func ownCPU() -> Double {
    var usage = rusage()
    getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// Seconds on a clock that only goes forwards.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func seconds(_ time: timeval) -> Double {
    Double(time.tv_sec) + Double(time.tv_usec) / 1e6
  }
}

extension [Double] {
  var median: Double { quantile(0.5) }

  func quantile(_ part: Double) -> Double {
    let sorted = sorted()
    guard !sorted.isEmpty else { return .nan }
    return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * part))]
  }
}

/// Figures with a fixed number of digits.
func figure(_ value: Double, digits: Int = 2) -> String {
  guard value.isFinite else { return "–" }
  var scale = 1.0
  for _ in 0..<digits { scale *= 10 }
  let whole = Int((value.magnitude * scale).rounded())
  let text = String(whole)
  let padded = String(repeating: "0", count: Swift.max(0, digits + 1 - text.count)) + text
  let sign = value < 0 && whole > 0 ? "-" : ""
  guard digits > 0 else { return sign + padded }
  return sign + padded.dropLast(digits) + "." + padded.suffix(digits)
}
