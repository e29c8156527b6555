import AgentTrace

/// Where a run came from: enough to name it the same on every import.
struct RunIdentity: Hashable {
  /// A UUID of version 8 (RFC 9562 §5.8).
  var runId: String
  /// The file below the path that was named, as `run_started.source.file` gives it.
  var file: String
  /// The run's number in the file.
  var index: Int?

  /// The id is made of the first 16 bytes of SHA-256 over the file's bytes, a zero byte and the index
  /// in decimal (nothing where the format holds one run a file). Importing twice gives the same id.
  ///
  /// - Parameter fileDigest: has taken in the file's bytes; taken once for all its runs.
  init(fileDigest: DigestBuilder, file: String, index: Int?) {
    var digest = fileDigest
    digest.update([0] + Array((index.map { String($0) } ?? "").utf8))
    runId = Self.uuid(Array(digest.digest().bytes.prefix(16)))
    self.file = file
    self.index = index
  }

  /// Of a run that came in over the network, by its name in the folder that it goes to.
  init(received name: String) {
    let digest = Digest(of: Array("received\u{0}\(name)".utf8))
    runId = Self.uuid(Array(digest.bytes.prefix(16)))
    file = name
  }

  private static func uuid(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
      let byte =
        switch index {
        case 6: byte & 0x0f | 0x80  // Version 8.
        case 8: byte & 0x3f | 0x80  // The variant of RFC 9562.
        default: byte
        }
      text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: text, as: UTF8.self)
  }
}
