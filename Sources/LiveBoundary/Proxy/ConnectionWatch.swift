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
      for line in Self.text(of: "/proc/\(leader)/net/\(table)").split(separator: "\n").dropFirst() {
        let fields = line.split(separator: " ")
        // Established, or about to be: whoever listens has no other end.
        guard fields.count > 9, fields[3] == "01" || fields[3] == "02",
          sockets.contains(String(fields[9])), let other = Self.address(fields[2]),
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

  private static func text(of path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes: [UInt8] = []
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
      while bytes.count < 8 << 20 {
        let count = read(file, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        bytes.append(contentsOf: buffer.prefix(count))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// `0100007F:1F90`: words of four bytes in the order of this machine, then the port.
  static func address(_ text: some StringProtocol) -> (host: String, port: Int)? {
    let parts = text.split(separator: ":")
    guard parts.count == 2, let port = Int(parts[1], radix: 16) else { return nil }
    let digits = Array(parts[0].utf8)
    guard digits.count == 8 || digits.count == 32 else { return nil }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: digits.count, by: 8) {
      guard
        let word = UInt32(String(decoding: digits[start..<(start + 8)], as: UTF8.self), radix: 16)
      else { return nil }
      for shift in [0, 8, 16, 24] as [UInt32] {
        bytes.append(UInt8(truncatingIfNeeded: word >> shift))
      }
    }
    let isMapped =
      bytes.count == 16 && bytes.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255])
    if bytes.count == 4 || isMapped {
      return (bytes.suffix(4).map { "\($0)" }.joined(separator: "."), port)
    }
    let groups = stride(from: 0, to: 16, by: 2).map {
      String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
    }
    let host = groups.joined(separator: ":")
    return (host == "0:0:0:0:0:0:0:1" ? "[::1]" : "[\(host)]", port)
  }
}
