import AgentRuntime
import AgentTrace
import Foundation
import Glibc
import LiveBoundary
import TestSupport
import Testing

/// What would hang does so for an hour; anything shorter than this has not waited for it, however busy
/// the machine is.
private let hangSeconds = 600.0

/// A script, what came of it, and how it went.
private struct Attempt {
  var folder: TemporaryFolder
  var answer: ToolAnswer
  var seconds: Double

  /// Runs a shell script as a command tool.
  static func run(
    _ script: String, input: JSONValue = ["a": 1], sideEffect: SideEffect = .write,
    seconds: Double? = 600, outputLimitBytes: Int = 1 << 20,
    outputLimit: CommandDefinition.Excess = .cut,
    environment: CommandEnvironment = .init(), limits: ProcessLimits = .init(),
    noEffectExitCodes: [Int] = [],
    cancellation: Cancellation = .init(),
    whileRunning: @escaping @Sendable (TemporaryFolder) async -> Void = { _ in }
  ) async throws -> Attempt {
    let folder = try TemporaryFolder()
    // Given to the shell as a file to read: a program that was just written may be busy for a moment,
    // while a process that another test starts holds it open.
    try folder.write("tool.sh", script)
    var command = CommandDefinition(
      arguments: ["/bin/sh", "tool.sh"], outputLimitBytes: outputLimitBytes,
      outputLimit: outputLimit, environment: environment, limits: limits)
    command.noEffectExitCodes = noEffectExitCodes
    let tool = CommandTool(
      command, folder: folder.path, clock: SystemClock(), cancellation: cancellation)
    let start = ContinuousClock.now
    async let other: Void = whileRunning(folder)
    let answer = await tool.run(
      request(input: input, sideEffect: sideEffect, seconds: seconds))
    let elapsed = ContinuousClock.now - start
    await other
    return Attempt(folder: folder, answer: answer, seconds: elapsed / .seconds(1))
  }

  static func request(
    input: JSONValue = [:], sideEffect: SideEffect = .write, seconds: Double? = 600
  ) -> ToolRequest {
    ToolRequest(
      callId: "1.1.0", tool: ToolDefinition(name: "t", sideEffect: sideEffect), input: input,
      idempotencyKey: "run/1.1.0", timeoutMicroseconds: seconds.map { Int($0 * 1_000_000) })
  }

  /// The processes that the script wrote down and that still run.
  var survivors: [Int32] {
    (folder.text("pids") ?? "").split(separator: "\n").compactMap { Int32($0) }
      .filter(Processes.isAlive)
  }

  /// The system may take a moment to take ended processes away.
  func expectNoSurvivors(_ location: SourceLocation = #_sourceLocation) async {
    #expect(await eventually { survivors.isEmpty }, sourceLocation: location)
    #expect(await eventually { Processes.ownZombies.isEmpty }, sourceLocation: location)
  }
}

extension ToolResult {
  fileprivate var reason: String {
    switch self {
    case .ok(let data), .returned(let data): "ok: \(CanonicalJSON.string(data))"
    case .refused(let reason): reason
    case .error(let reason, _): reason.stringValue ?? "no text"
    }
  }

  fileprivate var isEffectUnknown: Bool {
    if case .error(_, true) = self { true } else { false }
  }
}

@Suite("Commands as tools", .serialized)
struct CommandToolTests {
  /// One way to fail, and the error it must end in.
  struct Fault: Sendable, CustomTestStringConvertible {
    var name: String
    var script: String
    var reason: String
    var isEffectUnknown = true
    var seconds: Double = 20

    var testDescription: String { name }
  }

  static let faults: [Fault] = [
    Fault(name: "an exit code", script: "exit 3", reason: "exited with 3"),
    Fault(
      name: "an exit code with words", script: "echo 'no such order' >&2; exit 3",
      reason: "exited with 3: no such order"),
    Fault(
      name: "a good answer and a bad exit code", script: "echo '{}'; exit 1",
      reason: "exited with 1"),
    Fault(
      name: "a crash", script: "kill -SEGV $$", reason: "killed by SIGSEGV"),
    Fault(
      name: "a crash with words", script: "echo oops >&2; kill -KILL $$",
      reason: "killed by SIGKILL: oops"),
    Fault(
      name: "a crash after a whole answer", script: "echo '{}'; kill -ABRT $$",
      reason: "killed by SIGABRT"),
    Fault(
      name: "half an answer", script: "printf '{\"a\":'",
      reason: "standard output is not JSON: the text ends in the middle of a value at byte 5"),
    Fault(
      name: "an answer and more", script: "echo '{} {}'",
      reason: "standard output is not JSON: more text behind the end of the value at byte 3"),
    Fault(
      name: "a mark of byte order and no JSON", script: "printf '\\357\\273\\277hello'",
      reason: "standard output is not JSON: unexpected “h” at byte 0"),
    Fault(
      name: "no JSON", script: "echo hello",
      reason: "standard output is not JSON: unexpected “h” at byte 0"),
    Fault(
      name: "bytes that are not UTF-8", script: "printf '\"a\\377\"'",
      reason: "standard output is not UTF-8 at byte 2"),
    Fault(
      name: "a key twice", script: "echo '{\"a\":1,\"a\":2}'",
      reason: "standard output is not JSON: the key “a” stands twice at byte 0"),
    Fault(
      name: "an answer as deep as it likes",
      script: "awk 'BEGIN { for (i = 0; i < 100000; i++) printf \"[\" }'",
      reason: "standard output is not JSON: nesting deeper than 128 at byte 128"),
    Fault(
      name: "a hang", script: "echo $$ >> pids; exec sleep 3600",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
    Fault(
      name: "a hang after a whole answer", script: "echo '{}'; echo $$ >> pids; exec sleep 3600",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
    Fault(
      name: "a hang with its outputs closed",
      script: "echo $$ >> pids; exec sleep 3600 >&- 2>&- <&-",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
    Fault(
      name: "a hang that ignores SIGTERM",
      script: "echo $$ >> pids; trap '' TERM; while :; do sleep 0.05; done",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
    Fault(
      name: "a hang of a child",
      script: "sleep 3600 & echo $! >> pids; echo $$ >> pids; wait",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
    Fault(
      name: "a stopped process", script: "echo $$ >> pids; kill -STOP $$",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
    Fault(
      name: "an answer on SIGTERM",
      script: "trap 'echo {}; exit 0' TERM; while :; do sleep 0.02; done",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
    Fault(
      name: "output without end", script: "echo $$ >> pids; exec yes",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
    Fault(
      name: "output without end from a child that outlives it",
      script: "yes & echo $! >> pids; exit 5", reason: "exited with 5"),
    Fault(
      name: "errors without end", script: "echo $$ >> pids; exec yes >&2",
      reason: "timed out after 0.3 seconds", seconds: 0.3),
  ]

  @Test("each way to fail ends in its error, in time and without a survivor", arguments: faults)
  func fault(_ fault: Fault) async throws {
    let attempt = try await Attempt.run(fault.script, seconds: fault.seconds)
    #expect(attempt.answer.result.status == "error")
    #expect(attempt.answer.result.reason == fault.reason)
    #expect(attempt.answer.result.isEffectUnknown == fault.isEffectUnknown)
    #expect(attempt.seconds < hangSeconds)
    await attempt.expectNoSurvivors()
  }

  @Test("the effect of a tool that only reads is known, however it ends", arguments: faults)
  func readingFault(_ fault: Fault) async throws {
    let attempt = try await Attempt.run(fault.script, sideEffect: .read, seconds: fault.seconds)
    #expect(!attempt.answer.result.isEffectUnknown)
    #expect(attempt.answer.result.reason == fault.reason)
  }

  @Test(
    "nothing was done where the tool names the exit code, or the command says so",
    arguments: [
      ("exit 3", [3], false), ("exit 3", [4], true), ("exit 3", [], true),
      ("echo '{\"effect\":\"none\"}'; exit 3", [], false),
      ("echo '{\"effect\":\"some\"}'; exit 3", [], true),
      ("echo '\"none\"'; exit 3", [], true), ("kill -KILL $$", [137], true),
    ])
  func knownEffect(script: String, codes: [Int], isUnknown: Bool) async throws {
    let attempt = try await Attempt.run(script, noEffectExitCodes: codes)
    #expect(attempt.answer.result.status == "error")
    #expect(attempt.answer.result.isEffectUnknown == isUnknown)
    // An exit code speaks of this attempt alone.
    #expect(attempt.answer.saysNoEffect == script.contains("{\"effect\":\"none\"}"))
  }

  @Test("whenever a command kills its watcher, nobody knows what it did", arguments: [0, 0.3])
  func killedWatcher(seconds: Double) async throws {
    let attempt = try await Attempt.run(
      seconds > 0
        ? "sleep 3600 & echo $! >> pids; sleep \(seconds); kill -KILL $PPID; sleep 3600"
        : "kill -KILL $PPID; sleep 3600")
    #expect(attempt.answer.result.reason == "killed by SIGKILL")
    #expect(attempt.answer.result.isEffectUnknown)
    #expect(attempt.seconds < hangSeconds)
    // What its watcher has told of is found by its session.
    if seconds > 0 { await attempt.expectNoSurvivors() }
  }

  @Test(
    "a child that outlives a command neither holds up its answer nor lives on",
    arguments: [
      "sleep 3600 & echo $! >> pids; echo '{\"a\":1}'",
      "(trap '' TERM HUP; sleep 3600) & echo $! >> pids; echo '{\"a\":1}'",
      "sleep 3600 >/dev/null 2>&1 </dev/null & echo $! >> pids; echo '{\"a\":1}'",
      "yes >&2 & echo $! >> pids; echo '{\"a\":1}'",
      // Of a process group of its own, in the same session.
      "set -m; sleep 3600 & echo $! >> pids; echo '{\"a\":1}'",
    ])
  func outliving(script: String) async throws {
    let attempt = try await Attempt.run(script)
    #expect(attempt.answer.result == .ok(data: ["a": 1]))
    #expect(attempt.seconds < hangSeconds)
    await attempt.expectNoSurvivors()
  }

  @Test(
    "a command may leave its input alone, whatever its size",
    arguments: ["echo '{}'", "exec <&-; sleep 0.1; echo '{}'", "head -c 1 >/dev/null; echo '{}'"],
    [10, 1 << 20])
  func unreadInput(script: String, size: Int) async throws {
    let input: JSONValue = ["text": .string(String(repeating: "x", count: size))]
    let attempt = try await Attempt.run(script, input: input)
    #expect(attempt.answer.result == .ok(data: [:]))
    #expect(attempt.seconds < hangSeconds)
  }

  @Test("a command that waits for the end of its input gets there")
  func wholeInput() async throws {
    let input: JSONValue = ["text": .string(String(repeating: "é", count: 300_000)), "$same": 1.5]
    #expect(try await Attempt.run("cat", input: input).answer.result == .ok(data: input))
  }

  @Test("the whole input is there before a command begins, and nobody can change it")
  func sealedInput() async throws {
    let input: JSONValue = ["text": .string(String(repeating: "x", count: 1 << 20))]
    let attempt = try await Attempt.run(
      "stat -Lc %s /proc/self/fd/0; (: > /proc/self/fd/0) 2>/dev/null && echo 1; cat > seen",
      input: input)
    #expect(attempt.answer.result == .ok(data: JSONValue((1 << 20) + 12)))
    #expect(attempt.folder.text("seen")?.utf8.count == (1 << 20) + 12)
  }

  @Test("the input is one line of JSON as other programs expect it")
  func inputBytes() async throws {
    let attempt = try await Attempt.run(
      "cat > seen; echo null", input: ["b": [1, 2], "a": "x\ny", "$list": nil])
    #expect(attempt.folder.text("seen") == "{\"$list\":null,\"a\":\"x\\ny\",\"b\":[1,2]}\n")
  }

  @Test(
    "a command without a word returns null", arguments: ["true", "echo", "printf ' \\t\\r\\n'"])
  func silence(script: String) async throws {
    #expect(try await Attempt.run(script).answer.result == .ok(data: .null))
  }

  @Test(
    "output up to the limit is read; of more the beginning is the result, or the call fails",
    arguments: [0, 1], CommandDefinition.Excess.allCases)
  func outputLimit(excess: Int, outputLimit: CommandDefinition.Excess) async throws {
    let size = 200_000
    let attempt = try await Attempt.run(
      "printf '\"'; head -c \(size - 2 + excess) /dev/zero | tr '\\0' x; printf '\"'; touch ended",
      outputLimitBytes: size, outputLimit: outputLimit)
    switch (excess, outputLimit) {
    case (0, _):
      #expect(
        attempt.answer.result == .ok(data: .string(String(repeating: "x", count: size - 2))))
    case (_, .error):
      #expect(attempt.answer.result.reason == "more than \(size) bytes on standard output")
    case (_, .cut):
      #expect(
        attempt.answer.result
          == .ok(
            data: .cut(bytes: size + 1, head: "\"" + String(repeating: "x", count: 65_535 - 1_024)))
      )
      #expect(attempt.folder.text("ended") != nil)
    }
  }

  @Test("output without end ends the command where the tool says so")
  func endlessOutput() async throws {
    let attempt = try await Attempt.run("echo $$ >> pids; exec yes", outputLimit: .error)
    #expect(attempt.answer.result.reason == "more than 1048576 bytes on standard output")
    await attempt.expectNoSurvivors()
  }

  @Test("a gibibyte of output is read to its end and never held")
  func muchOutput() async throws {
    let gibibyte = TestRun.count(256 << 20, long: 1 << 30)
    let before = Self.peakMemoryBytes
    let attempt = try await Attempt.run("head -c \(gibibyte) /dev/zero | tr '\\0' x")
    guard case .ok(.cut(let bytes, let head)) = attempt.answer.result else {
      Issue.record("\(attempt.answer.result.reason.prefix(200))")
      return
    }
    #expect(bytes == gibibyte && head.utf8.count == 65_536 - 1_024)
    #expect(Self.peakMemoryBytes - before < 64 << 20)
  }

  /// The most memory that this process ever held; `VmHWM` of proc(5).
  private static var peakMemoryBytes: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (Int(line.filter(\.isNumber)) ?? 0) << 10
  }

  @Test("cut output ends with a whole character, and is an error where it is no text")
  func cutText() async throws {
    let whole = try await Attempt.run("printf 'ab\\303\\251cd'", outputLimitBytes: 3)
    #expect(whole.answer.result == .ok(data: .cut(bytes: 6, head: "ab")))
    let wrong = try await Attempt.run("printf 'ab\\377cd'", outputLimitBytes: 4)
    #expect(wrong.answer.result.reason == "standard output is not UTF-8 at byte 2")
  }

  // MARK: Limits and environment

  @Test("memory beyond the limit cannot be had, in the command and in what it starts")
  func memoryLimit() async throws {
    let script =
      "sh -c 'head -c 300000000 /dev/zero | tail -c 300000000 >/dev/null' && echo 1 || echo 2"
    let free = try await Attempt.run(script)
    #expect(free.answer.result == .ok(data: 1))
    let held = try await Attempt.run(script, limits: ProcessLimits(memoryBytes: 100 << 20))
    #expect(held.answer.result == .ok(data: 2))
  }

  @Test("processor time, open files and the size of files are limited")
  func otherLimits() async throws {
    let busy = try await Attempt.run("while :; do :; done", limits: ProcessLimits(cpuSeconds: 1))
    #expect(busy.answer.result.reason == "killed by SIGKILL")
    #expect(busy.answer.result.isEffectUnknown)
    let files = try await Attempt.run("sleep 0.2; ulimit -n", limits: ProcessLimits(openFiles: 20))
    #expect(files.answer.result == .ok(data: 20))
    let large = try await Attempt.run(
      "sleep 0.2; trap '' XFSZ; head -c 100000 /dev/zero > big 2>/dev/null; wc -c < big",
      limits: ProcessLimits(fileBytes: 5_000))
    #expect(large.answer.result == .ok(data: 5_000))
  }

  @Test("a command sees the variables that its tool names, and no other")
  func namedVariables() async throws {
    setenv("AGENT_EVAL_TEST_PASSED", "passed on", 1)
    setenv("AGENT_EVAL_TEST_KEPT", "kept back", 1)
    defer {
      unsetenv("AGENT_EVAL_TEST_PASSED")
      unsetenv("AGENT_EVAL_TEST_KEPT")
    }
    let attempt = try await Attempt.run(
      "env > seen; echo null",
      environment: CommandEnvironment(
        pass: ["AGENT_EVAL_TEST_PASSED", "AGENT_EVAL_TEST_MISSING", "LANG"],
        set: ["MODE": "a b", "LANG": "C", "IDEMPOTENCY_KEY": "forged"]))
    let seen = (attempt.folder.text("seen") ?? "").split(separator: "\n")
    for line in [
      "AGENT_EVAL_TEST_PASSED=passed on", "MODE=a b", "LANG=C", "IDEMPOTENCY_KEY=run/1.1.0",
    ] { #expect(seen.contains(Substring(line))) }
    #expect(!seen.contains { $0.contains("KEPT") || $0.contains("MISSING") })
  }

  @Test(
    "no part of a secret stands where a text was cut: of a variable that is passed on, of a token, of a key in lines",
    arguments: [
      "head -c 65530 /dev/zero | tr '\\0' x; echo $AGENT_EVAL_TEST_KEY; head -c 2000000 /dev/zero | tr '\\0' x",
      "echo $AGENT_EVAL_TEST_KEY >&2; head -c 2040 /dev/zero | tr '\\0' x >&2; exit 1",
      "printf ' x-sk-0123456789abcdef ' >&2; head -c 2030 /dev/zero | tr '\\0' ' ' >&2; echo >&2 end; exit 2",
      "for i in $(seq 60); do echo 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef; done >&2; exit 2",
    ])
  func hiddenValues(script: String) async throws {
    setenv("AGENT_EVAL_TEST_KEY", "sk-0123456789abcdef", 1)
    let attempt = try await Attempt.run(
      script, environment: CommandEnvironment(pass: ["AGENT_EVAL_TEST_KEY"]))
    let text = attempt.answer.result.reason
    for part in ["sk-0123456789abcdef", "sk-01", "bcdef"] {
      #expect(!text.contains(part), "\(text)")
    }
  }

  @Test("a failure quotes the end of standard error and no more")
  func errorTail() async throws {
    let attempt = try await Attempt.run(
      "head -c 1000000 /dev/zero | tr '\\0' x >&2; printf 'é%.0s' $(seq 2000) >&2; "
        + "echo last >&2; exit 9")
    let reason = attempt.answer.result.reason
    #expect(reason.hasPrefix("exited with 9: …é"))
    #expect(reason.hasSuffix("élast"))
    #expect(reason.utf8.count <= 2_048 + 20)
    #expect(!reason.contains("\u{fffd}"))
  }

  @Test(
    "a program that cannot be started is an error that names it as the agent file does",
    arguments: [
      ["no-such-program-anywhere"], ["./missing"], ["./folder"], ["./plain.txt"], [], [""],
      ["echo", "a\0b"],
    ])
  func startFaults(arguments: [String]) async throws {
    let folder = try TemporaryFolder()
    try folder.write("plain.txt", "no program\n")
    try folder.write("folder/x", "")
    let tool = CommandTool(
      CommandDefinition(arguments: arguments), folder: folder.path, clock: SystemClock(),
      cancellation: Cancellation())
    let answer = await tool.run(Attempt.request())
    #expect(answer.result.status == "error")
    #expect(!answer.result.isEffectUnknown)
    #expect(
      answer.result.reason.hasPrefix("cannot start “\(arguments.first ?? "")”: ")
        || answer.result.reason.hasPrefix("not started: "))
    #expect(!answer.result.reason.contains(folder.path))
  }

  @Test("a missing working folder is an error of the call")
  func missingFolder() async {
    let tool = CommandTool(
      CommandDefinition(arguments: ["true"]), folder: "/no/such/folder", clock: SystemClock(),
      cancellation: Cancellation())
    let answer = await tool.run(Attempt.request())
    #expect(
      answer.result
        == .error("cannot start “true”: the folder of the agent file cannot be entered"))
  }

  @Test("a call without time left, or after a signal, does not start")
  func neverStarted() async throws {
    let late = try await Attempt.run("touch started", seconds: 0)
    #expect(late.answer.result == .error("not started: no time is left"))
    let cancellation = Cancellation()
    cancellation.cancel(signal: "SIGTERM")
    let after = try await Attempt.run("touch started", cancellation: cancellation)
    #expect(after.answer.result == .error("not started: cancelled by SIGTERM"))
    #expect(late.answer.signal == nil && after.answer.signal == "SIGTERM")
    #expect(late.folder.text("started") == nil && after.folder.text("started") == nil)
  }

  @Test("a signal cuts a call off, and its effect is unknown unless it only reads")
  func cancellation() async throws {
    for sideEffect in SideEffect.allCases {
      let cancellation = Cancellation()
      let attempt = try await Attempt.run(
        "sleep 3600 & echo $! >> pids; echo $$ >> pids; touch ready; wait", sideEffect: sideEffect,
        cancellation: cancellation
      ) { folder in
        while folder.text("ready") == nil { try? await Task.sleep(for: .milliseconds(5)) }
        cancellation.cancel(signal: "SIGINT")
      }
      #expect(attempt.answer.result.reason == "cancelled by SIGINT")
      #expect(attempt.answer.signal == "SIGINT")
      #expect(attempt.answer.result.isEffectUnknown == (sideEffect != .read))
      #expect(attempt.seconds < hangSeconds)
      await attempt.expectNoSurvivors()
    }
  }

  @Test("cancelling the task ends the command too")
  func taskCancellation() async throws {
    let folder = try TemporaryFolder()
    try folder.script("tool.sh", "echo $$ > pids; touch ready; exec sleep 3600")
    let tool = CommandTool(
      CommandDefinition(arguments: ["/bin/sh", "tool.sh"]), folder: folder.path,
      clock: SystemClock(),
      cancellation: Cancellation())
    let task = Task { await tool.run(Attempt.request()) }
    while folder.text("ready") == nil { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    let answer = await task.value
    #expect(answer.result.status == "error")
    // No signal of the run did that.
    #expect(answer.signal == nil)
    await Attempt(folder: folder, answer: answer, seconds: 0).expectNoSurvivors()
  }

  @Test("a command sees six variables, its folder and no terminal")
  func surroundings() async throws {
    setenv("AGENT_EVAL_TEST_SECRET", "hunter2", 1)
    defer { unsetenv("AGENT_EVAL_TEST_SECRET") }
    let attempt = try await Attempt.run(
      "env > seen; pwd -P > folder; (: < /dev/tty) 2>/dev/null || touch no-tty; echo null")
    let names = (attempt.folder.text("seen") ?? "").split(separator: "\n")
      .map { $0.prefix { $0 != "=" } }
    // The shell adds the last three itself.
    let allowed = [
      "HOME", "LANG", "PATH", "TMPDIR", "IDEMPOTENCY_KEY", "AGENT_CALL_ID", "PWD", "OLDPWD",
      "SHLVL", "_",
    ]
    #expect(names.allSatisfy { allowed.contains(String($0)) })
    #expect(attempt.folder.text("seen")?.contains("IDEMPOTENCY_KEY=run/1.1.0\n") == true)
    #expect(attempt.folder.text("folder") == "\(attempt.folder.path)\n")
    #expect(attempt.folder.text("no-tty") != nil)
  }

  @Test("arguments reach the program as they are, without a shell")
  func arguments() async throws {
    let folder = try TemporaryFolder()
    try folder.link("sub/shell", to: "/bin/sh")
    let words = ["a b", "$HOME", "*", "'\"", "", "é"]
    let script = "printf '%s\\n' \"$@\" > seen"
    let tool = CommandTool(
      CommandDefinition(arguments: ["sub/shell", "-c", script, "name"] + words),
      folder: folder.path, clock: SystemClock(), cancellation: Cancellation())
    _ = await tool.run(Attempt.request())
    let seen = (folder.text("seen") ?? "").split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(seen.dropLast().map(String.init) == words)
  }

  @Test("many commands at once end each with its own answer")
  func manyAtOnce() async throws {
    let count = TestRun.count(20, long: 200)
    try await withThrowingTaskGroup(of: (Int, ToolResult).self) { group in
      for number in 0..<count {
        group.addTask {
          let attempt = try await Attempt.run("cat; exit 0", input: JSONValue(number))
          return (number, attempt.answer.result)
        }
      }
      for try await (number, result) in group { #expect(result == .ok(data: JSONValue(number))) }
    }
  }

  @Test("on a fixed clock a call takes no time")
  func fixedClock() async throws {
    let tool = CommandTool(
      CommandDefinition(arguments: ["sleep", "0.05"]), folder: "/", clock: FixedClock(),
      cancellation: Cancellation())
    #expect(await tool.run(Attempt.request()).elapsedMicroseconds == 0)
    let running = CommandTool(
      CommandDefinition(arguments: ["sleep", "0.05"]), folder: "/", clock: SystemClock(),
      cancellation: Cancellation())
    #expect(await running.run(Attempt.request()).elapsedMicroseconds >= 50_000)
  }
}
