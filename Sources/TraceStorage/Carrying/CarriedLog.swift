public import AgentTrace

/// A run log that goes along inside a file of another format, under a key of our own, so that what the format
/// cannot say is not lost: the log's bytes in base64, and a digest of what stands beside them.
///
/// The digest ties both together. Where somebody changed what everybody can see, the log is not what the file
/// says any more, and whoever reads it takes the file at its word.
public enum CarriedLog {
  /// The key that holds it in objects of other formats.
  public static let key = "agent_eval"
  /// The members of what stands under ``key``.
  private static let (log, visible) = ("log", "visible")
  /// The largest log that is carried.
  public static let limitBytes = 64 << 20

  /// How foreign JSON is read where its digest is taken: as importers read it.
  public static let parsing = JSONValue.ParseOptions(depthLimit: 100, keepsForeignText: true)

  /// What stands under ``key``, but for what is there for people to see.
  ///
  /// - Parameters:
  ///   - bytes: a closed log, as its file holds it.
  ///   - value: what stands beside it: the object without ``key``.
  /// - Throws: where the object is not what importers can read, such as one that nests too deep.
  public static func members(
    log bytes: [UInt8], beside value: JSONValue
  ) throws(JSONError) -> JSONObject {
    [
      log: .string(base64(bytes)),
      visible: .string(
        digest(
          of: try JSONValue(
            parsing: CanonicalJSON.encode(value, form: .plain), options: parsing))),
    ]
  }

  /// Base64 of some bytes.
  public static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count / 3 * 4 + 4)
    Base64.append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// The digest of what can be seen: numbers count by their value and keys in any order, so that a tool which
  /// writes the same JSON anew changes nothing.
  public static func digest(of value: JSONValue) -> String { Digest(of: value.byValue).hex }

  /// What was found under ``key``.
  public enum Found: Sendable, Hashable {
    /// No log goes along.
    case none
    /// What stands beside the log is no longer what it was when it was written.
    case changed
    /// What stands there is not a log in base64.
    case damaged
    /// The log's bytes, of which nothing was checked but their size.
    case log([UInt8])
  }

  /// A value without ``key`` below some other keys, and what stood there.
  public static func taking(
    from value: JSONValue, at path: [String]
  ) -> (beside: JSONValue, own: JSONValue?) {
    guard var object = value.objectValue else { return (value, nil) }
    guard let first = path.first else {
      let own = object[key]
      object[key] = nil
      return (.object(object), own)
    }
    guard let inner = object[first] else { return (value, nil) }
    let (beside, own) = taking(from: inner, at: Array(path.dropFirst()))
    object[first] = beside
    return (.object(object), own)
  }

  /// Looks for a log in a value as it was parsed.
  ///
  /// - Parameters:
  ///   - value: what may hold one, with all that stands beside it.
  ///   - path: the keys below which ``key`` stands.
  public static func find(in value: JSONValue, at path: [String]) -> Found {
    let (value, members) = taking(from: value, at: path)
    guard let text = members?[log] else { return .none }
    guard let expected = members?[visible]?.stringValue else { return .damaged }
    guard expected.hasSameUTF8(as: digest(of: value)) else { return .changed }
    guard let text = text.stringValue else { return .damaged }
    return decode(text)
  }

  /// The log that a text holds in base64.
  public static func decode(_ text: String) -> Found {
    guard text.utf8.count / 4 * 3 <= limitBytes + 3, let bytes = Base64.decode(text) else {
      return .damaged
    }
    return .log(bytes)
  }
}
