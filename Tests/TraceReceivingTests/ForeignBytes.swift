import TraceStorage

/// As much of protocol buffers as tests need to look into a request without the importer's help.
enum ForeignBytes {
  static func gunzip(_ bytes: [UInt8]) throws -> [UInt8] {
    try ForeignCompression.gunzip(bytes, limitBytes: 64 << 20)
  }

  /// The messages of one field, with where they begin.
  static func messages(_ bytes: some Sequence<UInt8>, _ wanted: Int) -> [(Int, [UInt8])] {
    let bytes = Array(bytes)
    var found: [(Int, [UInt8])] = []
    var place = 0
    func varint() -> Int {
      var (value, shift) = (0, 0)
      while place < bytes.count, shift < 63 {
        let byte = Int(bytes[place])
        place += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128 { break }
      }
      return value
    }
    while place < bytes.count {
      let key = varint()
      switch key & 7 {
      case 0: _ = varint()
      case 1: place += 8
      case 5: place += 4
      default:
        let count = varint()
        let end = min(bytes.count, place + count)
        if key >> 3 == wanted { found.append((place, Array(bytes[place..<end]))) }
        place = end
      }
    }
    return found
  }
}
