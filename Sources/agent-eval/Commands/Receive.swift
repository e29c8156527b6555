import ArgumentParser
import Glibc
import LiveBoundary
import TraceReceiving
import TraceReporting

/// Takes in what agents' exporters post, and makes run logs of it.
struct Receive: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "receive",
    abstract: "Take in traces over the network, and judge each run as it ends.",
    discussion: """
      Takes OTLP over HTTP at /v1/traces and /v1/logs, in protocol buffers and JSON, and what Langfuse's, LangSmith's \
      and the OpenAI Agents SDK's own exporters post. What was answered with success is on the disk. Ends with 0 \
      behind SIGINT or SIGTERM, once everything that was taken in is written; with 2 where that cannot be done.
      """
        + Example.list([
          "receive traces/": "take in what exporters on this machine post to port 4318",
          "receive traces/ --rules rules.yaml --on-failure ./tell.sh":
            "judge each run as it ends, and tell of those that fail",
        ]))

  @Argument(help: "The folder for the logs.", completion: .directory)
  var folder: String

  @Option(help: ArgumentHelp("Where to listen.", valueName: "host:port"))
  var listen = "127.0.0.1:4318"

  @Option(
    help: ArgumentHelp(
      "The environment variable with the token that senders show; asked for beyond this machine.",
      valueName: "name"))
  var tokenEnv: String?

  @Option(
    help: ArgumentHelp(
      "Judge each run by these cases, which name neither a run nor an agent.",
      valueName: "rules.yaml"), completion: .file())
  var rules: String?

  @Option(
    help: ArgumentHelp(
      """
      With --rules: where outcomes are added, a line of JSON a run. Default: .receive/results.jsonl in the folder.
      """, valueName: "file"), completion: .file())
  var results: String?

  @Option(
    help: ArgumentHelp(
      "With --rules: a shell command for each run that fails, with its outcomes as JSON on its standard input.",
      valueName: "command"))
  var onFailure: String?

  @Option(
    help: ArgumentHelp(
      "With --rules: where the outcomes of each run that fails are posted as JSON.",
      valueName: "url"))
  var onFailureUrl: String?

  @Option(
    help: ArgumentHelp(
      "Seconds without news behind which a run is written whose root has ended.",
      valueName: "seconds"))
  var settleSeconds = 2.0

  @Option(
    help: ArgumentHelp(
      "Seconds without news behind which any other run is written, as open.", valueName: "seconds"))
  var idleSeconds = 60.0

  @Option(
    help: ArgumentHelp(
      "Seconds that what a written run was made of is kept, so that late spans make a new version of it.",
      valueName: "seconds"))
  var keepSeconds = 3_600.0

  @Option(
    help: ArgumentHelp(
      "The most MiB that are kept of what came in; beyond it senders are told to wait.",
      valueName: "mib"))
  var spoolMib = 1_024

  @Flag(help: "Print a line of JSON for each run and each outcome.")
  var json = false

  func validate() throws {
    if folder.isEmpty { throw ValidationError("The folder's path is empty.") }
    try results.map(OutputOption.check)
    let address = try address()
    if rules == nil {
      for (value, name) in [
        (results, "--results"), (onFailure, "--on-failure"), (onFailureUrl, "--on-failure-url"),
      ] where value != nil {
        throw ValidationError("\(name) goes with --rules.")
      }
    }
    if let onFailureUrl, HTTPAddress(onFailureUrl) == nil {
      throw ValidationError("--on-failure-url takes a URL of http or https.")
    }
    for (value, name) in [
      (settleSeconds, "--settle-seconds"), (idleSeconds, "--idle-seconds"),
      (keepSeconds, "--keep-seconds"),
    ] where !(0...31_536_000).contains(value) {
      throw ValidationError("\(name) takes 0 to 31536000.")
    }
    guard (16...1_048_576).contains(spoolMib) else {
      throw ValidationError("--spool-mib takes 16 to 1048576.")
    }
    guard address.isLoopback || tokenEnv != nil else {
      throw ValidationError(
        "--listen leads beyond this machine: name the variable with the token that senders show, "
          + "--token-env NAME.")
    }
  }

  func run() async throws {
    try LiveBuild.require(for: "receiving")
    #if Live
      let token = try token()
      let address = try address()
      let judge = try rules.map {
        try ReceivedJudge(
          rules: $0, results: results ?? "\(folder)/.receive/results.jsonl",
          notices: FailureNotices(command: onFailure, url: onFailureUrl), isJSON: json)
      }
      var options = Receiver.Options()
      options.settleSeconds = settleSeconds
      options.idleSeconds = idleSeconds
      options.keepSeconds = keepSeconds
      options.spoolLimitBytes = spoolMib << 20
      let receiving = Receiving(
        receiver: try Receiver(folder: folder, options: options),
        access: ReceiverAccess(token: token), judge: judge, isJSON: json)
      try await receiving.run(host: address.host, port: address.port, folder: folder)
    #endif
  }

  private func address() throws -> (host: String, port: Int, isLoopback: Bool) {
    guard let address = HTTPAddress("http://\(listen)"), address.target == "/" else {
      throw ValidationError(
        Visible.line("--listen takes host:port, as 127.0.0.1:4318; not “\(listen)”."))
    }
    // A number alone is an address to the system, and to people a port.
    guard !listen.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw ValidationError("--listen takes host:port; of this machine, 127.0.0.1:\(listen).")
    }
    let hasPort = listen.hasSuffix(":\(address.port)")
    let isLoopback =
      address.host == "localhost" || address.host == "::1"
      || address.host.hasPrefix("127.")
        && address.host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2e }
    return (address.host, hasPort ? address.port : 4318, isLoopback)
  }

  private func token() throws -> String? {
    guard let tokenEnv else { return nil }
    guard let token = getenv(tokenEnv).map({ String(cString: $0) }), token.utf8.count >= 16 else {
      throw ReceiveFailure(
        description: Visible.line(
          "the variable \(tokenEnv) holds no token; it takes at least 16 characters"))
    }
    return token
  }
}

/// Why nothing is received, in words.
struct ReceiveFailure: Error, CustomStringConvertible {
  var description: String
}
