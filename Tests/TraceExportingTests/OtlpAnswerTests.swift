import AgentTrace
import Testing
import TraceExporting

@Suite("What servers of traces answer")
struct OtlpAnswerTests {
  @Test(
    "what is no answer says nothing",
    arguments: [
      [], [0x0a], [0x0a, 0x7f], [0x08, 0x05], [0x0a, 0x02, 0x08], [0xff, 0xff, 0xff],
      [0x0a, 0x0b, 0x08] + Array(repeating: 0xff, count: 9) + [0x01],
      Array(repeating: 0x80, count: 100), Array(#"{"partialSuccess":{"rejectedSpans":-3}}"#.utf8),
      Array(#"{"partialSuccess":[]}"#.utf8), Array("[1,2]".utf8), Array("none".utf8),
    ] as [[UInt8]])
  func none(_ body: [UInt8]) {
    #expect(OtlpAnswer(body, isJSON: false).rejectedSpans == 0)
    #expect(OtlpAnswer(body, isJSON: true).rejectedSpans == 0)
  }

  @Test("a part that was not taken is told in both forms, beside fields that are not known")
  func part() {
    let bytes: [UInt8] =
      [0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 1, 2, 3, 4, 0x0a, 0x07, 0x20, 0x01, 0x08, 0xac, 0x02]
      + [0x12, 0x00]
    #expect(OtlpAnswer(bytes, isJSON: false).rejectedSpans == 300)
    for count in ["300", #""300""#] {
      let text = #"{"partialSuccess":{"rejectedSpans":\#(count),"errorMessage":"full"},"x":1}"#
      let answer = OtlpAnswer(Array(text.utf8), isJSON: true)
      #expect(answer.rejectedSpans == 300 && answer.message == "full")
    }
  }
}
