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
      if words.contains("handshake") || words.contains("CERTIFICATE") {
        return HTTPFailure(.unreachable, "no encrypted connection: \(words)")
      }
      return HTTPFailure(.connectionLost, words)
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
