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

  @Test(
    "a member that is null beside the other one of a reply says nothing",
    arguments: [
      (#"{"jsonrpc":"2.0","id":1,"result":{"n":1},"error":null}"#, true),
      (#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#, true),
      (#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"no"}}"#, false),
      (#"{"jsonrpc":"2.0","id":1,"error":null}"#, false),
    ])
  func nullMembers(text: String, isResult: Bool) throws {
    guard case .reply(1, let reply) = IncomingMessage(try JSONValue(parsing: text)) else {
      Issue.record("no reply")
      return
    }
    if case .result = reply {
      #expect(isResult)
    } else {
      #expect(!isResult)
    }
  }

  @Test("the messages of a batch are messages, each by itself")
  func batch() throws {
    let text = #"[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2,"result":{}},7]"#
    let messages = IncomingMessage.all(in: try JSONValue(parsing: text))
    #expect(messages.count == 3)
    guard messages.count == 3, case .notification = messages[0], case .reply(2, _) = messages[1],
      case .other = messages[2]
    else {
      Issue.record("other messages")
      return
    }
  }
}
