import Foundation
import TestSupport
import Testing

@testable import LiveBoundary

@Suite("The way to servers")
struct HTTPSurroundingsTests {
  private static func proxy(
    _ variables: [String: String], _ url: String
  ) throws -> String? {
    let address = try #require(HTTPAddress(url))
    let found = try HTTPSurroundings { variables[$0] }.proxy(for: address)
    return found.map { "\($0.credentials.map { "\($0)@" } ?? "")\($0.host):\($0.port)" }
  }

  @Test(
    "the variables say by which proxy a server is reached",
    arguments: [
      ([:], "https://a.com", nil), (["HTTPS_PROXY": "http://p:3128"], "https://a.com", "p:3128"),
      (["HTTPS_PROXY": "http://p:3128"], "http://a.com", nil),
      (["https_proxy": "p:1", "HTTPS_PROXY": "q:2"], "https://a.com", "p:1"),
      (["HTTP_PROXY": "http://p:3128/"], "http://a.com", "p:3128"),
      (["HTTP_PROXY": "p:1", "REQUEST_METHOD": "GET"], "http://a.com", nil),
      (["http_proxy": "p:1", "REQUEST_METHOD": "GET"], "http://a.com", "p:1"),
      (["ALL_PROXY": "p:1"], "https://a.com", "p:1"),
      (["HTTPS_PROXY": "p"], "https://a.com", "p:80"),
      (["HTTPS_PROXY": "http://u%40x:p%3a1@p:2"], "https://a.com", "u@x:p:1@p:2"),
      (["HTTPS_PROXY": ""], "https://a.com", nil),
      (["HTTPS_PROXY": "p:1"], "https://localhost:8000", nil),
      (["HTTPS_PROXY": "p:1"], "https://127.0.0.1", nil),
      (["HTTPS_PROXY": "p:1"], "https://[::1]", nil),
      (["HTTPS_PROXY": "p:1", "NO_PROXY": "a.com"], "https://a.com", nil),
      (["HTTPS_PROXY": "p:1", "NO_PROXY": "b.com, a.com"], "https://x.A.com", nil),
      (["HTTPS_PROXY": "p:1", "no_proxy": ".a.com"], "https://x.a.com", nil),
      (["HTTPS_PROXY": "p:1", "no_proxy": "*.a.com"], "https://x.a.com", nil),
      (["HTTPS_PROXY": "p:1", "no_proxy": "*"], "https://x.a.com", nil),
      (["HTTPS_PROXY": "p:1", "NO_PROXY": "a.com"], "https://xa.com", "p:1"),
      (["HTTPS_PROXY": "p:1", "NO_PROXY": "a.com:443"], "https://a.com", nil),
      (["HTTPS_PROXY": "p:1", "NO_PROXY": "a.com:8443"], "https://a.com", "p:1"),
      (["HTTPS_PROXY": "p:1", "NO_PROXY": "10.1.2.3,[fd00::1]"], "https://[fd00::1]", nil),
    ] as [([String: String], String, String?)])
  func proxies(variables: [String: String], url: String, expected: String?) throws {
    #expect(try Self.proxy(variables, url) == expected)
  }

  @Test(
    "a variable that names no usable proxy is told by its name, never by its value",
    arguments: [
      "socks5://p:1", "http://secret@:1", "http://p:99999", "http://p:1/path",
      "http://%zz:secret@p:1",
    ])
  func faults(value: String) {
    let error = #expect(throws: HTTPSurroundings.Fault.self) {
      try Self.proxy(["HTTPS_PROXY": value], "https://a.com")
    }
    #expect(error?.description.contains("HTTPS_PROXY") == true)
    #expect(error?.description.contains("secret") == false)
  }

  #if Live
    @Test(
      "errors of encryption are told in words, without places in anybody's sources",
      arguments: [
        (
          "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at /code/ssl/handshake.cc:291]))",
          "is not trusted"
        ),
        (
          "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268435703 error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at /code/ssl/tls_record.cc:127]))",
          "does not speak TLS"
        ),
        (
          "NIOSSLExtraError.failedToValidateHostname: Couldn't find x in certificate",
          "another name"
        ),
        (
          "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 1 error:1:SSL routines:OPENSSL_internal:SSLV3_ALERT_HANDSHAKE_FAILURE at /code/ssl/x.cc:1]))",
          "SSLV3_ALERT_HANDSHAKE_FAILURE"
        ),
      ])
    func encryption(error: String, words: String) throws {
      let told = try #require(HTTPFault.encryption(error))
      #expect(told.contains(words) && !told.contains("/code"), "\(told)")
    }
  #endif
}

@Suite("Redirects")
struct HTTPRedirectTests {
  @Test(
    "a request is sent on only as it is, and only to the server that it was meant for",
    arguments: [
      (307, "/mcp/", "http://a.com:80/mcp/"), (308, "http://a.com/x", "http://a.com/x"),
      (307, "other", "http://a.com:80/one/other"), (307, "https://a.com/mcp", "https://a.com/mcp"),
      (307, "//a.com/x", "http://a.com/x"), (307, "http://a.com:81/x", nil),
      (307, "http://b.com/x", nil), (307, "http://a.com.b.com/x", nil),
      (308, "https://b.com/x", nil),
      (307, "http://a.com@b.com/x", nil), (307, "file:///x", nil), (302, "/mcp/", nil),
      (301, "http://a.com/x", nil), (303, "/x", nil), (307, "\\\\b.com", nil),
    ] as [(Int, String, String?)])
  func next(status: Int, location: String, expected: String?) throws {
    let headers = [HTTPHeader("Location", location)]
    let url = "http://a.com/one/mcp?x=1"
    guard let expected else {
      #expect(throws: HTTPFailure.self) {
        try HTTPRedirect.next(after: status, headers, from: url)
      }
      return
    }
    #expect(try HTTPRedirect.next(after: status, headers, from: url) == expected)
  }

  @Test("from https nothing goes to http, and what is no redirect goes nowhere")
  func others() throws {
    let headers = [HTTPHeader("Location", "http://a.com/x")]
    #expect(throws: HTTPFailure.self) {
      try HTTPRedirect.next(after: 307, headers, from: "https://a.com/")
    }
    #expect(try HTTPRedirect.next(after: 200, headers, from: "http://a.com/") == nil)
    #expect(try HTTPRedirect.next(after: 307, [], from: "http://a.com/") == nil)
  }
}
