import AgentRuntime
import AgentTrace
import EvalLoading
import TestSupport
import Testing

@Suite("Models of providers in agent files")
struct ProviderFileTests {
  private static func load(_ model: String) -> Loaded<AgentDefinition> {
    let lines = model.split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)" }
    return AgentLoader.load(
      Array(("name: a\nmodel:\n" + lines.joined(separator: "\n") + "\n").utf8), path: "a.yaml")
  }

  private static func provider(_ model: String) throws -> ProviderModel {
    let loaded = load(model)
    #expect(loaded.diagnostics.filter { $0.severity == .error }.map(\.description) == [])
    guard case .provider(let provider)? = loaded.value?.model.implementation else {
      throw Missing()
    }
    return provider
  }

  private struct Missing: Error {}

  @Test(
    "what is left out is the vendor's own",
    arguments: [
      ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
      ("openai-responses", "https://api.openai.com/v1", "OPENAI_API_KEY"),
      ("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    ])
  func defaults(provider: String, url: String, variable: String) throws {
    let model = try Self.provider("provider: \(provider)\nname: m")
    #expect(model == ProviderModel(dialect: try #require(Dialect(rawValue: provider))))
    #expect(model.baseURL == url && model.keyVariable == variable)
    #expect(model.settings == GenerationSettings() && model.prices == nil && model.streams)
    let local = try Self.provider("provider: \(provider)\nname: m\nbaseUrl: http://127.0.0.1:1/v1")
    #expect(local.keyVariable == nil)
  }

  @Test("every key has its place")
  func keys() throws {
    let model = try Self.provider(
      """
      provider: openai
      name: m
      baseUrl: https://example.com/v1
      keyFrom: A_KEY
      headers: {X-A: b}
      headersFrom: {X-C: D}
      stream: false
      maxOutputTokens: 9
      temperature: 0
      topP: 0.5
      seed: 4
      stop: [x]
      toolChoice: {tool: t, steps: 2}
      parallelToolCalls: false
      reasoning: {effort: low}
      options: {service_tier: flex}
      prices: {input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 4}
      timeouts: {connectSeconds: 1, firstByteSeconds: 2, idleSeconds: 3, totalSeconds: 4}
      requestsPerMinute: 60
      tokensPerMinute: 1000
      """)
    var settings = GenerationSettings(
      maxOutputTokens: 9, temperature: 0, topP: 0.5, seed: 4, stop: ["x"], toolChoice: .tool("t"),
      parallelToolCalls: false)
    settings.reasoning = .init(effort: "low")
    settings.options = ["service_tier": "flex"]
    #expect(
      model
        == ProviderModel(
          dialect: .openai, baseURL: "https://example.com/v1", keyVariable: "A_KEY",
          headers: [
            .init(name: "X-A", value: .text("b")), .init(name: "X-C", value: .variable("D")),
          ], streams: false, settings: settings, toolChoiceSteps: 2,
          prices: .init(input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 4),
          timeouts: .init(connect: 1, firstByte: 2, idle: 3, total: 4), requestsPerMinute: 60,
          tokensPerMinute: 1000))
    #expect(model.variables == ["A_KEY", "D"])
  }

  @Test(
    "a mistake is told at its line, with what would be right",
    arguments: [
      ("provider: openay\nname: m", "3:13", "did you mean “openai”?"),
      ("provider: mistral\nname: m", "3:13", "with their baseUrl"),
      ("provider: openai", "3:3", "the key “name” is missing"),
      ("provider: openai\nname: m\nscript: []", "5:3", "unknown key “script”"),
      ("provider: openai\nname: m\nbaseURL: http://x", "5:3", "did you mean “baseUrl”?"),
      ("provider: openai\nname: m\nbaseUrl: x", "5:12", "begins with http://"),
      ("provider: openai\nname: m\nbaseUrl: \"https://u:p@x/\"", "5:12", "without user"),
      ("provider: openai\nname: m\nheaders: {\"a b\": c}", "5:", "no name of a header"),
      ("provider: openai\nname: m\nheaders: {a: \"b\\nc\"}", "5:", "printable ASCII"),
      ("provider: openai\nname: m\nheaders: {a: b}\nheadersFrom: {A: B}", "3:3", "stands twice"),
      (
        "provider: openai\nname: m\ntoolChoice: {steps: 1}", "5:15",
        "needs either “tool” or “choice”"
      ),
      ("provider: openai\nname: m\ntoolChoice: any", "5:15", "auto, none or required"),
      ("provider: anthropic\nname: m\nseed: 1", "3:3", "nothing that provider: anthropic takes"),
      (
        "provider: openai\nname: m\nreasoning: {budgetTokens: 1}", "3:3", "only provider: anthropic"
      ),
      ("provider: bedrock\nname: m\nseed: 1", "3:3", "nothing that provider: bedrock takes"),
      ("provider: bedrock\nname: m\nreasoning: {}", "3:3", "provider: bedrock is an effort"),
      (
        "provider: bedrock\nname: m\ntoolChoice: none", "3:3",
        "nothing that provider: bedrock takes"
      ),
      ("provider: openai\nname: m\ntimeouts: {totalSeconds: 0}", "5:", "above 0"),
    ])
  func mistakes(model: String, place: String, words: String) {
    let loaded = Self.load(model)
    #expect(loaded.value == nil)
    let told = loaded.diagnostics.map(\.description)
    #expect(told.contains { $0.contains("a.yaml:\(place)") && $0.contains(words) }, "\(told)")
  }

  @Test("a key in the place of its variable's name is not repeated")
  func keyInFile() {
    let told = Self.load("provider: openai\nname: m\nkeyFrom: sk-abc-123").diagnostics
      .map(\.description)
    #expect(told.count == 1)
    #expect(!told[0].contains("abc") && told[0].contains("belongs in no file"))
  }

  @Test("a tool that is forced and that the agent lacks is a warning")
  func unknownTool() {
    let loaded = Self.load("provider: openai\nname: m\ntoolChoice: {tool: lookup}")
    #expect(loaded.value != nil)
    #expect(loaded.diagnostics.count == 1)
  }
}
