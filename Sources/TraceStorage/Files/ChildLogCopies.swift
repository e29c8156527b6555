import AgentTrace
import Glibc

extension LogFiles {
  /// Copies the logs of children that a log says have ended, and of all below them, from beside another log to beside
  /// this one, where they are not there yet: a fork that shares its parent's children has them too, wherever it goes.
  ///
  /// What is not closed is left where it is: nobody saw it end.
  ///
  /// - Parameters:
  ///   - path: the log that names them.
  ///   - other: the log beside which they are.
  /// - Throws: ``LogError`` where one of them can be neither read nor written; those before it are whole.
  public static func copyChildren(ofLog path: String, fromBeside other: String) throws(LogError) {
    let (from, to) = (RunTreeReader.folder(ofLog: other), RunTreeReader.folder(ofLog: path))
    var open = try children(ofLog: path)
    var known: Set<String> = []
    while let child = open.popLast() {
      guard child.end != nil, known.insert(child.runId).inserted,
        let source = RunTreeReader.log(of: child.runId, in: from),
        let copy = RunTreeReader.log(of: child.runId, in: to),
        try LogFile.exists(source, .real)
      else { continue }
      if try !LogFile.exists(copy, .real) { try copyFile(source, to: copy) }
      open += try children(ofLog: source)
    }
  }

  /// Nobody ever reads half of the copy.
  private static func copyFile(_ source: String, to path: String) throws(LogError) {
    let from = try LogFile.openForReading(source)
    let size = try from.size()
    let draft = "\(path).\(getpid()).part"
    let copy = try LogFile.open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
    do throws(LogError) {
      var offset = 0
      while offset < size {
        let bytes = try from.read(at: offset, count: min(1 << 20, size - offset))
        guard !bytes.isEmpty else { break }
        try copy.write(bytes)
        offset += bytes.count
      }
      try copy.sync()
      try copy.rename(to: path)
    } catch {
      copy.remove()
      // Another fork has brought it meanwhile.
      if error.code != .exists { throw error }
    }
  }
}
