import Glibc

/// Jobs that wait for nothing but files, on threads of their own.
enum JobThreads {
  /// Does the same work so many times at once, and returns when all of it is done. The calling thread does
  /// its part; where no other is to be had, it does the work alone.
  static func run(_ count: Int, _ work: @escaping @Sendable () -> Void) {
    let others = (1..<max(1, count)).compactMap { _ in start(work) }
    work()
    for other in others { pthread_join(other, nil) }
  }

  private final class Body {
    let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
  }

  private static func start(_ work: @escaping @Sendable () -> Void) -> pthread_t? {
    let body = Unmanaged.passRetained(Body(work))
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { body in
        if let body { Unmanaged<Body>.fromOpaque(body).takeRetainedValue().work() }
        return nil
      }, body.toOpaque())
    guard status == 0 else {
      body.release()
      return nil
    }
    return thread
  }
}
