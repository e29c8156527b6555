import AgentTrace

/// What a server of traces answers to a request that it took: OTLP lets it take a part
/// (https://opentelemetry.io/docs/specs/otlp/#partial-success-1).
public struct OtlpAnswer: Sendable, Hashable {
  /// How many spans it did not take, and will not.
  public var rejectedSpans = 0
  /// Why, in its words; empty where it says nothing.
  public var message = ""

  /// Reads an answer; what is none says nothing.
  ///
  /// - Parameters:
  ///   - body: as it came in.
  ///   - isJSON: whether it is JSON; otherwise it is protocol buffers.
  public init(_ body: [UInt8], isJSON: Bool) {
    if isJSON { readJSON(body) } else { read(body) }
  }

  private mutating func readJSON(_ body: [UInt8]) {
    let told = (try? JSONValue(parsing: body))?["partialSuccess"]
    let count = told?["rejectedSpans"]
    rejectedSpans = max(0, count?.intValue ?? count?.stringValue.flatMap { Int($0) } ?? 0)
    message = told?["errorMessage"]?.stringValue ?? ""
  }

  private mutating func read(_ body: [UInt8]) {
    for (number, value) in Self.fields(body[...]) where number == 1 {
      guard case .bytes(let inner) = value else { continue }
      for (number, value) in Self.fields(inner) {
        switch (number, value) {
        case (1, .number(let count)): rejectedSpans = Int(clamping: Int64(bitPattern: count))
        case (2, .bytes(let text)): message = String(decoding: text, as: UTF8.self)
        default: break
        }
      }
    }
    rejectedSpans = max(0, rejectedSpans)
  }

  private enum Value {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
  }

  /// The fields of a message up to where it is none.
  private static func fields(_ bytes: ArraySlice<UInt8>) -> [(Int, Value)] {
    var rest = bytes
    var found: [(Int, Value)] = []
    func varint() -> UInt64? {
      var value: UInt64 = 0
      for shift in stride(from: UInt64(0), to: 64, by: 7) {
        guard let byte = rest.popFirst() else { return nil }
        value |= UInt64(byte & 0x7f) << shift
        if byte < 0x80 { return value }
      }
      return nil
    }
    while let key = varint(), let number = Int(exactly: key >> 3) {
      switch key & 7 {
      case 0:
        guard let value = varint() else { return found }
        found.append((number, .number(value)))
      case 2:
        guard let count = varint(), count <= UInt64(rest.count) else { return found }
        found.append((number, .bytes(rest.prefix(Int(count)))))
        rest = rest.dropFirst(Int(count))
      case 1 where rest.count >= 8: rest = rest.dropFirst(8)
      case 5 where rest.count >= 4: rest = rest.dropFirst(4)
      default: return found
      }
    }
    return found
  }
}
