import AgentTrace
import TraceStorage

/// A time until which a person gave an approval in a run that is to go on, or in one that is a part of it.
public enum PastDeadline {
  /// The first one that is past, though a clock that stands still has not come to it: a run that goes on with such a
  /// clock would let a call run on what is over.
  ///
  /// - Parameters:
  ///   - path: the log that goes on.
  ///   - now: the time, in microseconds since 1970.
  ///   - still: that of the clock; `nil` where it is not known.
  /// - Returns: the time as the approval has it; `nil` where there is none.
  /// - Throws: `LogError` where a log cannot be read.
  /// - Complexity: reads the log, and those of its parts, and of theirs.
  public static func first(inTreeOf path: String, now: Int, still: Int?) throws -> String? {
    var (open, seen): ([String], Set<String>) = ([path], [path])
    while let log = open.popLast() {
      var reader = try LogReader(path: log)
      while let event = try reader.next() {
        guard event.type == .approval, let until = event.data["until"]?.stringValue,
          let end = UTC.microsecondsSince1970(until), end <= now
        else { continue }
        if still.map({ $0 < end }) ?? true { return until }
      }
      for part in try LogFiles.parts(ofLog: log) where seen.insert(part.path).inserted {
        if try LogFiles.holdsEvents(part.path) { open.append(part.path) }
      }
    }
    return nil
  }
}
