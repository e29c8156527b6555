import FilePaths
import Glibc
import Synchronization

/// Looks now and then at the TCP connections of a command, as far as `/proc` shows them: a connection that
/// does not lead to the proxy may have led to a model.
///
/// Nothing is certain about what it does not see: a connection that came and went between two looks is not
/// there.
public final class ConnectionWatch: Sendable {
  private struct State {
    var leader: pid_t?
    var found: Set<String> = []
  }

  private let state = Mutex(State())
  private let port: Int

  /// The most addresses that are kept.
  private static let limit = 1_000

  /// - Parameter port: the proxy's own.
  public init(port: Int) { self.port = port }

  /// Looks while some work goes on.
  public func whileLooking<Result: Sendable>(
    _ work: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        // Often at first: many commands are over soon.
        var milliseconds = 5
        while !Task.isCancelled {
          self.look()
          try? await Task.sleep(for: .milliseconds(milliseconds))
          milliseconds = min(200, milliseconds + 5)
        }
        return nil
      }
      defer { group.cancelAll() }
      while let result = try await group.next() {
        if let result { return result }
      }
      throw CancellationError()
    }
  }

  /// Learns whose connections are looked at: those of a process and all that descend from it.
  func follow(_ leader: pid_t) { state.withLock { $0.leader = leader } }

  /// The other ends of connections that do not lead to the proxy, by their bytes: `93.184.216.34:443`.
  public var others: [String] {
    state.withLock { $0.found }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  private func look() {
    guard let leader = state.withLock({ $0.leader }) else { return }
    let family = ProcessTable().family(of: leader).union([leader])
    let sockets = Set(family.flatMap(Self.sockets))
    guard !sockets.isEmpty else { return }
    var found: Set<String> = []
    for table in ["tcp", "tcp6"] {
      for line in SocketTables.text(of: "/proc/\(leader)/net/\(table)").split(separator: "\n")
        .dropFirst()
      {
        let fields = line.split(separator: " ")
        // Established, or about to be: whoever listens has no other end.
        guard fields.count > 9, fields[3] == "01" || fields[3] == "02",
          sockets.contains(String(fields[9])), let other = SocketTables.address(fields[2]),
          !isProxy(other)
        else { continue }
        found.insert("\(other.host):\(other.port)")
      }
    }
    guard !found.isEmpty else { return }
    state.withLock { state in
      if state.found.count < Self.limit { state.found.formUnion(found) }
    }
  }

  private func isProxy(_ address: (host: String, port: Int)) -> Bool {
    address.port == port && ["127.0.0.1", "[::1]"].contains(address.host)
  }

  /// The inodes of a process's sockets.
  private static func sockets(of process: pid_t) -> [String] {
    guard let folder = opendir("/proc/\(process)/fd") else { return [] }
    defer { closedir(folder) }
    var inodes: [String] = []
    while let item = readdir(folder) {
      let name = entryName(item)
      let target = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
        guard let start = buffer.baseAddress else { return "" }
        let count = readlink("/proc/\(process)/fd/\(name)", start, 64)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
      }
      if target.hasPrefix("socket:["), target.hasSuffix("]") {
        inodes.append(String(target.dropFirst(8).dropLast()))
      }
    }
    return inodes
  }
}
