import AgentTrace
import FuzzSupport

/// Holds the JSON parser and the canonical encoder to each other.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let limit = Int(input.byte())
  let bytes = input.bytes
  let foreign = try? JSONValue(parsing: bytes, options: .init(keepsForeignText: true))
  do {
    let value = try JSONValue(parsing: bytes)
    require(foreign == value, "a reader of foreign text reads proper JSON differently")
    checkRoundTrip(value)
    checkPointers(value)
    checkBeginnings(value, limit)
  } catch {
    require(error.offset >= 0 && error.offset <= bytes.count, "a fault outside of the text")
    require(!"\(error)".isEmpty, "a fault without words")
  }
  if let foreign {
    checkForeign(foreign)
    checkBeginnings(foreign, limit)
  }
  checkTexts(bytes, limit)
  return 0
}

private func checkRoundTrip(_ value: JSONValue) {
  let plain = CanonicalJSON.encode(value, form: .plain)
  guard let again = try? JSONValue(parsing: plain) else { violated("its encoding is not JSON") }
  require(again == value, "parse(encode(x)) is not x")
  require(again.hashValue == value.hashValue, "equal values with different hashes")
  require(CanonicalJSON.encode(again, form: .plain) == plain, "encoding is not stable")
  require(value.depth <= 128, "deeper than the limit")
  // The form of a log escapes keys and nothing else.
  let log = CanonicalJSON.encode(value)
  guard let escaped = try? JSONValue(parsing: log) else { violated("the log form is not JSON") }
  require(CanonicalJSON.encode(escaped, form: .plain) == log, "the log form is not canonical")
  require(unescaped(escaped) == value, "escaped keys do not come back")
}

private func unescaped(_ value: JSONValue) -> JSONValue {
  switch value {
  case .array(let elements): return .array(elements.map(unescaped))
  case .object(let object):
    for key in object.keys {
      require(
        !["$same", "$list", "$bytes", "$lost", "$cut"].contains { $0.hasSameUTF8(as: key) },
        "a reserved key was not escaped")
    }
    return .object(
      JSONObject(object.map { ($0.key.unescapingReservedKey, unescaped($0.value)) }))
  default: return value
  }
}

/// Every leaf is found by the pointer that leads there, also when that was written and read.
private func checkPointers(_ root: JSONValue) {
  var checksLeft = 200
  func walk(_ value: JSONValue, _ pointer: JSONPointer) {
    guard checksLeft > 0 else { return }
    switch value {
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        walk(element, pointer.appending(String(index)))
      }
    case .object(let object):
      for member in object { walk(member.value, pointer.appending(member.key)) }
    default:
      checksLeft -= 1
      require(root[pointer] == value, "a pointer leads elsewhere")
      require(
        JSONPointer(pointer.description)?.description.hasSameUTF8(as: pointer.description) == true,
        "a pointer reads differently")
      require(JSONPointer(pointer.description).flatMap { root[$0] } == value, "a pointer is lost")
      checkNumber(value)
    }
  }
  walk(root, JSONPointer())
}

private func checkNumber(_ value: JSONValue) {
  guard case .number(let number) = value else { return }
  require(JSONNumber(token: number.token) == number, "a token is not its number")
  if let int = number.intValue {
    require(number.doubleValue == Double(int), "a number has two values")
    require(JSONNumber(int).intValue == int, "an integer is none")
  }
  if number.token.utf8.count < 15, let whole = Int(exactly: number.doubleValue),
    whole.magnitude < 1_000_000_000_000_000
  {
    // So few digits are exact in a double, but for what an exponent makes too small to see.
    require(number.intValue == whole || number.token.contains("-"), "an integer is not seen")
  }
  let double = number.doubleValue
  require(!double.isNaN, "a number is none")
  if double.isFinite {
    guard let printed = JSONNumber(double) else { violated("a finite double has no token") }
    require(printed.doubleValue == double, "a printed double is another")
    require(JSONNumber(token: printed.token) == printed, "a printed double is no JSON")
  } else {
    require(JSONNumber(double) == nil, "what is not finite was printed")
  }
}

/// Text that only foreign files may hold survives as bytes, which a log can hold.
private func checkForeign(_ value: JSONValue) {
  let log = CanonicalJSON.encode(value)
  guard let read = try? JSONValue(parsing: log, options: .init(depthLimit: 140)) else {
    violated("foreign text does not go into a log")
  }
  require(CanonicalJSON.encode(read, form: .plain) == log, "foreign text is not canonical in a log")
}

private func checkBeginnings(_ value: JSONValue, _ limit: Int) {
  let head = CanonicalJSON.prefix(of: value, limitBytes: limit)
  require(head.utf8.count <= limit, "a beginning is longer than asked")
  if value.isPlainJSON {
    let whole = CanonicalJSON.encode(value)
    require(whole.starts(with: head.utf8), "a beginning is not that of the value")
  }
  switch value.cut(toBytes: limit) {
  case .cut(let bytes, let head):
    require(bytes == CanonicalJSON.encode(value).count, "a cut value tells another length")
    require(head.utf8.count <= limit, "a cut value is longer than asked")
  case let kept: require(kept == value, "a value that fits was changed")
  }
}

private func checkTexts(_ bytes: [UInt8], _ limit: Int) {
  let text = String(decoding: bytes, as: UTF8.self)
  let prefix = text.prefix(utf8Bytes: limit)
  require(prefix.utf8.count <= limit, "a prefix is too long")
  require(text.utf8.starts(with: prefix.utf8), "a prefix is another text")
  require(text.utf8.count <= limit || prefix.utf8.count + 4 > limit, "a prefix is too short")
  var encoded: [UInt8] = []
  Base64.append(bytes, to: &encoded)
  require(Base64.decode(String(decoding: encoded, as: UTF8.self)) == bytes, "base64 is lost")
  if let decoded = Base64.decode(text) {
    var again: [UInt8] = []
    Base64.append(decoded, to: &again)
    require(again.elementsEqual(text.utf8), "base64 has two forms")
  }
  if let pointer = JSONPointer(text) {
    require(pointer.description.hasSameUTF8(as: text), "a pointer has two forms")
  }
  if let number = JSONNumber(token: text) { checkNumber(.number(number)) }
  let escaped = text.escapingReservedKey
  require(escaped.unescapingReservedKey.hasSameUTF8(as: text), "an escaped key does not come back")
}
