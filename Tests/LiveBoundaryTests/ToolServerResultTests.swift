import AgentRuntime
import AgentTrace
import Testing

@testable import LiveBoundary

@Suite("What a result of a tool server says")
struct ToolServerResultTests {
  @Test(
    "a result that does not say plainly that its tool succeeded is an error",
    arguments: [
      (#"{"content":[{"type":"text","text":"a"}]}"#, true),
      (#"{"content":[],"isError":false}"#, true), (#"{"content":null,"isError":null}"#, true),
      (#"{"structuredContent":{"n":1}}"#, true), (#"{"content":[],"isError":true}"#, false),
      (#"{"content":[{"type":"text","text":"a"}],"isError":"true"}"#, false),
      (#"{"content":[],"isError":1}"#, false), (#"{"content":"a"}"#, false),
      (#"{"content":{"type":"text","text":"a"}}"#, false), (#""a""#, false),
      (#"{"resultType":"input_required"}"#, false),
    ])
  func results(text: String, isOk: Bool) throws {
    let result = MCPContent.result(of: try JSONValue(parsing: text))
    if case .ok = result {
      #expect(isOk)
    } else {
      #expect(!isOk)
    }
  }
}
