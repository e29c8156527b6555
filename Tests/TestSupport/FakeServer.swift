import Foundation
import Glibc
import Synchronization

/// What the headers of Linux have behind `_GNU_SOURCE`, and Swift's module of them therefore not.
private enum Linux {
  /// `MSG_NOSIGNAL`.
  static let noSignal: Int32 = 0x4000
  /// `POLLRDHUP`.
  static let peerClosed = 0x2000
  /// `SOCK_CLOEXEC`: a program that another test starts meanwhile would hold the connection open.
  static let closeOnExec: Int32 = 0o2_000_000

  @_silgen_name("accept4")
  static func accept(
    _ socket: Int32, _ address: UnsafeMutablePointer<sockaddr>?,
    _ length: UnsafeMutablePointer<socklen_t>?, _ flags: Int32
  ) -> Int32
}

/// An HTTP/1.1 server on loopback that does what a test tells it to, byte by byte: slow, broken, silent.
///
/// Each connection has a thread of its own; a handler may block.
public final class FakeServer: Sendable {
  /// A request as it was read.
  public struct Request: Sendable {
    public let method: String
    /// Path and query.
    public let target: String
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]
    /// The connection that it came in on, from 0.
    public let connection: Int
    /// Its place among all requests, from 0.
    public let number: Int

    /// The value of the first header of this name in any case.
    public func header(_ name: String) -> String? {
      headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    public var text: String { String(decoding: body, as: UTF8.self) }
  }

  /// What a handler answers with.
  public struct Reply: Sendable {
    fileprivate let socket: Int32

    /// Sends bytes as they are; false when the other side is gone.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool {
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
          Glibc.send(socket, $0.baseAddress, $0.count, Linux.noSignal)
        }
        if count > 0 { sent += count } else if errno != EINTR { return false }
      }
      return true
    }

    @discardableResult
    public func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// A whole reply with its length.
    @discardableResult
    public func finish(
      _ status: Int = 200, type: String = "application/json",
      headers: [(String, String)] = [], body: [UInt8]
    ) -> Bool {
      head(status, type: type, headers: headers + [("Content-Length", "\(body.count)")])
        && send(body)
    }

    @discardableResult
    public func finish(
      _ status: Int = 200, type: String = "application/json",
      headers: [(String, String)] = [], body: String
    ) -> Bool {
      finish(status, type: type, headers: headers, body: Array(body.utf8))
    }

    /// The head alone.
    @discardableResult
    public func head(
      _ status: Int = 200, type: String = "application/json", headers: [(String, String)] = []
    ) -> Bool {
      let lines = [("Content-Type", type)] + headers
      return send(
        "HTTP/1.1 \(status) Fake\r\n" + lines.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n")
    }

    /// The head of a body that comes in chunks.
    @discardableResult
    public func beginChunks(
      _ status: Int = 200, type: String = "text/event-stream", headers: [(String, String)] = []
    ) -> Bool {
      head(status, type: type, headers: headers + [("Transfer-Encoding", "chunked")])
    }

    @discardableResult
    public func chunk(_ bytes: [UInt8]) -> Bool {
      bytes.isEmpty || send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10])
    }

    @discardableResult
    public func chunk(_ text: String) -> Bool { chunk(Array(text.utf8)) }

    @discardableResult
    public func endChunks() -> Bool { send("0\r\n\r\n") }

    /// Ends the connection, in the usual way or as if the machine had gone (a reset).
    public func close(reset: Bool = false) {
      if reset {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
          socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
      }
      shutdown(socket, Int32(reset ? SHUT_RD : SHUT_RDWR))
    }

    /// Waits; false when the other side went away meanwhile.
    @discardableResult
    public func wait(seconds: Double) -> Bool {
      var entry = pollfd(
        fd: socket, events: Int16(truncatingIfNeeded: Int(POLLIN) | Linux.peerClosed), revents: 0)
      guard poll(&entry, 1, Int32(seconds * 1_000)) > 0 else { return true }
      return Int(entry.revents) & (Linux.peerClosed | Int(POLLHUP) | Int(POLLERR)) == 0
    }
  }

  public typealias Handler = @Sendable (Request, Reply) -> Void

  private struct State {
    /// Handlers at work.
    var busy = 0
    var open: [Int: Int32] = [:]
    var connections = 0
    var requests: [Request] = []
    var isStopped = false
  }

  public let port: Int
  private let listener: Int32
  private let handler: Handler
  private let state = Mutex(State())

  /// Listens on a port that the system picks, or on the given one.
  public init(port: Int = 0, _ handler: @escaping Handler) throws {
    self.handler = handler
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Linux.closeOnExec, 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 64) == 0
          && getsockname(listener, $0, &length) == 0
      }
    }
    guard listener >= 0, isListening else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    self.port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in accept() }
  }

  public var url: String { "http://127.0.0.1:\(port)" }

  /// Everything that was asked so far.
  public var requests: [Request] { state.withLock(\.requests) }

  /// How many connections stand now.
  public var openConnections: Int { state.withLock(\.open.count) }

  /// How many connections have been made so far.
  public var connections: Int { state.withLock(\.connections) }

  /// Waits until no connection stands any more; false when that takes too long.
  public func waitUntilIdle(seconds: Double = 60) async -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while openConnections > 0 {
      guard ContinuousClock.now < end else { return false }
      try? await Task.sleep(for: .milliseconds(10))
    }
    return true
  }

  /// Waits until no handler is at work any more, because each has ended or lost its other side; false when
  /// that takes too long. Connections that wait for another request may stand.
  public func waitUntilQuiet(seconds: Double = 60) async -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while state.withLock(\.busy) > 0 {
      guard ContinuousClock.now < end else { return false }
      try? await Task.sleep(for: .milliseconds(10))
    }
    return true
  }

  /// Closes everything; nothing listens any more.
  public func stop() {
    let sockets = state.withLock { state -> [Int32] in
      guard !state.isStopped else { return [] }
      state.isStopped = true
      return Array(state.open.values) + [listener]
    }
    for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
  }

  private func accept() {
    while true {
      let socket = Linux.accept(listener, nil, nil, Linux.closeOnExec)
      guard socket >= 0 else {
        if errno == EINTR || errno == ECONNABORTED { continue }
        Glibc.close(listener)
        return
      }
      var yes: Int32 = 1
      setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, 4)
      let number = state.withLock { state -> Int? in
        guard !state.isStopped else { return nil }
        state.connections += 1
        state.open[state.connections - 1] = socket
        return state.connections - 1
      }
      guard let number else {
        Glibc.close(socket)
        continue
      }
      Thread.detachNewThread { [self] in
        serve(socket, number)
        // Under the lock, so that `stop` never shuts down a number that is already someone else's.
        state.withLock {
          $0.open[number] = nil
          _ = Glibc.close(socket)
        }
      }
    }
  }

  private func serve(_ socket: Int32, _ connection: Int) {
    var buffer: [UInt8] = []
    while let request = read(socket, connection, &buffer) {
      handler(request, Reply(socket: socket))
      state.withLock { $0.busy -= 1 }
    }
  }

  /// The next request; `nil` when the connection ends.
  private func read(_ socket: Int32, _ connection: Int, _ buffer: inout [UInt8]) -> Request? {
    var end: Int?
    while true {
      end = Self.headEnd(buffer)
      if end != nil { break }
      guard Self.readMore(socket, &buffer) else { return nil }
    }
    guard let end else { return nil }
    let lines = String(decoding: buffer[..<end], as: UTF8.self).split(
      separator: "\r\n", omittingEmptySubsequences: true)
    buffer.removeFirst(end + 4)
    let words = (lines.first ?? "").split(separator: " ")
    guard words.count == 3 else { return nil }
    let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (
        String(line[..<colon]),
        line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
      )
    }
    func header(_ name: String) -> String? {
      headers.first { $0.name.lowercased() == name }?.value
    }
    if header("expect")?.lowercased() == "100-continue" {
      Reply(socket: socket).send("HTTP/1.1 100 Continue\r\n\r\n")
    }
    var body: [UInt8] = []
    if let length = header("content-length").flatMap({ Int($0) }) {
      while buffer.count < length { guard Self.readMore(socket, &buffer) else { return nil } }
      body = Array(buffer[..<length])
      buffer.removeFirst(length)
    } else if header("transfer-encoding")?.lowercased() == "chunked" {
      while true {
        guard let line = Self.line(socket, &buffer), let size = Int(line, radix: 16) else {
          return nil
        }
        while buffer.count < size + 2 {
          guard Self.readMore(socket, &buffer) else { return nil }
        }
        body += buffer[..<size]
        buffer.removeFirst(size + 2)
        if size == 0 { break }
      }
    }
    return state.withLock { state in
      let request = Request(
        method: String(words[0]), target: String(words[1]), headers: headers, body: body,
        connection: connection, number: state.requests.count)
      state.requests.append(request)
      state.busy += 1
      return request
    }
  }

  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (0...(bytes.count - 4)).first {
      bytes[$0] == 13 && bytes[$0 + 1] == 10 && bytes[$0 + 2] == 13 && bytes[$0 + 3] == 10
    }
  }

  private static func line(_ socket: Int32, _ buffer: inout [UInt8]) -> String? {
    while true {
      if let end = buffer.firstIndex(of: 10) {
        let text = String(decoding: buffer[..<end], as: UTF8.self)
        buffer.removeFirst(end + 1)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
      }
      guard readMore(socket, &buffer) else { return nil }
    }
  }

  private static func readMore(_ socket: Int32, _ buffer: inout [UInt8]) -> Bool {
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(socket, &piece, piece.count, 0)
      if count > 0 {
        buffer += piece[..<count]
        return true
      }
      if count == 0 || errno != EINTR { return false }
    }
  }
}
