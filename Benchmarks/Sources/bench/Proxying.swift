import Glibc

/// What a call of a model takes longer by way of the recording proxy: the same requests to the same server
/// on loopback, in turns, straight and through `agent-eval record --proxy`.
enum Proxying {
  /// The body of a request, of the size of one with a few turns and tools.
  private static let request: [UInt8] = {
    let turn = #"{"role":"user","content":"\#(String(repeating: "lorem ipsum ", count: 40))"}"#
    let turns = (0..<8).map { _ in turn }.joined(separator: ",")
    return Array(#"{"model":"m","messages":[\#(turns)]}"#.utf8)
  }()

  /// A plain reply, and one that is streamed in forty pieces.
  private static let plain = Array(
    #"{"id":"r","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"\#(String(repeating: "word ", count: 200))"},"finish_reason":"stop"}]}"#
      .utf8)
  private static let pieces =
    (0..<40).map {
      Array("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \($0)\"}}]}\n\n".utf8)
    } + [Array("data: [DONE]\n\n".utf8)]

  // MARK: The server

  /// Serves until it is killed; prints its port.
  static func serve() {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 512) == 0
          && getsockname(listener, $0, &length) == 0
      }
    }
    guard isListening else { return }
    print(UInt16(bigEndian: address.sin_port))
    fflush(nil)
    while true {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { continue }
      noDelay(connection)
      var thread = pthread_t()
      let context = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
      context.initialize(to: connection)
      pthread_create(
        &thread, nil,
        { context in
          if let socket = context?.assumingMemoryBound(to: Int32.self).pointee {
            Proxying.answer(on: socket)
          }
          return nil
        }, context)
      pthread_detach(thread)
    }
  }

  private static func answer(on socket: Int32) {
    let connection = Connection(socket)
    while let body = connection.receiveMessage() {
      if body.firstRange(of: Array("\"stream\":true".utf8)) != nil {
        send(
          socket,
          Array(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
              .utf8))
        for piece in pieces {
          send(socket, Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [13, 10])
        }
        send(socket, Array("0\r\n\r\n".utf8))
      } else {
        send(
          socket,
          Array(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(plain.count)\r\n\r\n"
              .utf8)
            + plain)
      }
    }
    close(socket)
  }

  // MARK: The client

  /// Asks straight and by way of the proxy in turns; prints medians and 99th percentiles in microseconds.
  static func ask(_ port: Int, rounds: Int) {
    guard let text = getenv("OPENAI_BASE_URL").map({ String(cString: $0) }),
      let through = Int(text.split(separator: ":").last?.prefix { $0 != "/" } ?? "")
    else { return }
    let direct = Connection(port: port, path: "/v1/chat/completions")
    let proxied = Connection(port: through, path: "/openai/v1/chat/completions")
    for streams in [false, true] {
      var body = request
      if streams { body = Array("{\"stream\":true,".utf8) + body.dropFirst() }
      var times: [[Double]] = [[], []]
      for round in 0..<(rounds + 50) {
        for (index, connection) in [direct, proxied].enumerated() {
          let start = Processes.now()
          connection.ask(body)
          // The first ones warm everything up.
          if round >= 50 { times[index].append((Processes.now() - start) * 1e6) }
        }
      }
      print(
        streams ? "streamed" : "plain",
        times.flatMap { [$0.median, $0.quantile(0.99)] }.map { figure($0, digits: 0) }
          .joined(separator: " "))
    }
  }

  // MARK: Many clients

  /// How many ask at once, and how much each asks in a round.
  private static let (clients, share) = (200, 50)

  /// What one of many clients does.
  private final class Asker {
    let port: Int
    let path: String
    let number: Int
    let round: Int
    var answered = 0

    init(port: Int, path: String, number: Int, round: Int) {
      (self.port, self.path, self.number, self.round) = (port, path, number, round)
    }

    func ask() {
      let connection = Connection(port: port, path: path)
      defer { close(connection.socket) }
      for turn in 0..<Proxying.share {
        // Each is a conversation of its own, which is the most that there can be to remember.
        let words = "{\"role\":\"user\",\"content\":\"\(round) \(number) \(turn)\"},"
        let body = Proxying.request
        let place = body.firstIndex(of: UInt8(ascii: "[")).map { $0 + 1 } ?? 0
        if connection.ask(body[..<place] + Array(words.utf8) + body[place...]) { answered += 1 }
      }
    }
  }

  /// Has many clients ask at once, in rounds; prints for each how many had a reply, the seconds straight and by
  /// way of the proxy, and the memory of the proxy in MiB.
  static func crowd(_ port: Int, rounds: Int) {
    guard let text = getenv("OPENAI_BASE_URL").map({ String(cString: $0) }),
      let through = Int(text.split(separator: ":").last?.prefix { $0 != "/" } ?? "")
    else { return }
    for round in 0..<rounds {
      let (_, straight) = crowd(port, "/v1/chat/completions", round)
      let (answered, proxied) = crowd(through, "/openai/v1/chat/completions", round)
      print(
        "crowd", (round + 1) * clients * share, answered, figure(straight, digits: 2),
        figure(proxied, digits: 2), proxyMemory() >> 20)
    }
  }

  private static func crowd(
    _ port: Int, _ path: String, _ round: Int
  ) -> (answered: Int, seconds: Double) {
    let askers = (0..<clients).map { Asker(port: port, path: path, number: $0, round: round) }
    let start = Processes.now()
    var threads: [pthread_t] = []
    for asker in askers {
      var thread = pthread_t()
      let context = Unmanaged.passRetained(asker).toOpaque()
      let failure = pthread_create(
        &thread, nil,
        { context in
          if let context { Unmanaged<Asker>.fromOpaque(context).takeRetainedValue().ask() }
          return nil
        }, context)
      if failure == 0 { threads.append(thread) }
    }
    for thread in threads { pthread_join(thread, nil) }
    return (askers.reduce(0) { $0 + $1.answered }, Processes.now() - start)
  }

  /// Bytes that the proxy holds now: it started the watcher that started this process.
  private static func proxyMemory() -> Int {
    func field(_ name: String, of process: Int) -> Int? {
      guard let bytes = try? Files.read("/proc/\(process)/status") else { return nil }
      let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        .first { $0.hasPrefix(name + ":") }
      return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        .flatMap { Int($0) }
    }
    guard let proxy = field("PPid", of: Int(getppid())) else { return 0 }
    return (field("VmRSS", of: proxy) ?? 0) << 10
  }

  private static func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
    return address
  }

  private static func noDelay(_ socket: Int32) {
    var yes: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, 4)
  }

  fileprivate static func send(_ socket: Int32, _ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, 0x4000)
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  /// One connection that is kept, and what was read of it too early.
  private final class Connection {
    let socket: Int32
    private var path = ""
    private var port = 0
    private var buffer: [UInt8] = []

    init(_ socket: Int32) { self.socket = socket }

    init(port: Int, path: String) {
      socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      self.path = path
      self.port = port
      var address = Proxying.loopback(port)
      let socket = socket
      _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      Proxying.noDelay(socket)
    }

    /// Says whether there was a reply.
    @discardableResult
    func ask(_ body: [UInt8]) -> Bool {
      Proxying.send(
        socket,
        Array(
          "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
            .utf8) + body)
      return receiveMessage() != nil
    }

    /// The body of the next request or reply; `nil` at the end.
    func receiveMessage() -> [UInt8]? {
      while true {
        if let end = buffer.firstRange(of: [13, 10, 13, 10])?.upperBound {
          let head = String(decoding: buffer[..<end], as: UTF8.self).lowercased()
          buffer.removeFirst(end)
          if head.contains("transfer-encoding: chunked") {
            return receive(until: Array("0\r\n\r\n".utf8))
          }
          let length =
            head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) } ?? 0
          while buffer.count < length { guard more() else { return nil } }
          defer { buffer.removeFirst(length) }
          return Array(buffer[..<length])
        }
        guard more() else { return nil }
      }
    }

    private func receive(until mark: [UInt8]) -> [UInt8]? {
      while !buffer.suffix(mark.count).elementsEqual(mark) { guard more() else { return nil } }
      defer { buffer = [] }
      return buffer
    }

    private func more() -> Bool {
      var piece = [UInt8](repeating: 0, count: 65_536)
      let count = recv(socket, &piece, piece.count, 0)
      guard count > 0 else { return false }
      buffer += piece[..<count]
      return true
    }
  }
}

extension Table {
  /// A call of a model by way of the recording proxy, beside the same call straight.
  func proxying() {
    guard only.map({ "proxy".contains($0) }) ?? true else { return }
    let folder = corpus.folder
    var pipeEnds: [Int32] = [-1, -1]
    guard pipe(&pipeEnds) == 0 else { return }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pipeEnds[1], 1)
    let this = CommandLine.arguments[0]
    let command = [this, "work", "proxy-server", "-"]
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    var environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/bin:/bin"), nil]
    defer { for pointer in arguments + environment { free(pointer) } }
    var server = pid_t()
    guard posix_spawn(&server, this, &actions, nil, &arguments, &environment) == 0 else { return }
    defer {
      kill(server, SIGKILL)
      waitpid(server, nil, 0)
    }
    var digits = [UInt8](repeating: 0, count: 16)
    let count = read(pipeEnds[0], &digits, digits.count)
    guard count > 1,
      let port = Int(String(decoding: digits[..<(count - 1)], as: UTF8.self))
    else { return }
    let (log, output) = ("\(folder)/proxy.jsonl.gz", "\(folder)/proxy.txt")
    unlink(log)
    _ = Processes.run(
      [
        binary, "record", "--proxy", "--out", log, "--upstream",
        "openai=http://127.0.0.1:\(port)/v1", "--", this, "work", "proxy-client", "\(port)",
      ], output: output)
    unlink(log)
    defer { crowding(port, this, log, output) }
    guard let text = try? String(decoding: Files.read(output), as: UTF8.self), !text.isEmpty else {
      return Swift.print(
        "\nthe recording proxy was not measured: --binary has to be a build with --traits Live\n")
    }
    Swift.print("\n| a call of a model | straight µs, median | p99 | by the proxy | p99 | added |")
    Swift.print("|---|---|---|---|---|---|")
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      let figures = words.dropFirst().compactMap { Double($0) }
      guard figures.count == 4 else { continue }
      Swift.print(
        "| \(words[0]) | \(figure(figures[0], digits: 0)) | \(figure(figures[1], digits: 0)) | "
          + "\(figure(figures[2], digits: 0)) | \(figure(figures[3], digits: 0)) | "
          + "\(figure(figures[2] - figures[0], digits: 0)), p99 \(figure(figures[3] - figures[1], digits: 0)) |"
      )
    }
  }

  /// Two hundred clients at once, and a hundred thousand exchanges.
  private func crowding(_ port: Int, _ this: String, _ log: String, _ output: String) {
    _ = Processes.run(
      [
        binary, "record", "--proxy", "--out", log, "--upstream",
        "openai=http://127.0.0.1:\(port)/v1", "--", this, "work", "proxy-crowd", "\(port)",
      ], output: output)
    unlink(log)
    guard let text = try? String(decoding: Files.read(output), as: UTF8.self), !text.isEmpty else {
      return
    }
    Swift.print(
      "\n| exchanges so far, 200 clients at once | answered of the last 10,000 | s straight "
        + "| s by the proxy | MiB of the proxy |")
    Swift.print("|---|---|---|---|---|")
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count == 6, words[0] == "crowd" else { continue }
      Swift.print("| \(words.dropFirst().joined(separator: " | ")) |")
    }
  }
}
