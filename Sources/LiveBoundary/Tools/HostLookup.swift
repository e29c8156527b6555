#if Live
  import Glibc
  import NIOPosix

  /// What addresses a name has.
  public enum HostLookup {
    /// As the system looks names up (getaddrinfo(3)), each once, in its order; none where there is no such
    /// name. Whoever is cancelled does not wait for it.
    public static func addresses(of host: String) async -> [String] {
      let (answers, answer) = AsyncStream<[String]>.makeStream()
      NIOThreadPool.singleton.submit { _ in
        answer.yield(look(up: host))
        answer.finish()
      }
      for await addresses in answers { return addresses }
      return []
    }

    private static func look(up host: String) -> [String] {
      var hints = addrinfo()
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      var list: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
      defer { freeaddrinfo(list) }
      var addresses: [String] = []
      var next = list
      while let entry = next {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = getnameinfo(
          entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0,
          NI_NUMERICHOST)
        if status == 0 {
          let end = text.firstIndex(of: 0) ?? text.endIndex
          let address = String(decoding: text[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
          if !addresses.contains(where: { $0 == address }) { addresses.append(address) }
        }
        next = entry.pointee.ai_next
      }
      return addresses
    }
  }
#endif
