/// Finding bytes in bytes.
enum Substring {
  /// Whether the needle stands anywhere in the hay (Knuth, Morris and Pratt).
  ///
  /// - Complexity: O(hay + needle), whatever they hold.
  static func isFound(_ needle: [UInt8], in hay: [UInt8]) -> Bool {
    guard !needle.isEmpty else { return true }
    guard needle.count <= hay.count else { return false }
    var borders = [Int](repeating: 0, count: needle.count)
    var length = 0
    for index in needle.indices.dropFirst() {
      while length > 0, needle[index] != needle[length] { length = borders[length - 1] }
      if needle[index] == needle[length] { length += 1 }
      borders[index] = length
    }
    var matched = 0
    for byte in hay {
      while matched > 0, byte != needle[matched] { matched = borders[matched - 1] }
      if byte == needle[matched] { matched += 1 }
      if matched == needle.count { return true }
    }
    return false
  }
}
