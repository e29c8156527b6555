import Synchronization

/// Why a recording could not be read any further, where answers cannot throw. May be used from any
/// task.
final class FirstFailure: Sendable {
  private let failure = Mutex<(any Error)?>(nil)

  /// `nil` while nothing failed.
  var error: (any Error)? { failure.withLock { $0 } }

  /// Only the first counts: what fails behind it follows from it.
  func note(_ error: any Error) { failure.withLock { $0 = $0 ?? error } }

  /// What could be read; `nil` where that failed too.
  func noting<Answer>(_ read: () throws -> Answer?) -> Answer? {
    do { return try read() } catch {
      note(error)
      return nil
    }
  }
}
