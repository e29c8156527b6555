import AgentTrace
import Foundation
import TestSupport
import Testing

#if Live
  /// Whether there is what the test's own authority and servers are made with.
  private func hasServers() async -> Bool {
    (try? await shell("command -v openssl && python3 -c 'import ssl, http.server'")) != nil
  }

  @Suite(
    "Servers behind TLS and proxies", .enabled("needs openssl and python3") { await hasServers() })
  struct TLSTests {
    /// An authority, a server's certificate for `models.test`, and one of nobody's for localhost.
    private static let certificates = """
      openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority 2>&1
      openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=models.test 2>&1
      printf 'subjectAltName=DNS:models.test,DNS:localhost' > names
      openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 \
        -extfile names 2>&1
      mkdir folder && cp ca.pem folder/one.pem && echo nothing > folder/README
      """

    /// A provider behind TLS and a proxy that leads every name to it; prints both ports.
    private static let servers = #"""
      import http.server, json, select, socket, ssl, sys, threading
      class Provider(http.server.BaseHTTPRequestHandler):
          protocol_version = "HTTP/1.1"
          def do_POST(self):
              self.rfile.read(int(self.headers["content-length"]))
              body = json.dumps({"model": "m", "choices": [{"index": 0, "finish_reason": "stop",
                  "message": {"role": "assistant", "content": "hello"}}]}).encode()
              self.send_response(200)
              self.send_header("content-type", "application/json")
              self.send_header("content-length", str(len(body)))
              self.end_headers()
              self.wfile.write(body)
          def log_message(self, *words): pass
      provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain("server.pem", "server.key")
      provider.socket = context.wrap_socket(provider.socket, server_side=True)
      class Proxy(http.server.BaseHTTPRequestHandler):
          def do_CONNECT(self):
              with open("asked", "a") as file:
                  file.write(self.path + " " + self.headers.get("proxy-authorization", "-") + "\n")
              other = socket.create_connection(provider.server_address)
              self.send_response(200)
              self.end_headers()
              pair = [self.connection, other]
              while True:
                  for one in select.select(pair, [], [])[0]:
                      data = one.recv(65536)
                      if not data: return
                      pair[1 - pair.index(one)].sendall(data)
          def log_message(self, *words): pass
      proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
      for server in (provider, proxy): threading.Thread(target=server.serve_forever, daemon=True).start()
      with open("ports", "w") as file: file.write("%d %d" % (provider.server_port, proxy.server_port))
      sys.stdin.read()
      """#

    @Test(
      "authorities and proxies of the variables and of the agent file count, and faults are told in words"
    )
    func authorities() async throws {
      let folder = try TemporaryFolder()
      try await shell(Self.certificates, in: folder.path)
      try folder.write("servers.py", Self.servers)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["python3", "servers.py"]
      process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
      let input = Pipe()
      process.standardInput = input
      try process.run()
      defer {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
      }
      var ports: [Int] = []
      for _ in 0..<200 where ports.count < 2 {
        try await Task.sleep(for: .milliseconds(50))
        ports = ((try? folder.read("ports")) ?? []).split(separator: UInt8(ascii: " "))
          .compactMap { Int(String(decoding: $0, as: UTF8.self)) }
      }
      try #require(ports.count == 2)
      func ask(
        _ host: String, _ keys: String = "", _ environment: [String: String] = [:], status: Int32
      ) async throws -> String {
        try folder.write(
          "agent.yaml",
          """
          name: a
          failures: {modelRetries: 0}
          model: {provider: openai, name: m, baseUrl: "https://\(host)/v1", stream: false\(keys)}
          """)
        let run = try await Binary.run(
          ["record", "agent.yaml", "x", "--out", "runs"], in: folder.path,
          environment: environment, status: status)
        return run.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      }
      let local = "localhost:\(ports[0])"
      let file = ["SSL_CERT_FILE": folder.path("ca.pem")]
      // Nobody knows the authority.
      let unknown = try await ask(local, status: 1)
      #expect(unknown.contains("certificate is not trusted"), "\(unknown)")
      #expect(!unknown.contains(".cc"), "\(unknown)")
      _ = try await ask(local, "", file, status: 0)
      _ = try await ask(local, "", ["SSL_CERT_DIR": folder.path("folder")], status: 0)
      _ = try await ask(local, ", ca: ca.pem", status: 0)
      let missing = try await ask(local, ", ca: none.pem", status: 1)
      #expect(missing.contains("none.pem"), "\(missing)")
      // Another name than the certificate's.
      let other = try await ask("127.0.0.1:\(ports[0])", "", file, status: 1)
      #expect(other.contains("no encrypted connection"), "\(other)")
      // No TLS there at all.
      let plain = try await ask("localhost:\(ports[1])", "", file, status: 1)
      #expect(plain.contains("no encrypted connection") || plain.contains("lost"), "\(plain)")
      // A name that only the proxy knows.
      let proxy = ["HTTPS_PROXY": "http://ana:pw%3A1@127.0.0.1:\(ports[1])"].merging(file) { $1 }
      _ = try await ask("models.test", "", proxy, status: 0)
      let asked = String(decoding: try folder.read("asked"), as: UTF8.self)
      let credentials = Data("ana:pw:1".utf8).base64EncodedString()
      #expect(asked == "models.test:443 Basic \(credentials)\n", "\(asked)")
      let direct = try await ask(
        "models.test", "", proxy.merging(["NO_PROXY": ".test"]) { $1 }, status: 1)
      #expect(direct.contains("models.test"), "\(direct)")
      #expect(String(decoding: try folder.read("asked"), as: UTF8.self) == asked)
    }
  }
#endif
