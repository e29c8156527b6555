import AgentTrace
import TraceStorage

/// Writes the runs of one file, one after another.
struct RunWriter {
  private let format: ExportFormat
  private let table: ExportTable
  private let version: String
  private let file: ExportFile
  private var count = 0
  private var zip = ZipWriter()
  private var heads: [InspectExport.Head] = []
  private var summaries: [JSONValue] = []

  init(_ format: ExportFormat, table: ExportTable, version: String, to file: ExportFile) {
    self.format = format
    self.table = table
    self.version = version
    self.file = file
  }

  /// Writes a run.
  ///
  /// - Parameter place: where its spans stand, in a form that has any.
  /// - Returns: whether its log went along, where it was to.
  mutating func put(
    _ run: ExportedRun, at place: SpanPlace? = nil, results: [RunResult]
  ) throws(ExportError) -> Bool {
    let story = run.story
    defer { count += 1 }
    switch format {
    case .otlp, .otlpJSON:
      var spans = SpanExport.spans(of: story, at: place, results: results)
      if let log = run.log { SpanExport.carry(log, on: &spans) }
      if format == .otlp {
        try file.write(OtlpExport.message(spans, of: story, version: version))
      } else {
        try put(line: OtlpExport.json(spans, of: story, version: version))
      }
      return true
    case .atif:
      let (value, isCarried) = OwnKey.carrying(
        run.log, in: AtifExport.value(of: story, results: results), at: ["extra"])
      try put(line: value)
      return isCarried
    case .openAI, .anthropic:
      let plain =
        format == .openAI
        ? OpenAIExport.value(of: story, results: results)
        : AnthropicExport.value(of: story, results: results)
      let (value, isCarried) = OwnKey.carrying(run.log, in: plain, at: [])
      try put(line: value)
      return isCarried
    case .inspect: return try putSample(run, results)
    case .chromeTrace:
      for event in ChromeTrace.events(of: story, process: count + 1, results: results) {
        try file.write(Array((chromeCount == 0 ? "{\"traceEvents\":[\n" : ",\n").utf8))
        try file.write(CanonicalJSON.encode(event, form: .plain))
        chromeCount += 1
      }
      return true
    case .csv, .ndjson:
      try putHead()
      var text = ""
      for row in table.rows(of: story, log: run.path, results: results) {
        text += format == .csv ? TableText.csv(row) : TableText.json(row, table.columns)
      }
      try file.write(Array(text.utf8))
      return true
    }
  }

  private var chromeCount = 0
  private var hasHead = false

  private mutating func putHead() throws(ExportError) {
    guard format == .csv, !hasHead else { return }
    hasHead = true
    try file.write(Array(TableText.csv(table.columns.map(JSONValue.string)).utf8))
  }

  private func put(line value: JSONValue) throws(ExportError) {
    try file.write(CanonicalJSON.encode(value, form: .plain) + [UInt8(ascii: "\n")])
  }

  private mutating func putSample(
    _ run: ExportedRun, _ results: [RunResult]
  ) throws(ExportError) -> Bool {
    let number = count + 1
    let sample = InspectExport.sample(of: run.story, number: number, results: results)
    let (value, isCarried) = OwnKey.carrying(run.log, in: .object(sample), at: ["metadata"])
    try file.write(
      try zip.member(
        InspectExport.memberName(ofSample: number), CanonicalJSON.encode(value, form: .plain)))
    heads.append(InspectExport.Head(run.story))
    summaries.append(InspectExport.summary(of: sample))
    return isCarried
  }

  /// Writes what stands behind the last run, and gives the file its name.
  mutating func finish() throws(ExportError) {
    switch format {
    case .inspect:
      let head = InspectExport.header(heads, version: version)
      var start = JSONObject()
      for key in ["version", "eval", "plan"] { start[key] = head[key] }
      for (name, value) in [
        ("_journal/start.json", JSONValue.object(start)), ("summaries.json", .array(summaries)),
        ("header.json", .object(head)),
      ] {
        try file.write(try zip.member(name, CanonicalJSON.encode(value, form: .plain)))
      }
      try file.write(zip.directory())
    case .chromeTrace:
      let head = chromeCount == 0 ? "{\"traceEvents\":[" : ""
      try file.write(Array((head + "\n],\"displayTimeUnit\":\"ms\"}\n").utf8))
    case .csv: try putHead()
    default: break
    }
    try file.finish()
  }
}

extension OwnKey {
  /// A value with a log under our own key, below some others; and whether it is there, where there was one.
  static func carrying(
    _ log: [UInt8]?, in value: JSONValue, at path: [String]
  ) -> (JSONValue, isCarried: Bool) {
    guard let log else { return (value, true) }
    let beside = CarriedLog.taking(from: value, at: path).beside
    guard let members = try? CarriedLog.members(log: log, beside: beside) else {
      return (value, false)
    }
    return (adding(members, to: value, at: path), true)
  }

  private static func adding(
    _ members: JSONObject, to value: JSONValue, at path: [String]
  ) -> JSONValue {
    var object = value.objectValue ?? [:]
    if let first = path.first {
      object[first] = adding(members, to: object[first] ?? [:], at: Array(path.dropFirst()))
    } else {
      var own = object[CarriedLog.key]?.objectValue ?? [:]
      for member in members { own[member.key] = member.value }
      object[CarriedLog.key] = .object(own)
    }
    return .object(object)
  }
}
