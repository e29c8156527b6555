import AgentTrace
import FuzzSupport
import TraceImporting
import TraceStorage

private let scratch = Scratch()

/// Holds the importers to what they promise of any file: it is imported or refused, the same each
/// time, and every log they write verifies.
///
/// The first byte chooses format and name, the rest is the file.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzImporters(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let choice = Int(input.byte())
  let formats: [ImportFormat?] = [nil] + ImportFormat.allCases
  let format = formats[choice % 4]
  let name = choice / 4 % 2 == 0 ? "trace.json" : "trace.jsonl"
  scratch.clear()
  scratch.write(input.bytes, to: name)
  let first = run(format, name, into: "one")
  require(!first.isEmpty, "a file without a report")
  let logs = scratch.files(below: "one")
  for report in first {
    explain(CanonicalJSON.string(report.json))
    check(report)
  }
  let named = first.compactMap { report in
    if case .imported(let log, _) = report.outcome { log } else { nil }
  }
  require(Set(named).count == named.count, "two runs in one log")
  require(Set(named) == Set(logs.map(scratch.file)), "the folder holds other logs than reported")
  require(run(format, name, into: "one") == first, "importing again says something else")
  require(scratch.files(below: "one") == logs, "importing again wrote something")
  _ = run(format, name, into: "two")
  for log in logs {
    let other = "two" + log.dropFirst(3)
    require(scratch.read(log) == scratch.read(other), "importing twice gives other bytes")
  }
  return 0
}

private func run(_ format: ImportFormat?, _ name: String, into folder: String) -> [ImportReport] {
  var reports: [ImportReport] = []
  do {
    try Importer(format: format, output: scratch.file(folder)).run(paths: [scratch.file(name)]) {
      reports.append($0)
    }
  } catch {
    violated("importing threw \(error)")
  }
  return reports
}

private func check(_ report: ImportReport) {
  _ = CanonicalJSON.encode(report.json)
  switch report.outcome {
  case .failed(let error):
    require(!error.description.isEmpty, "an error without words")
    if case .unwritable(_, let reason) = error.code { violated("unwritable: \(reason)") }
    if case .outputDiffers = error.code { violated("two runs of a file in one log") }
  case .imported(let log, let counts):
    let verified = LogVerifier.verify(path: log)
    require(
      verified.status == .whole,
      "an imported log is \(verified.status): \(verified.findings.first?.description ?? "")")
    check(log, counts, verified)
  }
}

private func check(_ log: String, _ counts: RunCounts, _ verified: VerifyReport) {
  do {
    var reader = try LogReader(path: log)
    var number = 0
    var folded = RunCounts()
    while let event = try reader.next() {
      require((event.type == .runStarted) == (number == 0), "a run does not begin with its start")
      if number == 0 {
        require(event.data["source"]?["format"] != nil, "the start does not say its source")
      }
      if event.type == .stop {
        require(event.data["final"] == true, "an imported stop may be resumed")
      }
      folded.apply(event)
      number += 1
    }
    require(number == verified.events, "the verifier counts other events")
    require(folded == counts, "the report counts something else")
    let tail = try LogTail(path: log)
    require(tail.events == number, "the end of the log counts other events")
    require(tail.stop?.data["reason"]?.stringValue == counts.stopReason, "another stop")
  } catch {
    violated("an imported log cannot be read: \(error)")
  }
}
