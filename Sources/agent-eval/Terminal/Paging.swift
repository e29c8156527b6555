import Glibc
import LiveBoundary
import Synchronization

/// Long output on a terminal, through the reader's pager.
///
/// What is printed is held back until there is more of it than the screen has lines; only then is the pager
/// started. Never in pipes.
enum Paging {
  private struct State {
    var command: String?
    var rows = 0
    var lines = 0
    var held: [UInt8] = []
    var pager: Pager?
  }

  private static let state = Mutex(State())

  /// From here on what is printed goes through the pager, where there is one.
  static func begin() {
    guard let command = Screen.pager, let rows = Screen.rows else { return }
    state.withLock {
      $0.command = command
      $0.rows = rows
    }
  }

  /// Takes in what is to be printed; `nil` where it goes to standard output as ever, else the bytes to write now
  /// and where.
  static func take(_ bytes: [UInt8]) -> (bytes: [UInt8], descriptor: Int32)? {
    state.withLock { state in
      guard let command = state.command else { return nil }
      if let pager = state.pager { return (bytes, pager.input) }
      state.held += bytes
      state.lines += bytes.count { $0 == UInt8(ascii: "\n") }
      guard state.lines >= state.rows else { return ([], STDOUT_FILENO) }
      let held = state.held
      state.held = []
      state.pager = Pager(command)
      if let pager = state.pager { return (held, pager.input) }
      // No pager is no reason to show nothing.
      state.command = nil
      return (held, STDOUT_FILENO)
    }
  }

  /// Prints what was held back, and waits until the reader has closed the pager.
  static func end() {
    let (held, pager) = state.withLock { state in
      let result = (state.held, state.pager)
      state = State()
      return result
    }
    if !held.isEmpty { Output.withoutPager(held) }
    pager?.waitForEnd()
  }
}
