/// Why the data of an event is not what its type promises.
public struct PayloadError: Error, Hashable, Sendable {
  /// The key at fault, as a path like `calls/0/name`.
  public var key: String
  /// What should stand there, for example `a string`.
  public var expected: String

  /// Both as they are to stand in the message.
  public init(key: String, expected: String) {
    self.key = key
    self.expected = expected
  }
}

extension PayloadError: CustomStringConvertible {
  public var description: String { "“\(key)” should be \(expected)" }
}

/// Typed access to the members of an object, with errors that name the key.
struct PayloadReader {
  let object: JSONObject
  var path = ""

  init(_ object: JSONObject, path: String = "") {
    self.object = object
    self.path = path
  }

  func error(_ key: String, _ expected: String) -> PayloadError {
    PayloadError(key: path.isEmpty ? key : "\(path)/\(key)", expected: expected)
  }

  func optional<T>(
    _ key: String, _ expected: String, _ read: (JSONValue) -> T?
  ) throws(PayloadError) -> T? {
    guard let value = object[key], !value.isNull else { return nil }
    guard let result = read(value) else { throw error(key, expected) }
    return result
  }

  func required<T>(
    _ key: String, _ expected: String, _ read: (JSONValue) -> T?
  ) throws(PayloadError) -> T {
    guard let result = try optional(key, expected, read) else { throw error(key, expected) }
    return result
  }

  func string(_ key: String) throws(PayloadError) -> String {
    try required(key, "a string", \.stringValue)
  }

  /// A text that may have been lost, cut or no UTF-8; then its canonical form stands in.
  func text(_ key: String) throws(PayloadError) -> String {
    try required(key, "a string") { value in
      switch value {
      case .string(let text): text
      case .bytes, .cut, .lost: value.description
      default: nil
      }
    }
  }

  func optionalString(_ key: String) throws(PayloadError) -> String? {
    try optional(key, "a string", \.stringValue)
  }

  func int(_ key: String) throws(PayloadError) -> Int {
    try required(key, "a whole number", \.intValue)
  }

  func optionalInt(_ key: String) throws(PayloadError) -> Int? {
    try optional(key, "a whole number", \.intValue)
  }

  func optionalDouble(_ key: String) throws(PayloadError) -> Double? {
    try optional(key, "a number", \.doubleValue)
  }

  func optionalBool(_ key: String) throws(PayloadError) -> Bool? {
    try optional(key, "true or false", \.boolValue)
  }

  func optionalObject(_ key: String) throws(PayloadError) -> JSONObject? {
    try optional(key, "an object", \.objectValue)
  }

  func strings(_ key: String) throws(PayloadError) -> [String] {
    try optional(key, "a list of strings") { value in
      guard let elements = value.arrayValue else { return nil }
      let strings = elements.compactMap(\.stringValue)
      return strings.count == elements.count ? strings : nil
    } ?? []
  }

  /// The objects of an array, each with a reader that knows its path.
  func objects(_ key: String) throws(PayloadError) -> [PayloadReader] {
    guard let value = object[key], !value.isNull else { return [] }
    guard let elements = value.arrayValue else { throw error(key, "a list") }
    var readers: [PayloadReader] = []
    for (index, element) in elements.enumerated() {
      guard let object = element.objectValue else { throw error("\(key)/\(index)", "an object") }
      readers.append(
        PayloadReader(object, path: path.isEmpty ? "\(key)/\(index)" : "\(path)/\(key)/\(index)"))
    }
    return readers
  }

  func enumeration<T: RawRepresentable>(
    _ key: String, _ type: T.Type, _ expected: String
  ) throws(PayloadError) -> T where T.RawValue == String {
    try required(key, expected) { $0.stringValue.flatMap(T.init(rawValue:)) }
  }
}

extension JSONObject {
  /// Members without those whose value is `nil`.
  package init(present pairs: [(String, JSONValue?)]) {
    self.init(pairs.compactMap { pair in pair.1.map { (pair.0, $0) } })
  }
}
