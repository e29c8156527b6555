/// Text that a model may have put into a fence of backticks.
package enum FencedText {
  /// The text within a fence of backticks, where there is one around it all.
  package static func unfenced(_ text: String) -> String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
    var bytes = Array(text.utf8)[...]
    bytes = bytes.drop(while: isBlank)
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    let fence = Array("```".utf8)
    guard bytes.count >= 6, bytes.starts(with: fence), bytes.suffix(3).elementsEqual(fence),
      let line = bytes.firstIndex(of: UInt8(ascii: "\n")), line < bytes.endIndex - 3
    else { return String(decoding: bytes, as: UTF8.self) }
    return String(decoding: bytes[(line + 1)..<(bytes.endIndex - 3)], as: UTF8.self)
  }
}
