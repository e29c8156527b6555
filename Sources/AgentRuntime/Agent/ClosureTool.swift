public import AgentTrace

/// A tool that is a function of the program that uses this library.
///
/// It runs in this very process: it can be left behind when its time is up, but not ended, and what
/// crashes it crashes the process.
public struct ClosureTool: Tool {
  private let body: @Sendable (ToolRequest) async throws -> JSONValue

  /// - Parameter body: Makes the result's data of a call. What it throws becomes the reason of an error, and
  ///   unless that is ``NothingDone`` nobody knows what a tool has done that does not only read.
  public init(_ body: @escaping @Sendable (ToolRequest) async throws -> JSONValue) {
    self.body = body
  }

  public func run(_ request: ToolRequest) async -> ToolAnswer {
    do { return ToolAnswer(result: .ok(data: try await body(request))) } catch let error
      as NothingDone
    {
      return ToolAnswer(result: .error(error.description))
    } catch {
      return .ended(request, .error("\(error)"), afterMicroseconds: 0)
    }
  }
}

/// The word of a ``ClosureTool`` that it failed before it did anything.
public struct NothingDone: Error, Sendable, Hashable, CustomStringConvertible {
  /// Why it failed.
  public var description: String

  /// Says why.
  public init(_ description: String) { self.description = description }
}

/// Cuts a tool off that runs in this process: when its time is up, or the run is to end. What it does
/// after that is not waited for.
struct SupervisedTool: Tool {
  let tool: any Tool
  let clock: any RunClock
  let cancellation: Cancellation

  func run(_ request: ToolRequest) async -> ToolAnswer {
    if let signal = cancellation.signal {
      return ToolAnswer(
        result: .error("not started: cancelled by \(signal)"), signal: signal)
    }
    let (answers, answer) = AsyncStream<ToolAnswer>.makeStream()
    let (tool, clock, cancellation) = (tool, clock, cancellation)
    let work = Task { answer.yield(await tool.run(request)) }
    // On a clock that stands still nothing is ever late.
    let limit = clock.isFixed ? nil : request.timeoutMicroseconds
    let watch = limit.map { limit in
      Task {
        await clock.wait(microseconds: limit)
        guard !Task.isCancelled else { return }
        answer.yield(.timedOut(request, afterMicroseconds: limit))
      }
    }
    let first = await withTaskCancellationHandler {
      await cancellation.whileListening({
        answer.yield(
          .cutOff(
            request, reason: "cancelled by \(cancellation.signal ?? "a signal")",
            by: cancellation.signal, afterMicroseconds: 0))
      }) {
        for await first in answers { return first }
        return ToolAnswer.cutOff(request, reason: "cancelled", afterMicroseconds: 0)
      }
    } onCancel: {
      answer.finish()
    }
    watch?.cancel()
    work.cancel()
    return first
  }
}
