import Foundation

/// What the system says of a process.
public enum Processes {
  /// Whether a process is there and runs, sleeps or is stopped; one that has ended and only waits to
  /// be taken note of (a zombie) is not. By `/proc/PID/stat` (proc(5)): the state follows the name,
  /// which stands in parentheses and may hold any character.
  public static func isAlive(_ pid: Int32) -> Bool {
    guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      let end = stat.lastIndex(of: ")")
    else { return false }
    return !["Z", "X"].contains(stat[end...].dropFirst(2).prefix(1))
  }

  /// The zombies whose parent is this process.
  public static var ownZombies: [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.filter { pid in
      guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
        let end = stat.lastIndex(of: ")")
      else { return false }
      let fields = stat[end...].dropFirst(2).split(separator: " ")
      return fields.first == "Z" && fields.dropFirst().first.flatMap { Int32($0) } == getpid()
    }
  }
}
