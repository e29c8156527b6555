import AgentTrace
import TraceStorage

/// A log read for judging.
struct RecordedRun {
  var trajectory: Trajectory
  /// The path of the file that was read.
  var path: String

  /// Reads what a judge looks at: contexts and replies are passed over unread.
  ///
  /// - Throws: `LogError` where the log is damaged or is none; a torn tail of an unfinished log and
  ///   declared gaps are not errors but gaps of the trajectory.
  init(path: String) throws(LogError) {
    var reader = try LogReader(path: path)
    trajectory = Trajectory()
    self.path = reader.path
    while let head = try reader.advance() {
      guard case .event(let seq, _, let type) = head else { continue }
      if Trajectory.types.contains(type), case .event(let event) = try reader.line() {
        trajectory.apply(event)
      } else {
        trajectory.passOver(seq)
      }
    }
    // Behind a final stop nothing of the run can be missing, whatever became of the file's end.
    if reader.ending != .closed, trajectory.stop?.isFinal != true { trajectory.markTorn() }
  }
}
