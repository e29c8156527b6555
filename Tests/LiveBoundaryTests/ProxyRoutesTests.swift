import AgentRuntime
import Testing

@testable import LiveBoundary

@Suite("Where a proxy passes requests on to")
struct ProxyRoutesTests {
  @Test(
    "where requests go is told by a name, a URL and variables",
    arguments: [
      ("openai=http://h:1/v1", "/openai/v1/x?y", "http://h:1/v1", "/x?y"),
      ("anthropic=http://h/", "/anthropic/v1/messages", "http://h", "/v1/messages"),
      (
        "groq=https://g.example/openai/v1", "/groq/openai/v1/x", "https://g.example/openai/v1",
        "/x"
      ),
    ])
  func routes(asked: String, target: String, url: String, path: String) throws {
    let routes = try ProxyRoutes([asked], variables: { _ in nil })
    let variables = routes.variables(port: 9)
    #expect(variables.contains { $0.value?.hasPrefix("http://127.0.0.1:9/") ?? false })
    let name = try #require(asked.split(separator: "=").first)
    #expect(variables.contains { $0.name == "\(name.uppercased())_BASE_URL" })
    #expect(routes.upstreams.first { $0.name == name }?.url == url)
  }

  @Test(
    "an upstream of another form is an error",
    arguments: [
      "x", "=http://h", "x=h", "x=ftp://h", "a b=http://h", "x=http://h?q", "x=http://u@h",
    ])
  func badRoutes(asked: String) {
    #expect(throws: ProxyRoutes.Fault.self) { try ProxyRoutes([asked], variables: { _ in nil }) }
  }

  @Test("a variable that names a base URL says where requests go")
  func variables() throws {
    let routes = try ProxyRoutes(
      [], variables: { ["OPENAI_API_BASE": "http://local:8080/v1/"][$0] })
    #expect(
      routes.upstreams.map(\.url) == [
        "http://local:8080/v1", "https://api.anthropic.com",
        "https://generativelanguage.googleapis.com", "http://127.0.0.1:11434",
      ])
    for (host, url) in [
      ("0.0.0.0", "http://127.0.0.1:11434"), ("box:8000", "http://box:8000"),
      ("http://box", "http://box"),
    ] {
      let routes = try ProxyRoutes([], variables: { ["OLLAMA_HOST": host][$0] })
      #expect(routes.upstreams.last?.url == url)
    }
    // Nobody's address on Azure is anybody else's.
    let azure = try ProxyRoutes([], variables: { ["AZURE_OPENAI_ENDPOINT": "https://a.b"][$0] })
    #expect(azure.upstreams.contains { $0.name == "azure" && $0.url == "https://a.b" })
    #expect(
      try ProxyRoutes([], asksProviders: false, variables: { _ in nil }).upstreams.contains {
        $0.name == "azure"
      })
    let path = "/azure/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    #expect(
      azure.variables(port: 9).contains {
        $0 == ("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:9/azure")
      })
    #expect(Dialect(path: path) == .openai)
  }

  @Test("Bedrock is where its variable says, or in the region of whoever has credentials for it")
  func bedrock() throws {
    func routes(_ variables: [String: String]) throws -> ProxyRoutes {
      try ProxyRoutes([], variables: { variables[$0] })
    }
    func url(_ variables: [String: String]) throws -> String? {
      try routes(variables).upstreams.first { $0.name == "bedrock" }?.url
    }
    let keys = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
    let token = ["AWS_BEARER_TOKEN_BEDROCK": "t", "AWS_REGION": "eu-central-1"]
    let inRegion = "https://bedrock-runtime.eu-central-1.amazonaws.com"
    #expect(try url([:]) == nil)
    #expect(try url(keys) == nil)
    #expect(try url(["AWS_REGION": "eu-central-1"]) == nil)
    #expect(try url(keys.merging(["AWS_REGION": "eu.evil/x"]) { $1 }) == nil)
    #expect(try url(keys.merging(["AWS_DEFAULT_REGION": "eu-central-1"]) { $1 }) == inRegion)
    #expect(try url(token) == inRegion)
    let own = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
    #expect(try url(token.merging([own: "http://gateway:80/b"]) { $1 }) == "http://gateway:80/b")
    // Clients send a token by HTTPS alone: they sign with keys that are none, unless they have some.
    let hidden = try routes(token).variables(port: 9)
    #expect(hidden.contains { $0 == (own, "http://127.0.0.1:9/bedrock") })
    #expect(hidden.contains { $0.name == "AWS_BEARER_TOKEN_BEDROCK" && $0.value == nil })
    #expect(hidden.contains { $0 == ("AWS_ACCESS_KEY_ID", ProxyRoutes.noKey) })
    for (variables, isHidden) in [
      (keys, false), (keys.merging(token) { $1 }, true),
      (["AWS_BEARER_TOKEN_BEDROCK": "t"], false),
    ] {
      let told = try routes(variables).variables(port: 9)
      #expect(!told.contains { $0.name == "AWS_ACCESS_KEY_ID" })
      #expect(told.contains { $0.name == "AWS_BEARER_TOKEN_BEDROCK" } == isHidden)
    }
    for path in ["/model/x%3A0/converse", "/model/a%2Fb/converse-stream?x=1"] {
      #expect(Dialect(path: "/bedrock" + path) == .bedrock)
    }
    #expect(Dialect(path: "/v1/converse") == nil)
  }
}
