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
    all { $0.first == "Z" && $0.dropFirst().first.flatMap { Int32($0) } == getpid() }
  }

  /// Ends every process of a session, also those of other process groups in it, and those that these
  /// start meanwhile.
  ///
  /// - Returns: whether there was any that had not ended by itself.
  @discardableResult
  public static func killSession(_ session: Int32) -> Bool {
    var isAnyKilled = false
    for _ in 0..<100 {
      let members = all { fields in
        fields.dropFirst(3).first.flatMap { Int32($0) } == session
          && !["Z", "X"].contains(fields.first)
      }
      if members.isEmpty { break }
      for pid in members { kill(pid, SIGKILL) }
      isAnyKilled = true
    }
    return isAnyKilled
  }

  /// The processes whose fields in `/proc/PID/stat` behind the name (state, parent, group, session, …)
  /// are such.
  private static func all(where isSuch: ([Substring]) -> Bool) -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.filter { pid in
      guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
        let end = stat.lastIndex(of: ")")
      else { return false }
      return isSuch(stat[end...].dropFirst(2).split(separator: " "))
    }
  }
}
