import AgentRuntime
import AgentTrace
import Foundation
import LiveBoundary
import TestSupport
import Testing

@Suite("Signals", .serialized)
struct SignalTests {
  @Test(
    "a signal reaches every run that listens, by its name",
    arguments: ["SIGHUP", "SIGINT", "SIGTERM"])
  func arrival(name: String) async {
    await #expect(processExitsWith: .success) { [name] in
      let (first, second) = (Cancellation(), Cancellation())
      let listeners = (SignalListener(first), SignalListener(second))
      await SignalListener.raise(name, awaiting: first)
      #expect(first.signal == name)
      // Told one after the other.
      while second.signal == nil { try await Task.sleep(for: .milliseconds(1)) }
      #expect(second.signal == name)
      withExtendedLifetime(listeners) {}
    }
  }

  @Test("a second signal ends the process at once with 128 and its number")
  func secondSignal() async {
    await #expect(processExitsWith: .exitCode(128 + SIGTERM)) {
      let cancellation = Cancellation()
      let listener = SignalListener(cancellation)
      await SignalListener.raise("SIGINT", awaiting: cancellation)
      try await Task.sleep(for: .milliseconds(300))
      kill(getpid(), SIGTERM)
      try await Task.sleep(for: .seconds(20))
      withExtendedLifetime(listener) {}
    }
  }

  @Test("signals in quick succession are one wish")
  func echo() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let cancellation = Cancellation()
      let listener = SignalListener(cancellation)
      for _ in 0..<5 { kill(getpid(), SIGTERM) }
      try await Task.sleep(for: .milliseconds(400))
      withExtendedLifetime(listener) {}
      exit(cancellation.signal == "SIGTERM" ? 7 : 8)
    }
  }

  @Test("when the last listener has stopped a signal does what it did before")
  func afterStop() async {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      let listener = SignalListener(Cancellation())
      listener.stop()
      kill(getpid(), SIGTERM)
      try await Task.sleep(for: .seconds(20))
    }
  }

  @Test("signals arrive though whoever began to listen, and every thread there was, blocked them")
  func blocked() async throws {
    await #expect(processExitsWith: .success) {
      var all = sigset_t()
      sigfillset(&all)
      pthread_sigmask(Int32(SIG_BLOCK), &all, nil)
      let listener = SignalListener(Cancellation())
      // Every thread but the first, which takes signals when it has nothing to do: `/proc` tells the
      // signals that it blocks, bit by bit.
      let wanted: UInt64 = 1 << (SIGINT - 1) | 1 << (SIGTERM - 1)
      let isListening = await eventually {
        let threads =
          (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.contains { thread in
          let path = "/proc/self/task/\(thread)/status"
          let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
          guard thread != "\(getpid())", let start = text.range(of: "\nSigBlk:\t")?.upperBound,
            let blocked = UInt64(text[start...].prefix { $0.isHexDigit }, radix: 16)
          else { return false }
          return blocked & wanted == 0
        }
      }
      #expect(isListening)
      withExtendedLifetime(listener) {}
    }
  }

  @Test(
    "a signal that the process was started to ignore stays ignored, as under nohup",
    arguments: [SIGINT, SIGHUP])
  func ignored(number: Int32) async {
    await #expect(processExitsWith: .exitCode(7)) { [number] in
      signal(number, SIG_IGN)
      let cancellation = Cancellation()
      let listener = SignalListener(cancellation)
      kill(getpid(), number)
      try await Task.sleep(for: .milliseconds(100))
      withExtendedLifetime(listener) {}
      exit(cancellation.signal == nil ? 7 : 8)
    }
  }

  @Test("a second signal takes the commands that run with it")
  func commandsEndToo() async throws {
    let folder = try TemporaryFolder()
    try folder.script("tool.sh", "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done")
    let path = folder.path
    await #expect(processExitsWith: .exitCode(128 + SIGTERM)) { [path = path as String] in
      let cancellation = Cancellation()
      let listener = SignalListener(cancellation)
      // The command does not hear of the first signal: only the second may end it.
      let tool = CommandTool(
        CommandDefinition(arguments: ["/bin/sh", "tool.sh"]), folder: path, clock: SystemClock(),
        cancellation: Cancellation())
      async let answer = tool.run(
        ToolRequest(
          callId: "1.1.0", tool: ToolDefinition(name: "t"), input: .null, idempotencyKey: "r/1.1.0")
      )
      try await Task.sleep(for: .milliseconds(300))
      await SignalListener.raise("SIGTERM", awaiting: cancellation)
      try await Task.sleep(for: .milliseconds(300))
      kill(getpid(), SIGTERM)
      _ = await answer
      withExtendedLifetime(listener) {}
    }
    let pid = try #require(Int32((folder.text("pid") ?? "").dropLast()))
    #expect(await eventually { !Processes.isAlive(pid) })
  }

  @Test("where nobody listens a raised signal only cancels the run")
  func nobodyListens() async {
    let cancellation = Cancellation()
    await SignalListener.raise("SIGTERM", awaiting: cancellation)
    #expect(cancellation.signal == "SIGTERM")
    let other = Cancellation()
    await SignalListener.raise("no such signal", awaiting: other)
    #expect(other.signal == "no such signal")
  }
}

@Suite("The machine's clock")
struct SystemClockTests {
  @Test("time goes on from where a run was, and never runs backwards")
  func moments() async {
    let clock = SystemClock(elapsedMicroseconds: 5_000_000)
    let first = clock.reading()
    await clock.wait(microseconds: 20_000)
    let second = clock.reading()
    #expect(first.t >= 5_000_000 && first.t < 6_000_000)
    #expect(second.t >= first.t + 20_000)
    clock.advance(to: 60_000_000)
    #expect(clock.reading().t >= 60_000_000)
    #expect(clock.reading().t >= 60_000_000)
    clock.advance(to: 0)
    #expect(clock.reading().t >= 60_000_000)
    #expect(!clock.isFixed)
  }

  @Test("UTC has microseconds and is today's")
  func utc() throws {
    let time = SystemClock().reading().time
    #expect(time.utf8.count == "2026-11-21T12:00:00.123456Z".utf8.count)
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let expected = UTC.text(microsecondsSince1970: now.tv_sec * 1_000_000)
    #expect(time.prefix(13) == expected.prefix(13) || expected.contains(":00:0"))
  }

  @Test("a wait is cut short by cancelling the run or the task, before or during it")
  func cancelledWait() async throws {
    let cancellation = Cancellation()
    let clock = SystemClock(cancellation: cancellation)
    let start = ContinuousClock.now
    let task = Task { await clock.wait(microseconds: 3_600_000_000) }
    try await Task.sleep(for: .milliseconds(20))
    task.cancel()
    await task.value
    async let waiting: Void = clock.wait(microseconds: 3_600_000_000)
    try await Task.sleep(for: .milliseconds(20))
    cancellation.cancel(signal: "SIGTERM")
    await waiting
    await clock.wait(microseconds: 3_600_000_000)
    await clock.wait(microseconds: -5)
    #expect(ContinuousClock.now - start < .seconds(600))
  }
}
