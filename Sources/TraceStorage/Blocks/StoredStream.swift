/// A deflate stream that compresses nothing (RFC 1951, 3.2.4): each of its bytes stands for less than one of the text.
enum StoredStream {
  /// The most bytes of a stored block.
  private static let pieceBytes = 65_535

  /// Appends what stands for some bytes, behind a byte boundary and up to one.
  static func append(_ bytes: [UInt8], flush: Deflater.Flush, to output: inout [UInt8]) {
    var start = 0
    while start < bytes.count {
      let end = min(start + pieceBytes, bytes.count)
      append(bytes[start..<end], isLast: false, to: &output)
      start = end
    }
    switch flush {
    case .none: break
    case .sync: append([], isLast: false, to: &output)
    case .finish: append([], isLast: true, to: &output)
    }
  }

  private static func append(_ piece: ArraySlice<UInt8>, isLast: Bool, to output: inout [UInt8]) {
    let length = UInt16(truncatingIfNeeded: piece.count)
    output.append(isLast ? 1 : 0)
    output.appendLittleEndian(length)
    output.appendLittleEndian(~length)
    output += piece
  }
}
