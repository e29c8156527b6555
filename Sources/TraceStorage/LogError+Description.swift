import AgentTrace
import Glibc

extension LogError: CustomStringConvertible {
  /// What, where and what next, in one line.
  public var description: String {
    switch code {
    case .system(let operation, let number):
      "\(path): cannot \(operation): \(String(cString: strerror(number)))"
    case .notFound: "\(path): there is no such log"
    case .noRegularFile: "\(path): no regular file; a log is read from one, at any place in it"
    case .exists: "\(path): a log of this name is there already; move it away or take another name"
    case .inUse(let holder):
      "\(path): \(holder.map { "process \($0)" } ?? "another process") is writing this log; "
        + "wait until it has closed it"
    case .leftOpen:
      "\(path): a writer that died left this log open; read it as it is, and move it away "
        + "or take another name"
    case .runIsOver: "\(path): the run in this log has ended for good; start a new one"
    case .badName: "\(path): the name of a log ends in \(LogFormat.suffix)"
    case .fileGone:
      "\(path): the file is no longer there; what was read of it is not in doubt\(soFar)"
    case .noLongerAtItsPlace:
      "\(path): the log that is being written is no longer there, so nothing more is done that it could not tell of"
    case .fileReplaced:
      "\(path): another file was put in the place of the one that was followed\(soFar)"
    case .fileShrank:
      "\(path): the file was cut: it holds less than was read of it\(soFar)"
    case .noEvents: "\(path): no event of a run is in it, so that there is nothing to keep"
    case .writerStopped: "\(path): an earlier failure stopped this log; nothing was written since"
    case .wrongNumber(let expected, let found):
      "\(path): event \(found) was appended where event \(expected) is next"
    case .lineTooLong(let limit): "\(path): a line is longer than \(limit) bytes\(place)"
    case .tooDeep(let limit): "\(path): a line nests deeper than \(limit)\(place)"
    case .tooManyValues(let limit):
      "\(path): a line holds more than \(limit) values, elements and members together\(place)"
    case .expandsTooFar(let limit):
      "\(path): an event grows beyond \(limit) bytes once what it repeats stands in it\(place)"
    case .listTooLong(let limit):
      "\(path): a list of a context has more than \(limit) items\(place)"
    case .contextsTooLong:
      "\(path): the contexts of the run hold so many items together that no reader would follow them\(place); "
        + "a context that drops or sums up what is old, or a trace split in several, can be kept"
    case .newerFormat(let version):
      "\(path): log format \(version) is newer than this agent-eval reads; update agent-eval"
    case .olderFormat(let version):
      "\(path): this log is of format \(version), which is read and not gone on with; "
        + "`agent-eval repair` makes a log of format \(RunStarted.currentFormatVersion) of it"
    case .badHeader where offset == 0:
      "\(path): this is no run log, or its very beginning is damaged"
    case .noTrailer where holdsNothing:
      "\(path): \(fault); run it again, or name another log"
    default:
      "\(path): damaged\(place): \(fault)\(rest)"
    }
  }

  /// Whether the log ends before its first event, so that there is nothing a missing end could belong to.
  private var holdsNothing: Bool { offset == 0 && (intactEvents ?? 0) == 0 }

  private var place: String {
    switch (block, offset) {
    case (let block?, let offset?): " in block \(block) at byte \(offset)"
    case (nil, let offset?): " at byte \(offset)"
    default: ""
    }
  }

  private var rest: String {
    switch intactEvents {
    case nil, 0?: ""
    case 1?: "; the event before it is intact"
    case let count?: "; the \(count) events before it are intact"
    }
  }

  private var soFar: String {
    intactEvents.map { "; \($0) \($0 == 1 ? "event was" : "events were") read before" } ?? ""
  }

  /// What is wrong, without the path.
  var fault: String {
    switch code {
    case .badHeader: "the header of the member is not that of a log"
    case .badLink: "the member does not follow the one before it"
    case .badCompression: "the compressed bytes cannot be inflated"
    case .badChecksum: "the lines are not those that were written"
    case .badTrailer: "an empty member is not the end that a writer writes"
    case .blockTooLarge(let limit): "a block holds more than \(limit) bytes"
    case .tooMuchText(let bytes, let limit):
      "the log comes to \(bytes) bytes of text up to here, and at most \(limit) may stand in so small a file; "
        + "nothing behind this is read"
    case .tooManyValuesInAll(let count, let limit):
      "the log comes to \(count) values up to here, elements and members together, and at most \(limit) may stand "
        + "in so small a file; nothing behind this is read"
    case .badJSON(let code): "a line is not JSON: \(code.phrase)"
    case .badLine(let what): what
    case .badReference(let reference):
      "the reference \(reference.prefix(80)) leads to nothing it may lead to"
    case .strayBytes: "bytes that belong to no member"
    case .noTrailer where holdsNothing: "the file is empty, or ends before its first event is whole"
    case .noTrailer: "the end is missing"
    case .lineTooLong(let limit): "a line is longer than \(limit) bytes"
    case .tooDeep(let limit): "a line nests deeper than \(limit)"
    case .tooManyValues(let limit):
      "a line holds more than \(limit) values, elements and members together"
    case .expandsTooFar(let limit):
      "an event grows beyond \(limit) bytes once what it repeats stands in it"
    default: description
    }
  }
}
