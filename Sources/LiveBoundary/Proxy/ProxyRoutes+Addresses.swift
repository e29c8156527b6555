#if Live
  import Glibc

  extension ProxyRoutes {
    /// How long names are looked up at most, all together.
    private static let lookupSeconds = 3.0

    /// Which of some connections' other ends, as ``ConnectionWatch/others`` has them, are addresses of these providers.
    ///
    /// Names are looked up now: one that has another address than when it was connected to is not found. Those whose
    /// port no connection has are not looked up.
    public func providers(among others: [String]) async -> Set<String> {
      let ends = others.compactMap { other in Self.end(other).map { (other, $0) } }
      let wanted = Set(
        upstreams.compactMap { HTTPAddress($0.url) }.filter { address in
          ends.contains { $0.1.port == address.port }
        }.map { Host(name: $0.host, port: $0.port) })
      guard !wanted.isEmpty else { return [] }
      let known = await withTaskGroup(of: [End]?.self) { group in
        for address in wanted {
          group.addTask {
            await HostLookup.addresses(of: address.name).compactMap {
              Self.canonical($0).map { End(address: $0, port: address.port) }
            }
          }
        }
        group.addTask {
          try? await Task.sleep(for: .seconds(Self.lookupSeconds))
          return nil
        }
        var (known, left) = (Set<End>(), wanted.count)
        for await found in group {
          guard let found else { break }
          known.formUnion(found)
          left -= 1
          if left == 0 { break }
        }
        group.cancelAll()
        return known
      }
      return Set(ends.filter { known.contains($0.1) }.map(\.0))
    }

    private struct Host: Hashable, Sendable {
      var name: String
      var port: Int
    }

    /// An address in one form, and a port.
    private struct End: Hashable, Sendable {
      var address: String
      var port: Int
    }

    /// Of `93.184.216.34:443` or `[2606:2800:220:1::1]:443`.
    private static func end(_ text: String) -> End? {
      guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...])
      else { return nil }
      let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
      return canonical(host).map { End(address: $0, port: port) }
    }

    /// An address as the system writes it; `nil` for what is none.
    private static func canonical(_ text: String) -> String? {
      for (family, size) in [(AF_INET, 4), (AF_INET6, 16)] {
        var bytes = [UInt8](repeating: 0, count: size)
        guard inet_pton(family, text, &bytes) == 1 else { continue }
        return bytes.map { String($0) }.joined(separator: ".")
      }
      return nil
    }
  }
#endif
