import AgentRuntime
import AgentTrace
import TestSupport
import Testing

@testable import LiveBoundary

@Suite("Replies as the proxy reads them")
struct ReadReplyTests {
  private static let document =
    #"{"choices":[{"finish_reason":"stop","index":0,"message":{"content":"done","role":"assistant"}}]}"#
  private static let stream =
    #"data: {"choices":[{"delta":{"content":"done"},"finish_reason":"stop","index":0}]}"#
    + "\n\ndata: [DONE]\n\n"

  private static func read(
    _ body: String, _ type: String, _ ending: WireReply.Completeness
  ) -> ReadReply {
    ReadReply(
      WireReply(
        status: 200, headers: [("content-type", type)], pieces: [Array(body.utf8)], ending: ending),
      .openai)
  }

  @Test(
    "a document that broke off is no answer, whatever came of it; a stream that has its last event is one"
  )
  func brokenOff() {
    let whole = Self.read(Self.document, "application/json", .whole)
    #expect(whole.reply != nil && whole.error == nil && whole.unread == nil)
    let cut = Self.read(Self.document, "application/json; charset=utf-8", .cut)
    #expect(cut.reply == nil && cut.error != nil)
    // Its client may have read it all the same.
    #expect(cut.unread != nil)
    for ending in [WireReply.Completeness.whole, .cut] {
      let read = Self.read(Self.stream, "text/event-stream", ending)
      #expect(read.reply != nil && read.error == nil, "\(ending): \(read.error ?? "")")
    }
  }
}
