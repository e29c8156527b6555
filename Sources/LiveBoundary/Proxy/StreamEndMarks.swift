import CZlib

/// Whether a streamed reply may be at its end, by the marks of the dialects, before it has been read.
///
/// A text that holds a mark by chance only makes the next request of the same conversation wait a moment for the
/// reply to be read.
struct StreamEndMarks {
  private static let marks = [
    "[DONE]", "message_stop", "response.completed", "response.incomplete", "response.failed",
    "finishReason", "\"done\":true", "\"done\": true", "messageStop",
  ].map { Array($0.utf8) }
  private static let longest = marks.map(\.count).max() ?? 0

  /// The last bytes that came, so that a mark may come in two pieces.
  private var tail: [UInt8] = []

  /// Takes in a piece; whether it may bring the end.
  ///
  /// - Complexity: linear in the piece.
  mutating func isEnding(with piece: [UInt8]) -> Bool {
    let bytes = tail + piece
    tail = Array(bytes.suffix(Self.longest - 1))
    return Self.marks.contains { memmem(bytes, bytes.count, $0, $0.count) != nil }
  }
}
