import Foundation
import Glibc

/// A client on loopback that sends and reads bytes as they are.
///
/// Blocking: not for a task that others wait for.
public final class RawClient: Sendable {
  private let socket: Int32

  /// Connects; what fails shows in what is read.
  public init(port: Int, receiveBufferBytes: Int32? = nil) {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var bytes = receiveBufferBytes {
      setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, 4)
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
    let socket = socket
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(
      socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { Glibc.close(socket) }

  @discardableResult
  public func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, 0x4000)
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  public func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// What comes next, at most so many bytes; empty at the end.
  public func receive(_ count: Int = 65_536) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let got = recv(socket, &bytes, count, 0)
    return got > 0 ? Array(bytes[..<got]) : []
  }

  /// What comes until a text is there, or the other side ends.
  public func receive(until text: String) -> String {
    var all: [UInt8] = []
    let wanted = Array(text.utf8)
    while true {
      let more = receive()
      all += more
      let from = max(0, all.count - more.count - wanted.count)
      let isThere = !wanted.isEmpty && all[from...].firstRange(of: wanted) != nil
      if more.isEmpty || isThere { return String(decoding: all, as: UTF8.self) }
    }
  }

  /// Everything until the other side ends.
  public func receiveAll() -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let more = receive()
      if more.isEmpty { return all }
      all += more
    }
  }

  /// Says that nothing more is sent; what comes is read all the same.
  public func endSending() { shutdown(socket, Int32(SHUT_WR)) }

  public func close(reset: Bool = false) {
    if reset {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
      shutdown(socket, Int32(SHUT_RD))
    }
    // Whoever reads meanwhile is woken, and nobody has the socket any more.
    shutdown(socket, Int32(SHUT_RDWR))
    let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
    if nothing >= 0 {
      dup2(nothing, socket)
      Glibc.close(nothing)
    }
  }
}
