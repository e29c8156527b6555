import AgentTrace
import Glibc
import TraceStorage

/// The files that are measured. Made once, kept in a folder; the same seed gives the same bytes.
struct Corpus {
  let folder: String

  var runs: String { "\(folder)/runs" }
  /// One case a run, one a line.
  var cases: String { "\(folder)/cases.jsonl" }
  var yamlCases: String { "\(folder)/cases.yaml" }
  /// The paths of the runs, one a line.
  var list: String { "\(folder)/runs.txt" }
  var oneCase: String { "\(folder)/one.json" }
  /// One long run, 30 % of it said before.
  var long: String { "\(folder)/long.jsonl.gz" }
  var longCase: String { "\(folder)/long.json" }

  /// Makes what is missing: 2,000 runs of 25 events, and a run of so many bytes of lines.
  func make(longMiB: Int) throws {
    _ = mkdir(folder, 0o755)
    _ = mkdir(runs, 0o755)
    if access(cases, F_OK) != 0 { try makeRuns(2_000) }
    let stamp = "\(folder)/long-\(longMiB)"
    if longMiB > 0, access(stamp, F_OK) != 0 {
      _ = unlink(long)
      _ = unlink(long + ".open")
      try makeLong(bytes: longMiB << 20)
      try Files.write([], to: stamp)
    }
  }

  private func path(of number: Int) -> String { "\(runs)/run-\(number).jsonl.gz" }

  private func makeRuns(_ count: Int) throws {
    var (jsonl, yaml, list) = ("", "", "")
    for number in 0..<count {
      let path = path(of: number)
      _ = unlink(path)
      _ = unlink(path + ".open")
      let log = try LogWriter(creating: path, options: .init(durability: .none))
      var run = RunWriter(runId: "bench-\(number)", seed: UInt64(number)) {
        try log.append($0, isEffectAhead: false)
      }
      try run.start()
      let steps = 3 + number % 2
      for step in 1...steps { try run.step(step) }
      try run.finish(step: steps + 1, number % 10 == 9 ? .budgetExhausted : .success)
      _ = try log.close()
      list += path + "\n"
      let tool = RunWriter.tools[number % RunWriter.tools.count]
      let expected =
        number % 3 == 0
        ? #""toolsCalled":["\#(tool)"],"toolsNotCalled":["delete_*"],"stopReason":"success""#
        : #""toolsNotCalled":["delete_*","drop_table"],"stopReason":["success","budget_exhausted"]"#
      jsonl +=
        #"{"caseId":"case-\#(number)","input":"","recording":"\#(path)","expected":{\#(expected)}}"#
        + "\n"
      yaml += """
        ---
        caseId: case-\(number)
        input: ""
        recording: \(path)
        expected: {\(expected)}

        """
      if number == 0 {
        let one = jsonl
        try Files.write(Array(one.utf8), to: oneCase)
      }
    }
    try Files.write(Array(list.utf8), to: self.list)
    try Files.write(Array(yaml.utf8), to: yamlCases)
    try Files.write(Array(jsonl.utf8), to: cases)
  }

  private func makeLong(bytes: Int) throws {
    let log = try LogWriter(creating: long, options: .init(durability: .none))
    var lineBytes = 0
    var run = RunWriter(runId: "bench-long", seed: 99) { event in
      try log.append(event, isEffectAhead: false)
      lineBytes += event.approximateNewBytes
    }
    run.shape.repeatedPercent = 125
    try run.start()
    var step = 1
    while lineBytes < bytes {
      try run.step(step)
      step += 1
    }
    try run.finish(step: step)
    _ = try log.close()
    try Files.write(
      Array(
        #"{"caseId":"long","input":"","recording":"\#(long)","expected":{"stopReason":"success","toolsNotCalled":["delete_*"]}}"#
          .utf8), to: longCase)
  }
}

extension Event {
  /// About how many bytes its line has, without what a context says again.
  fileprivate var approximateNewBytes: Int {
    type == .contextBuilt ? 5_600 : CanonicalJSON.encode(.object(data)).count + 90
  }
}

/// Small files.
enum Files {
  struct Failure: Error { var path: String }

  static func write(_ bytes: [UInt8], to path: String) throws {
    guard let file = fopen(path, "w") else { throw Failure(path: path) }
    defer { fclose(file) }
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Failure(path: path) }
  }

  static func read(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "r") else { throw Failure(path: path) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&piece, 1, piece.count, file), count > 0 {
      bytes += piece[..<count]
    }
    return bytes
  }

  /// The bytes of all files of a folder together.
  static func sizes(in folder: String) -> Int {
    guard let listing = opendir(folder) else { return 0 }
    defer { closedir(listing) }
    var sum = 0
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { sum += size("\(folder)/\(name)") }
    }
    return sum
  }

  static func size(_ path: String) -> Int {
    var info = stat()
    return stat(path, &info) == 0 ? Int(info.st_size) : 0
  }
}
