import Glibc

/// Work that is deep or long, on a thread of its own: the few threads of tasks have small stacks, and others wait for
/// them.
enum WorkThread {
  private static let stackBytes = 16 << 20

  private final class Body {
    let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
  }

  /// Does some work and waits for its end. Where no thread is to be had, the work is done here.
  static func run<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Result, any Error>) in
      let whole: @Sendable () -> Void = { done.resume(with: Swift.Result { try work() }) }
      if !start(whole) { whole() }
    }
  }

  private static func start(_ work: @escaping @Sendable () -> Void) -> Bool {
    var attributes = pthread_attr_t()
    guard pthread_attr_init(&attributes) == 0 else { return false }
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let body = Unmanaged.passRetained(Body(work))
    var thread = pthread_t()
    let status = pthread_create(
      &thread, &attributes,
      { body in
        if let body { Unmanaged<Body>.fromOpaque(body).takeRetainedValue().work() }
        return nil
      }, body.toOpaque())
    guard status == 0 else {
      body.release()
      return false
    }
    return true
  }
}
