#if Live
  import AsyncHTTPClient
  import Glibc
  import NIOCore
  import NIOPosix

  /// The client's errors in our words.
  enum HTTPFault {
    static func named<Value>(_ work: () async throws -> Value) async throws -> Value {
      do { return try await work() } catch { throw failure(error) }
    }

    /// Says why an address cannot be listened at.
    static func listening<Value>(_ work: () async throws -> Value) async throws -> Value {
      do { return try await work() } catch let error as IOError {
        let words = String(cString: strerror(error.errnoCode))
        throw HTTPFailure(
          .unreachable,
          error.errnoCode == EADDRINUSE ? "another program listens there already" : words)
      } catch is SocketAddressError.UnknownHost {
        throw HTTPFailure(.unreachable, "no host of that name is known")
      }
    }

    static func failure(_ error: any Error) -> HTTPFailure {
      switch error {
      case let failure as HTTPFailure: failure
      case is CancellationError: HTTPFailure(.cancelled, "cancelled")
      case let error as HTTPClientError: failure(of: error)
      case let error as NIOConnectionError: HTTPFailure(.unreachable, words(of: error))
      case let error as IOError: failure(of: error)
      case let error as ChannelError: failure(of: error)
      default: failure(ofOther: error)
      }
    }

    private static func failure(of error: HTTPClientError) -> HTTPFailure {
      switch error {
      case .cancelled: HTTPFailure(.cancelled, "cancelled")
      case .connectTimeout, .httpProxyHandshakeTimeout, .socksHandshakeTimeout,
        .tlsHandshakeTimeout:
        HTTPFailure(.connectTimeout, "no connection in time")
      case .proxyAuthenticationRequired:
        HTTPFailure(
          .unreachable,
          "the proxy asks for a user and a password: give them in its variable, http://USER:PASSWORD@HOST:PORT"
        )
      case .invalidProxyResponse:
        HTTPFailure(.unreachable, "the proxy lets no connection through")
      case .emptyHost, .invalidURL, .emptyScheme, .bodyLengthMismatch:
        HTTPFailure(.invalidCall, error.shortDescription)
      default:
        // Cases that carry the offending text, which may be a key: only what they are called is told.
        if ["scheme", "header field"].contains(where: error.shortDescription.lowercased().contains)
        {
          HTTPFailure(.invalidCall, error.shortDescription)
        } else {
          HTTPFailure(.connectionLost, error.shortDescription)
        }
      }
    }

    private static func failure(of error: IOError) -> HTTPFailure {
      // Connecting alone ends so.
      let unsent = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL, EACCES, ENOENT]
      let words = String(cString: strerror(error.errnoCode))
      return unsent.contains(error.errnoCode)
        ? HTTPFailure(.unreachable, "no connection: \(words)")
        : HTTPFailure(.connectionLost, "the connection was lost: \(words)")
    }

    private static func failure(of error: ChannelError) -> HTTPFailure {
      if case .connectTimeout = error {
        return HTTPFailure(.connectTimeout, "no connection in time")
      }
      return HTTPFailure(.connectionLost, "the connection was closed")
    }

    private static func failure(ofOther error: any Error) -> HTTPFailure {
      let words = "\(error)"
      // The encryption library's handshake errors: no request was sent.
      if let why = encryption(words) {
        return HTTPFailure(.unreachable, "no encrypted connection: \(why)")
      }
      return HTTPFailure(.connectionLost, words)
    }

    /// What an error of the encryption library means, without the places in its sources; `nil` where the error
    /// is none of a handshake.
    static func encryption(_ words: String) -> String? {
      if words.contains("failedToValidateHostname") {
        return "the server's certificate is for another name than the URL has"
      }
      guard words.contains("handshake") || words.contains("CERTIFICATE") else { return nil }
      if words.contains("CERTIFICATE_VERIFY_FAILED") {
        return
          "the server's certificate is not trusted: its authority is unknown here, or it has run out; "
          + "name a file with the authority in SSL_CERT_FILE, or as “ca” of the model"
      }
      if words.contains("WRONG_VERSION_NUMBER") || words.contains("HTTP_REQUEST") {
        return "the server does not speak TLS there: is the URL one of http://?"
      }
      let codes = words.split(separator: "OPENSSL_internal:").dropFirst().map { rest in
        String(rest.prefix { $0.isUppercase || $0 == "_" || $0.isNumber })
      }.filter { !$0.isEmpty }
      return "the handshake failed" + (codes.isEmpty ? "" : " (\(codes.joined(separator: ", ")))")
    }

    private static func words(of error: NIOConnectionError) -> String {
      if let lookup = error.dnsAError ?? error.dnsAAAAError, error.connectionErrors.isEmpty {
        return "\(error.host) is not found (\(lookup))"
      }
      let reasons = error.connectionErrors.map { "\($0.error)" }
      return "no connection to \(error.host):\(error.port)"
        + (reasons.last.map { " (\($0))" } ?? "")
    }
  }
#endif
