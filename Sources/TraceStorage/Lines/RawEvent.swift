@_spi(Scanning) import AgentTrace
import Glibc

extension Event {
  /// The event as it stands in a log of this format, whatever format a `run_started` names.
  var inThisFormat: Event {
    guard type == .runStarted, let version = data["formatVersion"]?.intValue,
      version < RunStarted.currentFormatVersion
    else { return self }
    var event = self
    event.data["formatVersion"] = JSONValue(RunStarted.currentFormatVersion)
    return event
  }
}

/// Events as they stand in a line: keys escaped, with references.
extension Event {
  /// Whether a line has the one form that this event, read from it, has in a log.
  ///
  /// - Complexity: encodes what the line says, not what it refers to.
  func isCanonical(in line: UnsafeBufferPointer<UInt8>) -> Bool {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(line.count + 1)
    appendEnvelopeHead(to: &bytes)
    RawJSON.append(.object(data), to: &bytes)
    var plain = self
    guard
      let extra = try? extra.unescaped({ _, value throws(LineFault) in try value.withoutForms() })
    else { return false }
    plain.extra = extra
    plain.appendEnvelopeTail(to: &bytes)
    guard bytes.isEqual(to: line) else { return false }
    return type != .contextBuilt
      || ContextPacket.listPointers.allSatisfy { pointer in
        // An array of which none of the items is an array stands as `$list`.
        JSONValue.object(data)[pointer]?.arrayValue?.contains { $0.arrayValue != nil } ?? true
      }
  }
}

/// Values as they stand in a line.
enum RawJSON {
  /// Appends a value as canonical JSON, its keys as they are.
  static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
    switch value {
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(element, to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      // What JSON cannot hold has one form of its own.
      if object.count == 1, case .value(let value)? = try? SpecialForm(object) {
        return CanonicalJSON.append(value, to: &bytes)
      }
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in object.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        CanonicalJSON.appendString(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        append(member.value, to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    default: CanonicalJSON.append(value, to: &bytes)
    }
  }
}

extension JSONObject {
  /// What a packet says itself: without the items that it takes over, and with an empty string in the
  /// place of each that was said before.
  var saidHere: JSONObject {
    var pairs: [(String, JSONValue)] = []
    pairs.reserveCapacity(count)
    for member in self { pairs.append((member.key.unescapingReservedKey, member.value.saidHere)) }
    return JSONObject(pairs)
  }
}

extension JSONValue {
  fileprivate var saidHere: JSONValue {
    guard mayHoldForm else { return self }
    return switch self {
    case .array(let elements): .array(elements.map(\.saidHere))
    case .object(let object):
      switch try? SpecialForm(object) {
      case .same?: ""
      case .list(let entries)?: .array(entries.filter { $0.arrayValue == nil }.map(\.saidHere))
      case .value(let value)?: value
      case nil: .object(object.saidHere)
      }
    default: self
    }
  }

  /// Whether a key in it has a meaning of its own, or is written so that it has none.
  private var mayHoldForm: Bool {
    switch self {
    case .array(let elements): elements.contains(where: \.mayHoldForm)
    case .object(let object):
      object.contains { $0.key.utf8.first == UInt8(ascii: "$") || $0.value.mayHoldForm }
    default: false
    }
  }
}

extension [UInt8] {
  /// Whether these bytes are the same; compared at once and not one by one.
  func isEqual(to other: UnsafeBufferPointer<UInt8>) -> Bool {
    withUnsafeBytes { bytes in
      guard bytes.count == other.count else { return false }
      guard let start = bytes.baseAddress, let otherStart = other.baseAddress else { return true }
      return memcmp(start, otherStart, bytes.count) == 0
    }
  }
}
