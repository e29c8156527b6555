import AgentTrace
import Foundation

/// Where things are while tests run.
public enum Project {
  /// The folder with Package.swift.
  public static let root: String = {
    let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return parts.dropLast(3).joined(separator: "/")
  }()

  /// The full path of something in the project.
  public static func path(_ relative: String) -> String { "\(root)/\(relative)" }

  /// The text of a file of the project.
  public static func text(_ relative: String) throws -> String {
    try String(contentsOfFile: path(relative), encoding: .utf8)
  }

  /// Whether the project has such a file or folder.
  public static func has(_ relative: String) -> Bool {
    FileManager.default.fileExists(atPath: path(relative))
  }

  /// Every file below a folder of the project by its path from the root, sorted by bytes; nothing
  /// where there is no such folder.
  public static func files(below folder: String, ending: String = "") -> [String] {
    let walk = FileManager.default.enumerator(atPath: path(folder))
    return (walk?.allObjects as? [String] ?? [])
      .filter { $0.hasSuffix(ending) }
      .map { "\(folder)/\($0)" }
      .filter { name in
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: path(name), isDirectory: &isFolder)
        return exists && !isFolder.boolValue
      }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}

/// How thorough this run of the tests is, and what it has at hand.
public enum TestRun {
  /// Whether full proofs run instead of seeded samples: `bin/test --long`.
  public static let isLong = ProcessInfo.processInfo.environment["AGENT_EVAL_LONG"] == "1"

  /// How many times as long is waited for something as usual: full proofs keep all processors busy for
  /// minutes.
  public static let patience = isLong ? 20.0 : 1

  /// The folder with other people's trajectories (`AGENT_EVAL_CORPORA`); `nil` where there is none.
  public static let corpora: String? = {
    guard let folder = ProcessInfo.processInfo.environment["AGENT_EVAL_CORPORA"],
      FileManager.default.fileExists(atPath: folder)
    else { return nil }
    return folder
  }()

  /// A Python that can serve a small model (`AGENT_EVAL_LLAMA_PYTHON`); `nil` where there is none.
  public static let llamaPython = ProcessInfo.processInfo.environment["AGENT_EVAL_LLAMA_PYTHON"]

  /// The first number in a sample, the second in a full proof.
  public static func count(_ sample: Int, long full: Int) -> Int { isLong ? full : sample }
}

/// Random numbers that are the same in every run of a test.
public struct Seeded: RandomNumberGenerator, Sendable {
  private var generator: SeededGenerator

  public init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  public mutating func next() -> UInt64 { generator.next() }
}

/// Works for long on a thread of its own: the few threads of Swift's tasks are left to the tests that wait
/// for programs and servers, whose time would run out meanwhile.
public func apart<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { done in
    let thread = Thread { done.resume(with: Result { try work() }) }
    // As much as the main thread has: hostile values nest deep.
    thread.stackSize = 8 << 20
    thread.start()
  }
}

/// Waits until something holds, looking every 5 milliseconds; returns whether it came to hold.
public func eventually(
  withinSeconds seconds: Double = 10, _ condition: () async -> Bool
) async -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds * TestRun.patience)
  while ContinuousClock.now < deadline {
    if await condition() { return true }
    guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return false }
  }
  return await condition()
}
