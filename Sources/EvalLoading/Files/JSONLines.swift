import Glibc

/// Reads a JSONL file line by line, so that a file of any length takes the memory of one line.
struct JSONLines {
  /// One line that is not blank.
  struct Line {
    /// From 1.
    var number: Int
    /// Without its end.
    var bytes: [UInt8]
    /// How many lines like it the whole file has room for.
    var likesInFile: Int
  }

  /// Calls `body` with each line that is not blank, until it says `false` or the file ends.
  static func read(
    _ path: String, limits: SourceLimits, _ body: (Line) -> Bool
  ) throws(Diagnostic) {
    let file = try FileBytes.open(path)
    var number = 1
    var rest: [UInt8] = []
    let size = file.size
    func line() -> Line {
      Line(number: number, bytes: rest, likesInFile: size / max(1, rest.count))
    }
    while true {
      let chunk = try file.read(1 << 16, path: path)
      if chunk.isEmpty {
        if !isBlank(rest[...]) { _ = body(line()) }
        return
      }
      var start = 0
      while let end = Self.lineEnd(in: chunk, from: start) {
        rest.append(contentsOf: chunk[start..<end])
        if !isBlank(rest[...]), !body(line()) { return }
        rest.removeAll(keepingCapacity: true)
        number += 1
        start = end + 1
      }
      rest.append(contentsOf: chunk[start...])
      guard rest.count <= limits.bytes else {
        throw Diagnostic(
          .error, path: path, line: number, message: "a line of more than \(limits.bytes) bytes")
      }
    }
  }

  private static func lineEnd(in bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress,
        let found = memchr(base + start, 0x0a, bytes.count - start)
      else { return nil }
      return base.distance(to: found)
    }
  }

  private static func isBlank(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }
  }
}
