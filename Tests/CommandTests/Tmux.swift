import Foundation
import TestSupport

/// A terminal in which something runs, by way of tmux: what it shows, and keys to press.
final class Tmux {
  /// Whether there is a tmux to start.
  static func isThere() async -> Bool { (try? await shell("command -v tmux")) != nil }

  private let socket: String
  private let folder: String

  /// Starts a shell in a terminal of some size. Its prompt is `$ `.
  init(columns: Int, rows: Int, in folder: String = Project.root, environment: String = "")
    async throws
  {
    socket =
      "agent-eval-\(ProcessInfo.processInfo.processIdentifier)-\(UInt64.random(in: 0...(.max)))"
    self.folder = folder
    try await tmux([
      "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)",
      "env -u NO_COLOR \(environment) PS1='$ ' LC_ALL=C.UTF-8 /bin/bash --norc --noprofile",
    ])
    try await tmux(["set-option", "-s", "set-clipboard", "on"])
    try await tmux(["set-option", "-s", "escape-time", "0"])
    _ = try await shows { $0.contains { $0.hasPrefix("$ ") || $0 == "$" } }
  }

  /// Ends the terminal and all that runs in it.
  func end() async { _ = try? await tmux(["kill-server"]) }

  @discardableResult
  func tmux(_ arguments: [String]) async throws -> String {
    try await Command(
      program: "/usr/bin/env", arguments: ["tmux", "-L", socket, "-f", "/dev/null"] + arguments,
      folder: folder, environment: ["LC_ALL": "C.UTF-8"]
    ).run().output
  }

  /// Presses keys, by the names that tmux has for them.
  func press(_ keys: String...) async throws { try await tmux(["send-keys"] + keys) }

  /// Types a text.
  func type(_ text: String) async throws { try await tmux(["send-keys", "-l", text]) }

  /// Types a line of the shell, and enter.
  func enter(_ line: String) async throws {
    try await type(line)
    try await press("Enter")
  }

  /// The rows that the terminal shows, without the space at their ends.
  func rows() async throws -> [String] {
    try await tmux(["capture-pane", "-p"]).split(
      separator: "\n", omittingEmptySubsequences: false
    ).dropLast().map { line in
      var line = line
      while line.last == " " { line.removeLast() }
      return String(line)
    }
  }

  /// What tmux says of the terminal, for example `alternate_on`.
  func format(_ name: String) async throws -> String {
    var text = try await tmux(["display-message", "-p", "#{\(name)}"])
    if text.hasSuffix("\n") { text.removeLast() }
    return text
  }

  struct NeverShown: Error, CustomStringConvertible {
    var rows: [String]
    var description: String { "the terminal shows\n" + rows.joined(separator: "\n") }
  }

  /// Waits until the terminal shows something, and stands still.
  func shows(_ isSuch: ([String]) -> Bool) async throws -> [String] {
    var before: [String] = []
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      let now = try await rows()
      if now == before, isSuch(now) { return now }
      before = now
      try await Task.sleep(for: .milliseconds(60))
    }
    throw NeverShown(rows: before)
  }
}
