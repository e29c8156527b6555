public import AgentTrace

/// Reads files that hold nothing but a value: what is put in place of a decision or a result.
public enum ValueLoader {
  /// Reads the one value of a JSON or YAML file; any ending but `.json` is read as YAML.
  public static func load(
    _ path: String, limits: SourceLimits = SourceLimits()
  ) -> Loaded<JSONValue> {
    let document = SourceDocument(path: path, limits: limits)
    let root = document.onlyRoot(of: "a value")
    return Loaded(
      root?.value,
      document.diagnostics + (root == nil ? document.rootCountDiagnostics(of: "a value") : []),
      files: [path])
  }
}
