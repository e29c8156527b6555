import CPrograms
import Glibc
import Synchronization

/// A network for one command, in which nothing can be reached but the proxy (network_namespaces(7)). Sockets of
/// the file system are no network, and stay where they are.
public final class IsolatedNetwork: Sendable {
  /// Why the system gave none.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    let number: Int32

    /// In words.
    public var description: String {
      "the system refuses a network of its own (\(String(cString: strerror(number)))): this takes "
        + "namespaces of users, which a container or a setting such as "
        + "kernel.unprivileged_userns_clone may forbid"
    }
  }

  let start: program_network
  private let listener: Mutex<Int32?>

  /// Makes one.
  ///
  /// - Throws: ``Fault``.
  public init() throws(Fault) {
    var network = program_network()
    let result = program_network(&network)
    guard result == 0 else { throw Fault(number: 0 - result) }
    start = network
    listener = Mutex(network.listener)
  }

  deinit {
    close(start.users)
    close(start.network)
    close(start.sockets)
    close(start.sockets6)
    listener.withLock { if let listener = $0 { _ = close(listener) } }
  }

  /// The socket at which the proxy is reached there; whoever takes it closes it. `nil` where it was taken before.
  func takeListener() -> Int32? {
    listener.withLock { listener in
      defer { listener = nil }
      return listener
    }
  }
}
