import CFloor
import Glibc
import TraceImporting

/// Traces in OTLP's JSON, made of the runs of the corpus: into the call graph, and into logs.
struct Importing {
  private static let runs = 400

  let folder: String
  /// One request a line, a run each.
  var traces: String { "\(folder)/traces.jsonl" }
  var logs: String { "\(folder)/imported" }
  var script: String { "\(folder)/extract.py" }

  init(in corpus: Corpus) { folder = corpus.folder }

  /// Makes what is missing.
  func make(from corpus: Corpus, with binary: String) throws {
    if access(traces, F_OK) != 0 {
      let paths = try Files.read(corpus.list).split(separator: 0x0a).prefix(Self.runs)
        .map { String(decoding: $0, as: UTF8.self) }
      _ = Processes.run([binary, "export", "otlp-json", "--plain", "--output", traces] + paths)
    }
    try Files.write(Array(Extraction.script.utf8), to: script)
  }

  /// Reads each request into its call graph, and writes nothing.
  static func graph(_ path: String) throws -> (lines: Int, runs: Int, seconds: Double) {
    let lines = try Files.read(path).split(separator: 0x0a).map(Array.init)
    var runs = 0
    let start = Processes.ownCPU()
    for line in lines { runs += try ReceivedRuns([line], format: .otlp).runs.count }
    return (lines.count, runs, Processes.ownCPU() - start)
  }

  /// Deflates what stands in logs, a block at once, as their writer did.
  static func deflate(_ folder: String) throws -> Double {
    var texts: [[UInt8]] = []
    guard let entries = opendir(folder) else { throw Files.Failure(path: folder) }
    defer { closedir(entries) }
    while let entry = readdir(entries) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      var count = 0
      guard name.hasSuffix(".gz"), let text = floor_text("\(folder)/\(name)", &count) else {
        continue
      }
      texts.append(Array(UnsafeBufferPointer(start: text, count: count)))
      free(text)
    }
    guard let deflater = floor_deflater(6) else { return .nan }
    defer { floor_free(deflater) }
    let start = Processes.ownCPU()
    for text in texts {
      var rest = text[...]
      while !rest.isEmpty {
        let block = Array(rest.prefix(256 << 10))
        rest = rest.dropFirst(block.count)
        floor_reset(deflater)
        _ = floor_deflate(deflater, block, block.count, 1)
      }
    }
    return Processes.ownCPU() - start
  }
}

extension Table {
  /// `AGENT_EVAL_PYTHON` names a Python with orjson; without it that row is left out.
  func importing() {
    guard isWanted("importing") else { return }
    let source = Importing(in: corpus)
    guard (try? source.make(from: corpus, with: binary)) != nil else { return }
    let size = Double(Files.size(source.traces))
    func speed(_ seconds: Double) -> String { "\(figure(size / 1e6 / seconds, digits: 0)) MB/s" }
    let graph = seconds([this, "work", "graph", source.traces])
    var floor: (name: String, seconds: Double)?
    if let python = getenv("AGENT_EVAL_PYTHON").map({ String(cString: $0) }) {
      floor = ("orjson and Python", seconds([python, source.script, source.traces]))
    }
    row(
      "importing \(figure(size / 1e6, digits: 0)) MB of OTLP in JSON: into the call graph, unwritten",
      cost(graph), floor?.name ?? "", floor.map { cost($0.seconds) },
      speed(graph) + (floor.map { ", \(figure($0.seconds / graph)) × faster" } ?? ""),
      "≥ 60 MB/s, ≥ 3 ×")
    let imports = medians([[binary, "import", source.traces, "--out", source.logs]]) {
      _ = Processes.run(["/bin/rm", "-rf", source.logs])
    }[0]
    let deflating = seconds([this, "work", "deflate-logs", "\(source.logs)/traces"])
    row(
      "importing the same into logs", imports, "zlib deflating them", cost(deflating),
      times(imports, cost(deflating)), "≤ 1.3 ×")
  }

  private func cost(_ seconds: Double) -> Cost {
    Cost(cpuSeconds: seconds, wallSeconds: seconds, peakBytes: 0, exitCode: 0)
  }

  /// The first figure that a command prints, as a median.
  private func seconds(_ command: [String]) -> Double {
    let output = "\(corpus.folder)/output"
    return (0..<rounds).map { _ in
      _ = Processes.run(command, output: output)
      let text = String(decoding: (try? Files.read(output)) ?? [], as: UTF8.self)
      return text.split(whereSeparator: \.isWhitespace).first.flatMap { Double($0) } ?? .nan
    }.median
  }
}
