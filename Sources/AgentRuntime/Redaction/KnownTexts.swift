import AgentTrace

/// Texts that are withheld wherever they are said, found in one pass by their first bytes.
struct KnownTexts {
  private struct Entry {
    var bytes: [UInt8]
    var kind: String
  }

  /// How many texts are looked for at most.
  static let limit = 10_000
  /// Whether some text begins with these two bytes.
  private var heads: [Bool] = []
  private var byHead: [UInt32: [Entry]] = [:]
  private var count = 0

  /// Takes in a text of at least four bytes.
  mutating func insert(_ text: String, kind: String) {
    let bytes = Array(text.utf8)
    guard bytes.count >= 4, count < Self.limit else { return }
    let head = bytes.withUnsafeBufferPointer { Self.head(of: $0, at: 0) }
    guard byHead[head]?.contains(where: { $0.bytes == bytes }) != true else { return }
    if heads.isEmpty { heads = [Bool](repeating: false, count: 1 << 16) }
    heads[Int(head & 0xffff)] = true
    // The longest first: one may begin with another.
    byHead[head, default: []].append(Entry(bytes: bytes, kind: kind))
    byHead[head]?.sort { $0.bytes.count > $1.bytes.count }
    count += 1
  }

  /// Where they stand, by places from the start of the slice on.
  func findings(in slice: ArraySlice<UInt8>) -> [CredentialScanner.Finding] {
    guard count > 0, slice.count >= 4 else { return [] }
    return slice.withUnsafeBufferPointer { text in
      var findings: [CredentialScanner.Finding] = []
      var index = 0
      while index + 4 <= text.count {
        let two = Int(text[index]) | Int(text[index + 1]) << 8
        guard heads[two], let entry = entry(in: text, at: index) else {
          index += 1
          continue
        }
        findings.append(.init(range: index..<(index + entry.bytes.count), kind: entry.kind))
        index += entry.bytes.count
      }
      return findings
    }
  }

  private func entry(in text: UnsafeBufferPointer<UInt8>, at index: Int) -> Entry? {
    byHead[Self.head(of: text, at: index)]?.first { entry in
      text.count - index >= entry.bytes.count
        && text[index..<(index + entry.bytes.count)].elementsEqual(entry.bytes)
    }
  }

  private static func head(of text: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt32 {
    UInt32(text[index]) | UInt32(text[index + 1]) << 8 | UInt32(text[index + 2]) << 16
      | UInt32(text[index + 3]) << 24
  }
}
