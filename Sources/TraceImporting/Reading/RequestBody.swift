import AgentTrace
import TraceStorage

/// The body of a request, and what its headers say of it.
struct RequestBody {
  /// What it is called: the place of its file.
  private let name: String
  /// The headers in small letters.
  private var headers: [String: String] = [:]
  private var path = ""

  /// A body that came in just now.
  ///
  /// - Parameter path: without a query.
  init(path: String, contentType: String) {
    name = "body"
    self.path = path
    headers["content-type"] = contentType
  }

  /// Reads the headers that stand beside a body; there may be none.
  init(of file: SourceFiles.File) {
    name = file.relativePath
    let place = SourceFiles.stem(of: file.path) + SourceFiles.headersEnding
    guard place != file.path, let bytes = try? SourceFiles.read(place),
      let value = try? JSONValue(parsing: bytes, options: SourceDocument.options)
    else { return }
    path = value["path"]?.stringValue ?? ""
    for member in value["headers"]?.objectValue ?? value.objectValue ?? [:] {
      if let text = member.value.stringValue { headers[member.key.lowercased()] = text }
    }
  }

  /// What the body says.
  ///
  /// - Throws: ``ImportError`` where it cannot be read.
  func document(_ bytes: [UInt8]) throws(ImportError) -> SourceDocument {
    var bytes = bytes
    if bytes.starts(with: [0x1f, 0x8b]) {
      do throws(ForeignCompression.Problem) {
        bytes = try ForeignCompression.gunzip(bytes, limitBytes: SourceFiles.limitBytes)
      } catch {
        throw ImportError(error, in: name)
      }
    } else if bytes.starts(with: [0x28, 0xb5, 0x2f, 0xfd]) {
      throw ImportError(.unsupported("bodies packed with Zstandard; unpack them first"))
    }
    let type = headers["content-type"] ?? ""
    if type.hasPrefix("multipart/"), let boundary = Multipart.boundary(in: type) {
      return .value(try Multipart.read(bytes, boundary: boundary))
    }
    if type.contains("protobuf") || name.hasSuffix(".pb")
      || name.hasSuffix(".pb.gz")
    {
      if let signal = signal ?? OtlpWire.signal(of: bytes) {
        return .value(try OtlpWire.request(bytes, signal: signal))
      }
      if let requests = try OtlpWire.requests(bytes) { return .value(requests) }
      throw ImportError(.notProtobuf(byte: 0))
    }
    return try SourceDocument(parsing: bytes, name: "body.json")
  }

  /// The signal, by the path that the body was sent to, or by the file's name.
  private var signal: OtlpWire.Signal? {
    let name = SourceFiles.lastComponent(of: self.name)
    for (word, signal) in [
      ("traces", OtlpWire.Signal.traces), ("logs", .logs), ("metrics", .metrics),
    ] where path.hasSuffix("/v1/\(word)") || path.isEmpty && name.contains("v1-\(word)") {
      return signal
    }
    return nil
  }
}

/// Bodies of several parts, `multipart/form-data` (RFC 7578), whose parts are JSON.
enum Multipart {
  private static let partLimit = 100_000

  /// The boundary that a content type names.
  static func boundary(in type: String) -> String? {
    guard
      let range = type.split(separator: ";").map({ $0.drop(while: { $0 == " " }) })
        .first(where: { $0.hasPrefix("boundary=") })
    else { return nil }
    let value = range.dropFirst(9).filter { $0 != "\"" }
    return value.isEmpty ? nil : String(value)
  }

  /// The parts as `{"multipart":[{"name","value"}]}`.
  ///
  /// - Throws: ``ImportError`` where a part is no JSON, or there are too many.
  static func read(_ bytes: [UInt8], boundary: String) throws(ImportError) -> JSONValue {
    let mark = Array("--\(boundary)".utf8)
    var parts: [JSONValue] = []
    var position = find(mark, in: bytes, from: 0)
    while let start = position {
      let next = find(mark, in: bytes, from: start + mark.count)
      position = next
      guard let end = next else { break }
      guard parts.count < partLimit else { throw ImportError(.tooManyMessages(limit: partLimit)) }
      if let part = try part(bytes[(start + mark.count)..<end]) { parts.append(part) }
    }
    return ["multipart": .array(parts)]
  }

  private static func part(_ bytes: ArraySlice<UInt8>) throws(ImportError) -> JSONValue? {
    guard let split = find(Array("\r\n\r\n".utf8), in: bytes, from: bytes.startIndex) else {
      return nil
    }
    let head = String(decoding: bytes[..<split], as: UTF8.self)
    guard let mark = find(Array("name=\"".utf8), in: Array(head.utf8), from: 0) else { return nil }
    let name = String(
      decoding: Array(head.utf8)[(mark + 6)...].prefix { $0 != 0x22 }, as: UTF8.self)
    var body = bytes[(split + 4)...]
    if body.suffix(2).elementsEqual([0x0d, 0x0a]) { body = body.dropLast(2) }
    do throws(JSONError) {
      return [
        "name": .string(name),
        "value": try JSONValue(parsing: Array(body), options: SourceDocument.options),
      ]
    } catch {
      throw ImportError(.notJSON(error, line: nil))
    }
  }

  private static func find<Bytes: Collection<UInt8>>(
    _ mark: [UInt8], in bytes: Bytes, from start: Int
  ) -> Int? where Bytes.Index == Int {
    guard let first = mark.first, start >= bytes.startIndex else { return nil }
    var position = start
    while position + mark.count <= bytes.endIndex {
      guard let found = bytes[position...].firstIndex(of: first) else { return nil }
      guard found + mark.count <= bytes.endIndex else { return nil }
      if bytes[found..<found + mark.count].elementsEqual(mark) { return found }
      position = found + 1
    }
    return nil
  }
}
