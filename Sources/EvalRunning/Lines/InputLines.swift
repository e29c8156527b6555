/// A line of input as it came in.
public struct InputLine: Sendable, Hashable {
  /// Which line it is, from 1.
  public var number: Int
  /// Its bytes, without its end.
  public var bytes: [UInt8]
  /// Whether it was too long, so that only its beginning is here.
  public var isCut = false
}

/// Makes lines of bytes that come in pieces of any size; holds no more than one line and one piece.
public struct InputLines: Sendable {
  /// Bytes of a line that are kept of one that is too long.
  public static let keptBytes = 4_096

  private let limitBytes: Int
  private var rest: [UInt8] = []
  private var isCut = false
  private var number = 1

  /// - Parameter limitBytes: A longer line is cut. No less than ``keptBytes``.
  public init(limitBytes: Int = 16 << 20) { self.limitBytes = max(Self.keptBytes, limitBytes) }

  /// The lines that end within these bytes. A line feed ends a line, with a carriage return before it
  /// or without.
  ///
  /// - Complexity: O(*n*) in the bytes.
  public mutating func take(_ bytes: ArraySlice<UInt8>) -> [InputLine] {
    var lines: [InputLine] = []
    var bytes = bytes
    while let end = bytes.firstIndex(of: 0x0a) {
      add(bytes[..<end])
      lines.append(takeLine())
      bytes = bytes[(end + 1)...]
    }
    add(bytes)
    return lines
  }

  /// The last line, where the input does not end with a line feed; `nil` where it does.
  public mutating func finish() -> InputLine? { rest.isEmpty ? nil : takeLine() }

  private mutating func add(_ bytes: ArraySlice<UInt8>) {
    guard !isCut else { return }
    guard rest.count + bytes.count <= limitBytes else {
      rest += bytes.prefix(max(0, Self.keptBytes - rest.count))
      rest.removeLast(max(0, rest.count - Self.keptBytes))
      isCut = true
      return
    }
    rest += bytes
  }

  private mutating func takeLine() -> InputLine {
    if !isCut, rest.last == 0x0d { rest.removeLast() }
    defer {
      rest = []
      isCut = false
      number += 1
    }
    return InputLine(number: number, bytes: rest, isCut: isCut)
  }
}
