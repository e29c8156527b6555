public import AgentTrace

extension LogVerifier {
  /// Checks a log and those of all runs below it; the report on each stands before those on its children.
  ///
  /// Besides what ``verify(path:expectedDigest:mayGoOn:)`` checks of each: that the log of each child is there, that it says
  /// that this event of this run started it, and that its last seal is the one that its parent saw.
  ///
  /// - Parameters:
  ///   - path: the log at the top; where only `….open` is there, that is read.
  ///   - expectedDigest: the digest that the last seal of the log at the top must have; `nil` for any.
  ///   - known: the logs that were checked already, which are not checked again; grows.
  public static func verifyTree(
    path: String, expectedDigest: Digest? = nil, knowing known: inout PathSet
  ) -> [VerifyReport] {
    known.insert(path)
    var (report, children) = verifyGatheringChildren(path: path, expectedDigest: expectedDigest)
    var reports: [VerifyReport] = []
    guard report.status == .whole || report.status == .torn else { return [report] }
    do throws(LogError) {
      let start = try start(ofLog: path)
      for child in children {
        if let fault = fault(in: child, of: start) {
          report.add(.init(block: nil, offset: nil, seq: child.seq, message: fault))
        }
        guard !known.contains(child.path), isThere(child) else { continue }
        reports += verifyTree(path: child.path, knowing: &known)
      }
    } catch {
      report.add(.init(block: nil, offset: nil, message: error.description))
    }
    return [report] + reports
  }

  /// What is wrong with what a child's log and its parent say of each other; `nil` where nothing is.
  private static func fault(in child: ChildLog, of parent: Event?) -> String? {
    let name = "the run of \(child.tool.prefix(utf8Bytes: 100)) (\(child.runId))"
    guard isThere(child) else {
      // It began and died before its first event was whole, or its log was moved.
      return child.end == nil ? nil : "\(name): its log is not beside this one"
    }
    guard let first = try? start(ofLog: child.path), let link = first.data["parent"] else {
      return "\(name): its log names no parent"
    }
    let isForked = parent?.data["parent"]?["relation"] == "fork"
    let isOfThisRun =
      link["runId"]?.stringValue.map { $0.hasSameUTF8(as: parent?.runId ?? "") } ?? false
    if isOfThisRun {
      guard link["seq"]?.intValue == child.seq, link["digest"]?.stringValue == child.digest else {
        return "\(name): its log says that another event started it"
      }
    } else if !isForked
      || link["runId"] != parent?.data["parent"]?["runId"]
        && !ChildStart.isRun(child.runId, ofCall: child.callId, attempt: child.attempt, in: link)
    {
      return "\(name): its log is that of another run's child"
    }
    guard let end = child.end else { return nil }
    guard let tail = try? LogTail(path: child.path) else {
      return "\(name): it had ended, and its log is not closed"
    }
    return tail.sealDigest.hex.hasSameUTF8(as: end.sealDigest)
      ? nil : "\(name): its log is not the one that this run saw end"
  }

  private static func start(ofLog path: String) throws(LogError) -> Event? {
    var reader = try LogReader(path: path)
    return try reader.next()
  }

  private static func isThere(_ child: ChildLog) -> Bool {
    let isThere = [child.path, child.path + LogFormat.openSuffix].map {
      (try? LogFile.exists($0, .real)) ?? true
    }
    return isThere.contains(true)
  }
}

extension VerifyReport {
  fileprivate mutating func add(_ finding: Finding) {
    status = .damaged
    if findings.count < Self.findingLimit { findings.append(finding) }
  }
}
