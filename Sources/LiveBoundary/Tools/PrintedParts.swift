public import AgentRuntime
public import AgentTrace
import Synchronization

/// The lines that a program prints while it runs, each of which is a part of its result.
final class PrintedParts: Sendable {
  /// What came of giving them.
  enum Given: Sendable {
    /// Each was taken.
    case all([JSONValue])
    /// One is no JSON.
    case fault(String)
    /// Nobody waits for more.
    case unwanted
  }

  private let splitter: Mutex<LineSplitter>
  private let lines: AsyncStream<[UInt8]>
  private let input: AsyncStream<[UInt8]>.Continuation

  /// - Parameter limitBytes: how long a line may be. The program is ended beyond as many bytes in all, so that no more are
  ///   held here.
  init(limitBytes: Int) {
    splitter = Mutex(LineSplitter(limitBytes: limitBytes))
    (lines, input) = AsyncStream.makeStream()
  }

  /// Takes in what the program has printed.
  func take(_ bytes: UnsafeRawBufferPointer) {
    for line in splitter.withLock({ $0.append(bytes) }) { input.yield(line.bytes) }
  }

  /// The program has ended; a last line may lack its end.
  func end() {
    if let rest = splitter.withLock({ $0.rest() }) { input.yield(rest.bytes) }
    input.finish()
  }

  /// Hands each line over as it comes, to the end of the last one, or to the first that nobody takes.
  func give(to part: @Sendable (JSONValue) async -> Bool) async -> Given {
    let space: [UInt8] = [0x20, 0x09, 0x0d]
    var parts: [JSONValue] = []
    var number = 0
    for await line in lines {
      number += 1
      if line.allSatisfy({ space.contains($0) }) { continue }
      let value: JSONValue
      do { value = try JSONValue(parsing: line) } catch {
        return .fault("line \(number) of standard output is not JSON: \(error)")
      }
      guard await part(value) else { return .unwanted }
      parts.append(value)
    }
    return .all(parts)
  }
}

extension CommandTool: PartedTool {
  public func run(
    _ request: ToolRequest, part: @escaping @Sendable (JSONValue) async -> Bool
  ) async -> ToolAnswer {
    let printed = makeParts()
    let process = Task {
      defer { printed.end() }
      return await run(request, printing: printed)
    }
    return await withTaskCancellationHandler {
      let given = await printed.give(to: part)
      if case .all = given {} else { process.cancel() }
      var answer = await process.value
      switch (given, answer.result) {
      case (.all(let parts), .ok): answer.result = .ok(data: .array(parts))
      // A line that was cut off with the program is not what is wrong with it.
      case (.fault(let reason), .ok):
        answer = .ended(
          request, .error(reason), afterMicroseconds: answer.elapsedMicroseconds)
      case (.fault(let reason), .error(_, let isUnknown)):
        answer.result = .error(reason, isEffectUnknown: isUnknown)
      default: break
      }
      return answer
    } onCancel: {
      process.cancel()
    }
  }
}
