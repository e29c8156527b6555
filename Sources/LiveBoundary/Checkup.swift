public import AgentRuntime
import AgentTrace
import FilePaths
import Glibc

/// Looks whether what a run needs is there: keys, servers, proxies, a sandbox, the right time.
public struct Checkup: Sendable {
  /// What was found of one thing.
  public struct Finding: Sendable, Hashable {
    /// What it means for a run.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      /// It is as it should be.
      case fine
      /// It is worth knowing.
      case note
      /// A run would not go well.
      case problem
    }

    /// What it means for a run.
    public var kind: Kind
    /// What was looked at, in a word or two: `key`, `model`, `server`.
    public var subject: String
    /// What was found, and for a problem what mends it. No value of a variable is in it.
    public var words: String

    /// The words must hold no value of a variable.
    public init(_ kind: Kind, _ subject: String, _ words: String) {
      self.kind = kind
      self.subject = subject
      self.words = words
    }
  }

  private let cancellation: Cancellation
  private let tell: @Sendable (Finding) -> Void

  /// - Parameters:
  ///   - cancellation: What ends the checkup early.
  ///   - tell: is told each finding as it is made, in a fixed order.
  public init(until cancellation: Cancellation, tell: @escaping @Sendable (Finding) -> Void) {
    self.cancellation = cancellation
    self.tell = tell
  }

  // MARK: The machine

  /// Looks at what all runs share.
  public func look() {
    let stack = LiveBoundary.hasHTTP ? "with the HTTP stack" : "without the HTTP stack"
    tell(Finding(.fine, "build", stack))
    tell(
      Finding(.fine, "clock", "it is \(UTC.text(microsecondsSince1970: Self.now * 1_000_000)) here")
    )
    let found = Sandbox.best(offline: true)
    if let lack = found.lack {
      tell(
        Finding(
          .note, "sandbox",
          "programs that models write cannot be kept apart here: \(lack); tools with `code` do not run "
            + "unless they say `isolation: best`"))
    } else {
      tell(Finding(.fine, "sandbox", "programs that models write can be kept apart"))
    }
    lookAround()
  }

  private static var now: Int { Int(time(nil)) }

  private func lookAround() {
    let surroundings = HTTPSurroundings.ofThisProcess
    for scheme in ["https", "http"] {
      guard let address = HTTPAddress("\(scheme)://agent-eval.invalid/") else { continue }
      do {
        guard let proxy = try surroundings.proxy(for: address) else { continue }
        tell(
          Finding(
            .note, "proxy",
            "\(scheme):// goes by way of \(proxy.host):\(proxy.port) (\(proxy.variable)), but for "
              + "loopback and NO_PROXY"))
      } catch {
        tell(Finding(.problem, "proxy", "\(error)"))
      }
    }
    #if Live
      for path in [surroundings.authorityFile, surroundings.authorityFolder].compactMap({ $0 }) {
        lookAt(authorities: path, "in place of the system's")
      }
    #endif
  }

  #if Live
    private func lookAt(authorities path: String, _ words: String) {
      do {
        let count = try HTTPAuthorities.certificates(at: path).count
        let noun = count == 1 ? "authority" : "authorities"
        tell(Finding(.note, "trust", "\(count) \(noun) of \(path), \(words)"))
      } catch {
        tell(Finding(.problem, "trust", "\(error)"))
      }
    }
  #endif

  // MARK: An agent

  /// Looks at what an agent needs, and asks each of its models and servers once.
  public func look(at agent: AgentDefinition) async {
    lookForVariables(of: agent)
    if let command = agent.command {
      lookAt(command)
    } else {
      await ask(agent.model, "model")
    }
    if let person = agent.human?.model { await ask(person.model, "person") }
    for registration in agent.sources { await ask(agent, registration) }
    for tool in agent.tools {
      guard case .code(let code) = tool.implementation, let fault = code.fault(in: code.sandbox)
      else { continue }
      tell(Finding(.problem, "tool", "\(tool.definition.name): \(fault)"))
    }
  }

  private func lookForVariables(of agent: AgentDefinition) {
    var seen: [String] = []
    let named =
      agent.modelVariables.map { ($0.need, $0.variable) }
      + agent.sources.flatMap { source in
        source.variables.map { ("the server “\(source.name)”", $0) }
      }
      + agent.tools.flatMap { tool in
        tool.variables.map { ("the tool “\(tool.definition.name)”", $0) }
      } + (agent.command?.environment.pass ?? []).map { ("the command", $0) }
    for (need, variable) in named where !seen.contains(variable) {
      seen.append(variable)
      let isSet = ProcessVariables[variable]?.isEmpty == false
      tell(
        isSet
          ? Finding(.fine, "key", "\(variable) is set")
          : Finding(.problem, "key", "\(variable), which \(need) needs, is not set: export it"))
    }
  }

  private func lookAt(_ command: CommandAgent) {
    let folder = CommandTool.absolute(command.folder)
    guard isFolder(folder) else {
      return tell(Finding(.problem, "command", "its folder \(command.folder) is not there"))
    }
    let name = command.arguments.first ?? ""
    let paths =
      name.utf8.contains(UInt8(ascii: "/"))
      ? [name.utf8.first == UInt8(ascii: "/") ? name : "\(folder)/\(name)"]
      : CommandVariables(command.environment).paths(of: name)
    guard let path = paths.first(where: { access($0, X_OK) == 0 }) else {
      return tell(
        Finding(.problem, "command", "\(name) is not found: install it, or name it by its path"))
    }
    tell(Finding(.fine, "command", "\(name) is \(path)"))
  }

  private func ask(_ model: ModelDefinition, _ subject: String) async {
    switch model.implementation {
    case .scripted: return tell(Finding(.fine, subject, "a script; nobody is asked"))
    case .command, .model: return
    case .provider(let provider): await ask(provider, model, subject)
    }
  }

  private func ask(
    _ provider: ProviderModel, _ model: ModelDefinition, _ subject: String
  ) async {
    #if Live
      if let path = provider.authorityFile {
        lookAt(authorities: path, "besides the usual ones, for \(model.name)")
      }
      await compareClocks(provider)
      let request = ModelRequest(
        step: 1, tryNumber: 1, attempt: 1, number: 1, goal: "",
        messages: [
          ["role": "user", "content": [["type": "text", "text": "Reply with the word ok."]]]
        ])
      let answer = await HTTPModel(
        provider, name: model.name, clock: SystemClock(cancellation: cancellation),
        cancellation: cancellation
      ).reply(to: request)
      if let error = answer.error {
        return tell(Finding(.problem, subject, "\(model.name): \(error)"))
      }
      let seconds = Double(answer.elapsedMicroseconds / 10_000) / 100
      let version = answer.modelVersion.map { $0 == model.name ? "" : " (\($0))" } ?? ""
      tell(
        Finding(.fine, subject, "\(model.name)\(version) replied after \(seconds) seconds"))
      if provider.prices == nil {
        tell(
          Finding(
            .note, subject,
            "\(model.name) has no prices: cost is unknown, and limits of it mean nothing"))
      }
    #else
      tell(
        Finding(
          .problem, subject, "\(model.name) cannot be asked by a build without the HTTP stack"))
    #endif
  }

  #if Live
    /// Whoever is minutes off has certificates and signatures refused.
    private func compareClocks(_ provider: ProviderModel) async {
      var call = HTTPCall(
        method: "GET", url: provider.baseURL,
        timeouts: HTTPTimeouts(connect: 5, firstByte: 10, idle: 10, total: 10))
      call.authorityFile = provider.authorityFile
      // That nobody answers, the model itself will tell.
      let date = try? await HTTPConnector.shared.perform(call) { head, _ in head.headers["date"] }
      guard let date = date ?? nil, let theirs = HTTPDate.secondsSince1970(date) else { return }
      let difference = Self.now - theirs
      guard abs(difference) > 120 else { return }
      tell(
        Finding(
          .problem, "clock",
          "this machine is \(abs(difference)) seconds \(difference > 0 ? "ahead of" : "behind") "
            + "\(provider.baseURL): set its clock"))
    }
  #endif

  private func ask(_ agent: AgentDefinition, _ registration: SourceRegistration) async {
    let source = LiveBoundary.source(
      for: registration, folder: agent.folder, clock: SystemClock(cancellation: cancellation),
      cancellation: cancellation)
    let offer = await source?.list() ?? ToolOffer(error: "nobody here can ask it")
    await source?.close()
    if let error = offer.error {
      return tell(Finding(.problem, "server", "\(registration.name): \(error)"))
    }
    let server = ["name", "version", "protocol"].compactMap { offer.server[$0]?.stringValue }
      .filter { !$0.isEmpty }.joined(separator: " ")
    let names = offer.tools.prefix(20).map(\.name).joined(separator: ", ")
    tell(
      Finding(
        .fine, "server",
        "\(registration.name)\(server.isEmpty ? "" : " (\(server))") has \(offer.tools.count) \(offer.tools.count == 1 ? "tool" : "tools"): "
          + "\(names)\(offer.tools.count > 20 ? " …" : "")"))
  }
}
