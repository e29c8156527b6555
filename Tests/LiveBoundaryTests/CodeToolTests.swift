import AgentRuntime
import AgentTrace
import Foundation
import Glibc
import LiveBoundary
import TestSupport
import Testing

@Suite("Code that a model writes", .serialized)
struct CodeToolTests {
  private static func run(
    _ code: String, _ change: (inout CodeDefinition) -> Void = { _ in }, seconds: Double = 60,
    sideEffect: SideEffect = .read, cancellation: Cancellation = Cancellation()
  ) async -> ToolResult {
    var definition = CodeDefinition(
      interpreter: ["/bin/sh"], fileName: "program.sh", isolation: .best)
    change(&definition)
    let tool = CodeTool(
      definition, folder: ".", clock: SystemClock(), cancellation: cancellation)
    return await tool.run(
      ToolRequest(
        callId: "1.1.0", tool: ToolDefinition(name: "run", sideEffect: sideEffect),
        input: ["code": .string(code)], idempotencyKey: "r/1.1.0",
        timeoutMicroseconds: Int(seconds * 1_000_000))
    ).result
  }

  private static func reason(_ result: ToolResult) -> String {
    if case .error(let reason, _) = result { reason.stringValue ?? "" } else { "\(result)" }
  }

  private static func data(_ result: ToolResult) -> JSONValue {
    if case .ok(let data) = result { data } else { .string("\(result)") }
  }

  /// Whether this system lets us make namespaces.
  private static func isOfflinePossible() async -> Bool {
    data(await run("true"))["network"] == nil
  }

  /// Folders that were there before this test, such as those of a run of tests that was killed.
  private let earlier = Set(Self.allFolders)

  private var folders: [String] { Self.allFolders.filter { !earlier.contains($0) } }

  private static var allFolders: [String] {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    return ((try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [])
      .filter { $0.hasPrefix("agent-eval-code-") }
  }

  @Test("outputs and exit code are the result, and the folder is gone afterwards")
  func result() async {
    let data = Self.data(
      await Self.run("echo out; echo err >&2; echo x > left; mkdir -p a/b/c; touch a/b/c/d; exit 3")
    )
    #expect(data["stdout"] == "out\n" && data["stderr"] == "err\n" && data["exitCode"] == 3)
    #expect(await eventually { folders.isEmpty })
  }

  @Test("files that are named are in the result; links and what is no file are not")
  func files() async {
    let result = await Self.run(
      "printf kept > a; ln -s /etc/passwd b; mkfifo c; mkdir d; head -c 100 /dev/zero > e; printf x > g"
    ) {
      $0.files = ["a", "b", "c", "d", "e", "f"]
      $0.outputLimitBytes = 50
    }
    let files = Self.data(result)["files"]
    #expect(files?["a"] == "kept")
    for name in ["b", "c", "d", "f", "g"] { #expect(files?[name] == nil, "\(name)") }
    guard case .cut(100, _)? = files?["e"] else {
      Issue.record("\(String(describing: files?["e"]))")
      return
    }
  }

  @Test(
    "each way to fail ends in its error, in time",
    arguments: [
      ("kill -SEGV $$", "killed by SIGSEGV"),
      ("echo oops >&2; kill -ABRT $$", "killed by SIGABRT: oops"),
      ("sleep 3600", "timed out after 1.5 seconds"),
      ("trap '' TERM; while :; do sleep 0.05; done", "timed out after 1.5 seconds"),
      ("exec yes", "timed out after 1.5 seconds"),
    ])
  func faults(code: String, reason: String) async {
    for sideEffect in [SideEffect.read, .write] {
      let result = await Self.run(code, seconds: 1.5, sideEffect: sideEffect)
      #expect(Self.reason(result) == reason)
      #expect(result == .error(reason: .string(reason), isEffectUnknown: sideEffect == .write))
    }
    #expect(await eventually { folders.isEmpty })
    #expect(await eventually { Processes.ownZombies.isEmpty })
  }

  @Test("outputs that are too much are cut, what is no UTF-8 is repaired")
  func outputs() async {
    let data = Self.data(
      await Self.run("printf 'a\\377b'; yes | head -c 5000 >&2") {
        $0.outputLimitBytes = 100
      })
    #expect(data["stdout"] == "a\u{fffd}b")
    #expect(data["stderr"] == .cut(bytes: 5_000, head: String(repeating: "y\n", count: 50)))
  }

  @Test("a program cannot reach the network where the system can keep it from it")
  func network() async throws {
    guard await Self.isOfflinePossible() else {
      // Then the result says so, and whoever requires it gets nothing.
      let refused = await Self.run("touch ran") { $0.network = .requiredOff }
      #expect(Self.reason(refused).contains("cannot keep a program from the network"))
      return
    }
    // /proc/net/dev names each interface: only the loopback is left, and that is down.
    let interfaces = "tail -n +3 /proc/self/net/dev | cut -d: -f1 | tr -d ' ' | sort | tr '\\n' ' '"
    let held = Self.data(await Self.run(interfaces) { $0.network = .requiredOff })
    #expect(held["stdout"] == "lo ")
    let open = Self.data(await Self.run(interfaces) { $0.network = .on })
    #expect(open["network"] == nil && open["exitCode"] == 0)
  }

  /// What keeps this system from giving programs all that is asked for; `nil` where nothing does.
  private static func lack() async -> String? {
    let result = await run("true") { $0.isolation = .required }
    if case .ok = result { return nil }
    return reason(result)
  }

  @Test(
    "a system that cannot isolate a program runs none of them, unless the tool says otherwise",
    .enabled("this system can isolate programs") { await lack() != nil })
  func lacking() async throws {
    let lack = try #require(await Self.lack())
    #expect(lack.hasPrefix("not started: this system cannot keep a program from its files"))
    #expect(lack.contains(": ") && lack.contains("isolation: best"))
    let data = Self.data(await Self.run("echo ran"))
    #expect(data["stdout"] == "ran\n" && data["notIsolated"]?.arrayValue?.isEmpty == false)
  }

  @Test(
    "a program sees a read-only system, and of the user's files nothing",
    .enabled("this system cannot isolate programs") { await lack() == nil })
  func root() async throws {
    let folder = try TemporaryFolder()
    try folder.write("secret", "hunter2")
    let home = ProcessInfo.processInfo.environment["HOME"] ?? "/root"
    let data = Self.data(
      await Self.run(
        """
        cat \(folder.path("secret")) 2>/dev/null; ls \(home) 2>/dev/null; ls /root /work /var 2>/dev/null
        for place in / /usr /etc /dev /home; do (: > $place/written) 2>/dev/null && echo "wrote $place"; done
        ls /proc | grep -c '^[0-9]'; ls -A ~; pwd; ls -A /tmp | sort
        """
      ) { $0.isolation = .required })
    #expect(data["exitCode"] == 0 && data["notIsolated"] == nil)
    let lines = data["stdout"]?.stringValue?.split(separator: "\n").map(String.init) ?? []
    // Its own processes alone, its program, its home.
    #expect(Int(lines.first ?? "") ?? 99 < 8, "\(lines)")
    #expect(lines.dropFirst() == ["program.sh", "/home/agent", "program.sh"], "\(lines)")
  }

  @Test(
    "what is made visible is there, read-only",
    .enabled("this system cannot isolate programs") { await lack() == nil })
  func visible() async throws {
    let folder = try TemporaryFolder()
    try folder.write("data/table", "a table")
    let data = Self.data(
      await Self.run("cat \(folder.path("data/table")); echo x > \(folder.path("data/table"))") {
        $0.visible = [folder.path("data")]
      })
    #expect(data["stdout"] == "a table" && data["exitCode"] != 0)
    #expect(folder.text("data/table") == "a table")
  }

  @Test(
    "all that a program writes has room up to its quota, and no further",
    .enabled("this system cannot isolate programs") { await lack() == nil })
  func quota() async throws {
    let data = Self.data(
      await Self.run(
        "for n in 1 2 3 4; do head -c 400000 /dev/zero > $n 2>/dev/null || echo full; done; "
          + "i=0; while true 2>/dev/null > f$i; do i=$((i+1)); test $i -lt 9999 || break; done; echo $i"
      ) { $0.quotaBytes = 1 << 20 })
    let lines = data["stdout"]?.stringValue?.split(separator: "\n") ?? []
    #expect(lines.filter { $0 == "full" }.count == 2, "\(data)")
    #expect(Int(lines.last ?? "") ?? 9999 < 2_000, "\(data)")
  }

  @Test(
    "a program cannot win rights back, nor reach the processes outside",
    .enabled("this system cannot isolate programs") { await lack() == nil })
  func rights() async throws {
    let data = Self.data(
      await Self.run(
        "grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status | tr -d '\\t' | sort -u; "
          + "kill -0 \(getpid()) 2>/dev/null && echo reached; mount -t tmpfs x /mnt 2>/dev/null && echo mounted; :"
      ))
    #expect(
      data["stdout"]
        == "CapBnd:0000000000000000\nCapEff:0000000000000000\nCapPrm:0000000000000000\nNoNewPrivs:1\n",
      "\(data)")
  }

  @Test(
    "what a program leaves running ends with it, also in a session of its own",
    .enabled("this system makes no namespaces") { await isOfflinePossible() })
  func leftBehind() async throws {
    let mark = "3\(getpid())\(UInt32.random(in: 100_000...999_999))"
    let data = Self.data(
      await Self.run(
        "setsid sleep \(mark) >/dev/null 2>&1 & (sleep \(mark) &) ; sleep 0.2; echo done"))
    #expect(data["stdout"] == "done\n")
    #expect(await eventually { Self.processes(with: mark).isEmpty })
    _ = await Self.run("setsid sleep \(mark) & sleep \(mark)", seconds: 1)
    #expect(await eventually { Self.processes(with: mark).isEmpty })
  }

  private static func processes(with mark: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).filter { name in
      guard Int(name) != nil,
        let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
      else { return false }
      return String(decoding: line, as: UTF8.self).contains(mark)
    }
  }

  @Test("memory, processor time, processes and files are limited")
  func limits() async {
    let memory = await Self.run(
      "head -c 300000000 /dev/zero | tail -c 300000000 >/dev/null; echo $?"
    ) {
      $0.limits.memoryBytes = 100 << 20
    }
    #expect(Self.data(memory)["stdout"] != "0\n")
    let busy = await Self.run("while :; do :; done") { $0.limits.cpuSeconds = 1 }
    #expect(Self.reason(busy).hasPrefix("killed by SIG"))
    let large = await Self.run("trap '' XFSZ; head -c 100000 /dev/zero > a; wc -c < a") {
      $0.limits.fileBytes = 5_000
    }
    #expect(Self.data(large)["stdout"] == "5000\n")
    let many = "i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done; wait"
    let bomb = await Self.run(many, { $0.maxProcesses = 20 }, seconds: 50)
    // Whether the system refuses the next one or the call is ended, it does not go on.
    let text = Self.reason(bomb)
    #expect(text == "more than 20 processes" || text.contains("fork"), "\(text)")
  }

  @Test("a program sees its own folder as home, and no variable that its tool does not name")
  func surroundings() async {
    setenv("AGENT_EVAL_TEST_SECRET", "hunter2hunter2", 1)
    defer { unsetenv("AGENT_EVAL_TEST_SECRET") }
    let data = Self.data(
      await Self.run("test \"$HOME\" = \"$PWD\" && test \"$TMPDIR\" = \"$PWD\" && echo same; env"))
    #expect(data["stdout"]?.stringValue?.hasPrefix("same\n") == true)
    #expect(data["stdout"]?.stringValue?.contains("hunter2") == false)
  }

  @Test("a program that nests folders without end leaves none behind")
  func deepFolders() async {
    let data = Self.data(
      await Self.run(
        "d=$(printf '%0100d' 0); mkdir $d; i=0; while [ $i -lt 400 ]; do mkdir x && mv $d x/ && mv x $d || exit 1; i=$((i+1)); done; chmod 0 $d; echo done"
      ))
    #expect(data["stdout"] == "done\n")
    #expect(await eventually { folders.isEmpty })
  }

  @Test("an interpreter that is not there, and an input without code, are errors")
  func startFaults() async {
    let missing = await Self.run("x") { $0.interpreter = ["no-such-interpreter"] }
    #expect(
      Self.reason(missing) == "cannot start “no-such-interpreter”: not found, or no program")
    let tool = CodeTool(
      CodeDefinition(interpreter: ["/bin/sh"]), folder: ".", clock: SystemClock(),
      cancellation: Cancellation())
    let answer = await tool.run(
      ToolRequest(callId: "c", tool: ToolDefinition(name: "t"), input: [:], idempotencyKey: "k"))
    #expect(Self.reason(answer.result) == "the input has no text “code”")
  }

  @Test("Python runs where it is there")
  func python() async {
    let result = await Self.run("import sys, os\nprint(sum(range(10)))\nsys.exit(4)") {
      $0.interpreter = ["python3", "-I"]
      $0.fileName = "program.py"
    }
    if Self.reason(result).contains("not found") { return }
    #expect(Self.data(result)["stdout"] == "45\n" && Self.data(result)["exitCode"] == 4)
  }

  @Test("a signal cuts a program off")
  func cancelled() async {
    let cancellation = Cancellation()
    async let result = Self.run("sleep 3600", cancellation: cancellation)
    try? await Task.sleep(for: .milliseconds(700))
    cancellation.cancel(signal: "SIGINT")
    #expect(Self.reason(await result) == "cancelled by SIGINT")
    #expect(await eventually { folders.isEmpty })
  }
}
