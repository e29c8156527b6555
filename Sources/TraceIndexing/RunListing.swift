public import AgentTrace
import SQLite

/// Which runs a list shows. Each condition that is given must hold.
public struct RunFilter: Sendable {
  /// Says whether a name is meant: a glob, for example.
  public typealias Names = @Sendable (String) -> Bool

  /// Any of these stop reasons; `none` is a run that has not stopped. Empty for all.
  public var stopReasons: [String] = []
  /// For each, the run executed a call of such a tool. Calls of a simulated user do not count.
  public var tools: [Names] = []
  /// For none, the run executed a call of such a tool.
  public var toolsNot: [Names] = []
  /// The run was made for such a case; `nil` for any run.
  public var caseId: Names?
  /// The run's agent has such a name; `nil` for any run.
  public var agent: Names?
  /// The run's decisions were made by such a model; `nil` for any run.
  public var model: Names?
  /// Each holds of the settings of the run's models (``ModelSetting``).
  public var settings: [ModelSetting] = []
  /// Runs that began at this time or later, as `YYYY-MM-DDTHH:MM:SS`, in UTC; runs whose time was
  /// not recorded are left out.
  public var since: String?

  /// The run acted for such a tenant; `nil` for any run.
  public var tenant: Names?
  /// The run is a call or a task of the run with this identifier; `nil` for any run.
  public var parent: String?
  /// Whether runs that are parts of others (agents that were called, tasks of pipelines) are let through at all.
  public var showsChildren = true
  /// Which runs come first.
  public var order = Order.begun

  /// Which of two runs comes first; of equal ones the one whose path does.
  public enum Order: Sendable {
    /// The one that began later, as it says itself; those that do not say it come last.
    case begun
    /// The one whose log was written later, by the time of its file.
    case written
  }

  /// Lets every run through.
  public init() {}

  var isEmpty: Bool {
    stopReasons.isEmpty && tools.isEmpty && toolsNot.isEmpty && caseId == nil && agent == nil
      && since == nil && model == nil && settings.isEmpty && tenant == nil && parent == nil
  }
}

/// A setting of a model, and its value.
public struct ModelSetting: Sendable, Hashable {
  /// The purpose that the model is asked for, and the keys that lead to the setting.
  public var path: [String]
  /// The value; null where it is not set.
  public var value: JSONValue

  /// Reads `decide.temperature=0.2`: the value is JSON, or text where it is none. `nil` where there is
  /// no purpose, key or value.
  public init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    path = parts[0].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard path.count >= 2, !path.contains("") else { return nil }
    let plain = String(parts[1])
    value = (try? JSONValue(parsing: plain)) ?? .string(plain)
  }

  /// Whether settings hold it, numbers by their value.
  func holds(in models: JSONValue) -> Bool {
    let found = models[JSONPointer(tokens: path)] ?? .null
    return found.byValue == value.byValue
  }
}

/// A run in a list.
public struct ListedRun: Sendable, Hashable {
  /// How often a tool was called, by what became of the calls.
  public struct ToolCount: Sendable, Hashable {
    /// The tool's name.
    public var tool: String
    /// `ok`, `error`, `refused`, `unknown`, `returned`, or `none` for calls with neither start nor result.
    public var status: String
    /// How many of the run's calls.
    public var count: Int
  }

  private var values: [JSONValue]
  /// By tool, then by status; both by their bytes.
  public var tools: [ToolCount] = []
  /// By their bytes.
  public var tags: [String] = []

  /// A column of `runs`; `null` where there is no such column.
  public subscript(column: String) -> JSONValue {
    IndexSchema.runColumns.firstIndex(of: column).map { values[$0] } ?? .null
  }

  /// The run as one JSON object: the columns of `runs` that have a value, but for the fingerprint;
  /// `tools` and `tags`.
  public var json: JSONValue {
    var object = JSONObject()
    for (name, value) in zip(IndexSchema.runColumns, values)
    where !value.isNull && name != "fingerprint" {
      object[name] = name == "final" ? .bool(value.intValue == 1) : value
    }
    object["tags"] = JSONValue(tags)
    object["tools"] = .array(
      tools.map {
        ["tool": .string($0.tool), "status": .string($0.status), "count": JSONValue($0.count)]
      })
    return .object(object)
  }

  init(_ row: borrowing Row) {
    values = []
    values.reserveCapacity(IndexSchema.runColumns.count)
    for column in IndexSchema.runColumns.indices { values.append(row.value(column).json) }
  }
}

extension RunIndex {
  /// Shows the runs that a filter lets through to `body`, in its order. Ends when `body` returns false.
  ///
  /// - Throws: ``IndexError`` where the index cannot be read; what `body` throws.
  public func list(_ filter: RunFilter, _ body: (ListedRun) throws -> Bool) throws {
    do {
      try connection.read { try RunLister($0, filter).show(body) }
    } catch let error as SQLiteError {
      throw IndexError(error, path: path ?? "the index in memory")
    }
  }
}

private struct RunLister {
  private let filter: RunFilter
  private let runs: Statement
  private let tools: Statement
  private let executed: Statement
  private let tags: Statement

  init(_ connection: Connection, _ filter: RunFilter) throws {
    self.filter = filter
    runs = try Statement(
      connection,
      """
      SELECT \(IndexSchema.runColumns.joined(separator: ",")) FROM runs
      WHERE ?1 IS NULL OR startedAt >= ?1
      ORDER BY \(filter.order == .written ? "modifiedAt DESC, " : "")startedAt IS NULL, startedAt DESC, path
      """, to: "list the runs")
    tools = try Statement(
      connection,
      """
      SELECT tool, coalesce(status, 'none') AS outcome, count(*) FROM calls WHERE path = ?
      GROUP BY tool, outcome ORDER BY tool, outcome
      """, to: "count the calls of a run")
    executed = try Statement(
      connection,
      """
      SELECT DISTINCT tool FROM calls
      WHERE path = ? AND ofUser = 0 AND status IN ('ok', 'error', 'unknown', 'returned')
      """, to: "read the tools of a run")
    tags = try Statement(
      connection, "SELECT tag FROM tags WHERE path = ? ORDER BY tag", to: "read the tags of a run")
  }

  func show(_ body: (ListedRun) throws -> Bool) throws {
    try runs.rows([.init(filter.since)]) { row in
      var run = ListedRun(row)
      let path = Value.text(run["path"].stringValue ?? "")
      guard try lets(run, path) else { return true }
      try tools.rows([path]) { row in
        run.tools.append(
          .init(
            tool: row.text(0) ?? "", status: row.text(1) ?? "", count: row.integer(2) ?? 0))
        return true
      }
      try tags.rows([path]) { row in
        run.tags.append(row.text(0) ?? "")
        return true
      }
      return try body(run)
    }
  }

  private func holdsSettings(_ run: ListedRun) -> Bool {
    guard !filter.settings.isEmpty else { return true }
    guard let models = run["models"].stringValue.flatMap({ try? JSONValue(parsing: $0) }) else {
      return false
    }
    return filter.settings.allSatisfy { $0.holds(in: models) }
  }

  private func lets(_ run: ListedRun, _ path: Value) throws -> Bool {
    if !filter.showsChildren, filter.parent == nil, run["depth"].intValue ?? 0 > 0 { return false }
    if filter.isEmpty { return true }
    // Of a log that could not be read nothing holds, not even that a tool was not called.
    if run["readFrom"] == "nothing" { return false }
    let stop = run["stopReason"].stringValue ?? "none"
    guard filter.stopReasons.isEmpty || filter.stopReasons.contains(stop),
      filter.caseId.map({ $0(run["caseId"].stringValue ?? "") }) ?? true,
      filter.agent.map({ $0(run["agent"].stringValue ?? "") }) ?? true,
      filter.model.map({ $0(run["model"].stringValue ?? "") }) ?? true, holdsSettings(run),
      filter.tenant.map({ $0(run["tenantId"].stringValue ?? "") }) ?? true,
      filter.parent.map({ run["parentRunId"].stringValue?.hasSameUTF8(as: $0) ?? false }) ?? true
    else { return false }
    guard !filter.tools.isEmpty || !filter.toolsNot.isEmpty else { return true }
    var names: [String] = []
    try executed.rows([path]) { row in
      names.append(row.text(0) ?? "")
      return true
    }
    return filter.tools.allSatisfy { names.contains(where: $0) }
      && !filter.toolsNot.contains { names.contains(where: $0) }
  }
}
