import FilePaths
import Glibc

/// The processes of this machine as `/proc` tells of them (proc(5)).
struct ProcessTable {
  private struct Entry {
    var process: pid_t
    var parent: pid_t
    var session: pid_t
  }

  private let entries: [Entry]

  /// Reads the table. Cost: a file for each process.
  init() {
    var entries: [Entry] = []
    if let folder = opendir("/proc") {
      defer { closedir(folder) }
      while let item = readdir(folder) {
        let name = entryName(item)
        if let process = pid_t(name), let entry = Self.entry(of: process) { entries.append(entry) }
      }
    }
    self.entries = entries
  }

  /// The fields of `/proc/PID/stat` follow the name, which stands in parentheses and may hold any
  /// character: state, parent, process group, session. `nil` for one that has ended.
  private static func entry(of process: pid_t) -> Entry? {
    let file = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let text = withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { buffer in
      String(decoding: buffer.prefix(max(0, read(file, buffer.baseAddress, 512))), as: UTF8.self)
    }
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[end...].dropFirst().split(separator: " ", maxSplits: 5)
    guard fields.count > 3, fields[0] != "Z", fields[0] != "X", let parent = pid_t(fields[1]),
      let session = pid_t(fields[3])
    else { return nil }
    return Entry(process: process, parent: parent, session: session)
  }

  /// The living processes of a session.
  func members(ofSession session: pid_t) -> [pid_t] {
    entries.filter { $0.session == session }.map(\.process)
  }

  /// The living processes of a process's session, and all that descend from it.
  func family(of process: pid_t) -> Set<pid_t> {
    var family = Set(members(ofSession: process))
    var children: [pid_t: [pid_t]] = [:]
    for entry in entries { children[entry.parent, default: []].append(entry.process) }
    var open = [process] + family
    while let next = open.popLast() {
      for child in children[next] ?? [] where family.insert(child).inserted { open.append(child) }
    }
    return family
  }

  /// Ends a session at once: its first process group, then whatever else is in it, also what that
  /// starts meanwhile. The leader has to be a child that nobody has waited for, so that its number
  /// belongs to nobody else.
  static func killSession(_ leader: pid_t) {
    kill(-leader, SIGKILL)
    for _ in 0..<20 {
      let members = ProcessTable().members(ofSession: leader)
      if members.isEmpty { return }
      for member in members { kill(member, SIGKILL) }
    }
  }
}
