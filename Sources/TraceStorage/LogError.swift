public import AgentTrace

/// Why a log cannot be written, or read past some byte. Never quotes what the log holds.
public struct LogError: Error, Hashable, Sendable {
  /// What is wrong; cases may be added.
  public enum Code: Hashable, Sendable {
    // Before anything is read or written.
    /// A system call failed with this `errno`.
    case system(operation: String, errno: Int32)
    /// No log of that name is there, neither closed nor open.
    case notFound
    /// There is something else than a file: a named pipe, a device.
    case noRegularFile
    /// A log of that name is there already.
    case exists
    /// A writer holds the log; its process id, where the system tells.
    case inUse(holder: Int?)
    /// A writer left the log behind without closing it.
    case leftOpen
    /// The run in it has ended for good.
    case runIsOver
    /// The name is not that of a log.
    case badName

    /// No event is in the log, and none is known to be missing.
    case noEvents

    // A follower.
    /// The file that is followed is no longer at its path.
    case fileGone
    /// The file that is written was removed, moved, or another is in its place.
    case noLongerAtItsPlace
    /// Another file is at the path of the one that is followed.
    case fileReplaced
    /// The file that is followed holds less than was read of it.
    case fileShrank

    // The writer.
    /// An earlier failure stopped the writer; nothing was written since.
    case writerStopped
    /// An event has another number than the next one.
    case wrongNumber(expected: Int, found: Int)
    /// A line exceeds a limit of the format.
    case lineTooLong(limitBytes: Int)
    case tooDeep(limit: Int)
    /// A line holds more values, elements and members together, than a reader makes of one.
    case tooManyValues(limit: Int)
    /// An event is too large once everything said before stands in it again.
    case expandsTooFar(limitBytes: Int)
    /// A list of a context packet has more items than a reader takes.
    case listTooLong(limitItems: Int)
    /// All contexts together would ask readers for more items than they follow in a file of this size.
    case contextsTooLong

    // Damage.
    /// A member's header is not the one of this format.
    case badHeader
    /// A member's link to the one before it does not fit.
    case badLink
    /// The compressed bytes cannot be inflated.
    case badCompression
    /// The lines of a block are not those its checksum or length was made of.
    case badChecksum
    /// An empty member that is not byte for byte a trailer.
    case badTrailer
    /// A block holds more than a reader takes.
    case blockTooLarge(limitBytes: Int)
    /// The blocks up to here hold more text than any writer puts into so many bytes of a file.
    case tooMuchText(bytes: Int, limitBytes: Int)
    /// The lines up to here hold more values, elements and members together, than any writer puts into so many bytes
    /// of a file.
    case tooManyValuesInAll(count: Int, limit: Int)
    /// A line is not JSON.
    case badJSON(JSONError.Code)
    /// A line is neither event nor mark, or its keys have other kinds than they should.
    case badLine(String)
    /// A reference leads nowhere, forward or to something that may not be referred to.
    case badReference(String)
    /// Bytes that belong to no member.
    case strayBytes
    /// The log has its plain name, but no trailer at its end.
    case noTrailer
    /// A newer version of the format.
    case newerFormat(Int)
    /// A log of an older format, which can be read and not gone on with.
    case olderFormat(Int)
  }

  /// What is wrong.
  public var code: Code
  /// The log, or the folder that the system could not work with.
  public var path: String
  /// Bytes from the start of the file to the member or line at fault; `nil` where none is.
  public var offset: Int?
  /// The member at fault, from 0.
  public var block: Int?
  /// Events before the fault, all readable.
  public var intactEvents: Int?

  /// What is left out is not known, or has nothing to do with the fault.
  public init(
    _ code: Code, path: String, offset: Int? = nil, block: Int? = nil, intactEvents: Int? = nil
  ) {
    self.code = code
    self.path = path
    self.offset = offset
    self.block = block
    self.intactEvents = intactEvents
  }

  /// Whether the bytes of the file are at fault, rather than the system or the caller.
  public var isDamage: Bool {
    switch code {
    case .badHeader, .badLink, .badCompression, .badChecksum, .badTrailer, .blockTooLarge, .badJSON,
      .badLine,
      .badReference, .strayBytes, .noTrailer, .lineTooLong, .tooDeep, .tooManyValues,
      .expandsTooFar, .tooMuchText, .tooManyValuesInAll:
      true
    default: false
    }
  }

  /// Whether nothing behind it is read either, also by those who pass over what is damaged: that would cost no less.
  var endsReading: Bool {
    switch code {
    case .tooMuchText, .tooManyValuesInAll: true
    default: false
    }
  }
}
