public import AgentTrace

/// Why a file, or one run of it, could not be imported.
public struct ImportError: Error, Hashable, Sendable {
  /// What is wrong; open, so that cases can be added.
  public enum Code: Hashable, Sendable {
    /// The system's reason why a file or folder could not be read.
    case unreadable(String)
    /// Larger than what is read into memory.
    case tooLarge(limitBytes: Int)
    /// A folder in which nothing has the name of a trace.
    case nothingToImport
    /// Bytes that are not JSON; the line is from 1, in files of one value a line.
    case notJSON(JSONError, line: Int?)
    /// A file that is no YAML, and what is wrong with it.
    case notYAML(String)
    /// A request body in binary that is not what it should be.
    case notProtobuf(byte: Int)
    /// A zip file, or something compressed, that cannot be unpacked.
    case damagedArchive(String)
    /// JSON in a shape that no format has.
    case unknownFormat
    /// The text of a run log of ours.
    case unpackedLog
    /// Eval cases of ours.
    case cases
    /// JSON that lacks what its format promises.
    case wrongShape(expected: String)
    /// Something that another importer would be needed for.
    case unsupported(String)
    /// A file in a known format that holds no run.
    case noRuns
    /// An eval set of which no case could be made; why not of the first.
    case noCases(String)
    /// A run without a single message.
    case noMessages
    case tooManyMessages(limit: Int)
    /// A run whose contexts, each of which repeats the one before, come to more than this.
    case tooLong(limitBytes: Int)
    /// The output holds another log of that name.
    case outputDiffers(log: String)
    /// The system's reason why the log could not be written.
    case unwritable(log: String, String)
    /// Why no log may hold the run: it exceeds a limit of the format.
    case unloggable(log: String, String)
  }

  /// What is wrong.
  public var code: Code
  /// Where in the file; `nil` where that is the whole file or the code says it.
  public var pointer: JSONPointer?

  /// Without a pointer, the fault is the whole file's, or the code says where it is.
  public init(_ code: Code, at pointer: JSONPointer? = nil) {
    self.code = code
    self.pointer = pointer
  }
}

extension ImportError: CustomStringConvertible {
  public var description: String {
    let place = pointer.map { $0.tokens.isEmpty ? "" : "at \($0): " } ?? ""
    return place + code.phrase
  }
}

extension ImportError.Code {
  /// What is wrong and what to do next, without the place.
  var phrase: String {
    switch self {
    case .unreadable(let reason): "cannot be read: \(reason)"
    case .tooLarge(let limit): "larger than \(limit >> 20) MiB; split the file"
    case .nothingToImport:
      "no file below it ends in \(SourceFiles.endings.joined(separator: ", ")); name a file instead"
    case .notJSON(let error, let line?): "line \(line) is not JSON: \(error)"
    case .notJSON(let error, nil): "not JSON: \(error)"
    case .notYAML(let what): "not YAML: \(what)"
    case .notProtobuf(let byte): "not a request in protocol buffers: damaged at byte \(byte)"
    case .damagedArchive(let what): "\(what)"
    case .unknownFormat:
      "in the shape of no known format; `import --formats` says what can be read"
    case .unpackedLog:
      "a run log that was unpacked; name the .jsonl.gz that it came from"
    case .cases: "eval cases, and no trace: `agent-eval run` takes them"
    case .wrongShape(let expected): "expected \(expected)"
    case .unsupported(let what): "\(what): not supported by any importer yet"
    case .noRuns: "holds no runs"
    case .noCases(let why): "no case can be made of it: \(why)"
    case .noMessages: "a run without messages"
    case .tooManyMessages(let limit): "a run of more than \(limit) messages; split it"
    case .tooLong(let limit):
      "a run whose contexts hold more than \(limit >> 30) GiB together; split it"
    case .outputDiffers(let log):
      "\(log) exists already and holds something else; name another output folder or remove it"
    case .unwritable(let log, let reason), .unloggable(let log, let reason):
      "\(log) cannot be written: \(reason)"
    }
  }
}
