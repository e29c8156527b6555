import CPrograms
import Glibc

/// The system's tables of the TCP sockets of one network (proc_net(5)).
struct SocketTables: Sendable {
  private let network: IsolatedNetwork?

  /// The most bytes of a table that are looked at.
  private static let limitBytes = 8 << 20

  /// - Parameter network: `nil` for the network of this process.
  init(of network: IsolatedNetwork?) { self.network = network }

  /// Whether a process still has the other end of a connection over loopback.
  ///
  /// An end that was closed and one that only sends nothing more look the same to the end that is left, until something
  /// is sent to it. Here the former belongs to nobody. So does each where the tables cannot be read.
  ///
  /// - Parameters:
  ///   - port: The other end's own.
  ///   - ours: The port of the end that is left.
  func isHeld(_ port: Int, connectedTo ours: Int) -> Bool {
    texts.contains { text in
      text.split(separator: "\n").dropFirst().contains { line in
        let fields = line.split(separator: " ")
        return fields.count > 9 && fields[9] != "0" && Self.isLoopback(fields[1], port)
          && Self.isLoopback(fields[2], ours)
      }
    }
  }

  /// Clients that know IPv6 reach addresses of IPv4 by it as well.
  private var texts: [String] {
    guard let network else {
      return [Self.text(of: "/proc/self/net/tcp"), Self.text(of: "/proc/self/net/tcp6")]
    }
    return [Self.text(in: network.start.sockets), Self.text(in: network.start.sockets6)]
  }

  private static func isLoopback(_ text: Substring, _ port: Int) -> Bool {
    guard let address = address(text) else { return false }
    return address.port == port && address.host == "127.0.0.1"
  }

  /// The text of a file of `/proc`; empty where it cannot be read.
  static func text(of path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    return text(in: file)
  }

  /// What stands in a file now, from its beginning.
  private static func text(in file: Int32) -> String {
    var bytes: [UInt8] = []
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
      while bytes.count < limitBytes {
        let count = pread(file, buffer.baseAddress, buffer.count, bytes.count)
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
