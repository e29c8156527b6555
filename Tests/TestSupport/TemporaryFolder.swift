import Foundation

/// A folder of its own for one test; gone with everything in it when the last reference is, unless
/// `AGENT_EVAL_KEEP_FOLDERS` names a folder on the same file system to put it in: so that all runs that tests
/// record can be made again.
public final class TemporaryFolder: Sendable {
  /// The full path, without symbolic links.
  public let path: String

  public init() throws {
    let parent = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    let folder = parent.appendingPathComponent("agent-eval-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.path
  }

  deinit {
    if let keep = ProcessInfo.processInfo.environment["AGENT_EVAL_KEEP_FOLDERS"] {
      let name = URL(fileURLWithPath: path).lastPathComponent
      try? FileManager.default.moveItem(atPath: path, toPath: "\(keep)/\(name)")
    } else {
      try? FileManager.default.removeItem(atPath: path)
    }
  }

  /// The full path of something in it, there or not.
  public func path(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file, and the folders on its way; returns its full path.
  @discardableResult
  public func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
    let file = URL(fileURLWithPath: path(name))
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
    return file.path
  }

  /// Writes a text file.
  @discardableResult
  public func write(_ name: String, _ text: String) throws -> String {
    try write(name, text.utf8)
  }

  /// Writes a shell script that may be executed.
  @discardableResult
  public func script(_ name: String, _ body: String) throws -> String {
    let file = try write(name, "#!/bin/sh\n\(body)\n")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
    return file
  }

  /// Makes a symbolic link, and the folders on its way.
  public func link(_ name: String, to target: String) throws {
    let link = URL(fileURLWithPath: path(name))
    try FileManager.default.createDirectory(
      at: link.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: target)
  }

  /// The bytes of a file in it.
  public func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  /// The text of a file in it; `nil` where there is none or it is no UTF-8.
  public func text(_ name: String) -> String? {
    try? String(contentsOfFile: path(name), encoding: .utf8)
  }

  /// Every file and folder in it, sorted.
  public var listing: [String] {
    (FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []).sorted()
  }
}
