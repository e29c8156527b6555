import AgentTrace
import Glibc
import TraceStorage

/// A foreign file, parsed: one JSON value, or one a line.
enum SourceDocument {
  case value(JSONValue)
  case lines([Line])
  /// Several files, or members of one, that belong together.
  case parts([Part])

  /// A file of several, or a member of an archive.
  struct Part {
    /// Its name among them.
    var name: String
    var content: SourceDocument

    /// Where its values stand: below its name.
    var pointer: JSONPointer { JSONPointer(tokens: [name]) }

    /// What it holds, where that is one value.
    var value: JSONValue? { if case .value(let value) = content { value } else { nil } }
  }

  /// A line that is not blank.
  struct Line {
    /// Its number in the file, from 0, blank lines counted: a file of lines is addressed as if it
    /// were the array of them.
    var index: Int
    var content: Result<JSONValue, ImportError>
  }

  /// How deep a foreign file may nest. A log allows 128, and importing puts a value a few levels
  /// deeper than it stood.
  static let depthLimit = 100

  static let options = JSONValue.ParseOptions(depthLimit: depthLimit, keepsForeignText: true)

  /// Parses a file. Its name decides only whether one value alone is a line (`.jsonl`, `.ndjson`); one that goes over several
  /// lines is none.
  ///
  /// - Throws: ``ImportError`` with the byte offset of the fault where the file is neither one value
  ///   nor one a line.
  init(parsing bytes: [UInt8], name: String) throws(ImportError) {
    if bytes.starts(with: [0x1f, 0x8b]) {
      self = try Self.unpacked(bytes, name: name)
      return
    }
    if SourceFiles.lineEndings.contains(where: name.lowercased().hasSuffix) {
      let lines = Self.lines(of: bytes)
      if case .failure? = lines.first?.content, let value = try? Self.parse(bytes[...]) {
        self = .value(value)
      } else {
        self = .lines(lines)
      }
      return
    }
    do throws(JSONError) {
      self = .value(try Self.parse(bytes[...]))
    } catch {
      let lines = error.code == .trailingBytes ? Self.lines(of: bytes) : []
      guard lines.count > 1, case .success(let first) = lines[0].content,
        first.objectValue != nil || first.arrayValue != nil
      else { throw ImportError(.notJSON(error, line: nil)) }
      self = .lines(lines)
    }
  }

  /// This, or the value of its only line where that alone has the shape of a format: the given one, or any.
  func fitting(_ format: ImportFormat?) -> SourceDocument {
    guard case .lines(let lines) = self, lines.count == 1, let value = try? lines[0].content.get()
    else { return self }
    let fits = { (document: SourceDocument) in
      format.map { $0.adapter.recognizes(document) } ?? (ImportFormat.guess(document) != nil)
    }
    return !fits(self) && fits(.value(value)) ? .value(value) : self
  }

  /// Whether it holds eval cases of ours, whose `input` has the shape of a message. A format that is told by more than that,
  /// and runs that have a case's name beside their messages, are none.
  func holdsCases(for format: ImportFormat?) -> Bool {
    guard [nil, .messages, .openAIMessages].contains(format) else { return false }
    return SourceLines.begin(self, keys: ["cases"]) { value in
      value["caseId"]?.stringValue != nil
        && !Self.runKeys.contains { value[$0]?.arrayValue != nil || value[$0]?.objectValue != nil }
    }
  }

  private static let runKeys = ["history", "messages", "output", "traj", "trajectory"]

  /// Whether it holds samples of a dataset: what to ask, and what the answer is held against, with nothing that was
  /// answered. Their `input` has the shape of a message, and is no run.
  func holdsSamples(for format: ImportFormat?) -> Bool {
    guard [nil, .messages, .openAIMessages].contains(format) else { return false }
    return SourceLines.begin(self) { value in
      guard let object = value.objectValue, object["target"]?.saysNothing == false,
        let input = object["input"], !input.saysNothing
      else { return false }
      // What was answered may stand there, too.
      let speakers = (input.arrayValue ?? []).compactMap { $0["role"]?.stringValue }
      guard speakers.allSatisfy({ ["system", "developer", "user"].contains($0) }) else {
        return false
      }
      return !object.contains { member in
        !member.value.saysNothing
          && Self.answerKeys.contains { member.key.lowercased().contains($0) }
      }
    }
  }

  /// What keys hold under which an answer may stand.
  private static let answerKeys = [
    "answer", "completion", "generation", "history", "messages", "output", "prediction", "reply",
    "response", "result", "tool", "traj",
  ]

  private static func unpacked(
    _ bytes: [UInt8], name: String
  ) throws(ImportError) -> SourceDocument {
    let plain: [UInt8]
    do throws(ForeignCompression.Problem) {
      plain = try ForeignCompression.gunzip(bytes, limitBytes: SourceFiles.limitBytes)
    } catch {
      if error == .tooLarge { throw ImportError(.tooLarge(limitBytes: SourceFiles.limitBytes)) }
      throw ImportError(.unsupported("damaged compressed files; unpack it first"))
    }
    guard !plain.starts(with: [0x1f, 0x8b]) else {
      throw ImportError(.unsupported("files compressed twice"))
    }
    let inner = name.lowercased().hasSuffix(".gz") ? String(name.dropLast(3)) : name
    return try SourceDocument(parsing: plain, name: inner)
  }

  /// Splits at line feeds, so that other line breaks inside strings stay what they are.
  private static func lines(of bytes: [UInt8]) -> [Line] {
    var lines: [Line] = []
    var (start, index) = (0, -1)
    while start <= bytes.count {
      let end = bytes.firstLineFeed(from: start) ?? bytes.count
      let slice = bytes[start..<end]
      (start, index) = (end + 1, index + 1)
      guard slice.contains(where: { !isSpace($0) }) else { continue }
      do throws(JSONError) {
        lines.append(Line(index: index, content: .success(try parse(slice))))
      } catch {
        let error = ImportError(.notJSON(error, line: index + 1))
        lines.append(Line(index: index, content: .failure(error)))
      }
    }
    return lines
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0d
  }

  /// Offsets count from the start of the file, in a file of lines too, and a byte order mark is
  /// passed over.
  private static func parse(_ slice: ArraySlice<UInt8>) throws(JSONError) -> JSONValue {
    var slice = slice
    if slice.startIndex == 0, slice.starts(with: [0xef, 0xbb, 0xbf]) { slice = slice.dropFirst(3) }
    let start = slice.startIndex
    return try slice.withUnsafeBufferPointer { buffer throws(JSONError) in
      do throws(JSONError) {
        return try JSONValue(parsing: buffer, options: options)
      } catch {
        throw JSONError(code: error.code, offset: error.offset + start)
      }
    }
  }
}

extension [UInt8] {
  /// The next line feed from a place on; `nil` where there is none.
  fileprivate func firstLineFeed(from start: Int) -> Int? {
    withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress,
        let found = memchr(base + start, 0x0a, bytes.count - start)
      else { return nil }
      return base.distance(to: UnsafeRawPointer(found))
    }
  }
}
