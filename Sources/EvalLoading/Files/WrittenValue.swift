public import AgentTrace

/// A single value as a person writes it: YAML, and so also JSON.
public enum WrittenValue {
  /// Reads a value from a text.
  ///
  /// - Parameters:
  ///   - text: one value in YAML or JSON.
  ///   - name: what the text is called in diagnostics.
  public static func read(_ text: String, named name: String) -> Loaded<JSONValue> {
    loaded(SourceDocument(Array(text.utf8), path: name))
  }

  /// Reads the value that a file holds.
  public static func load(_ path: String) -> Loaded<JSONValue> {
    loaded(SourceDocument(path: path))
  }

  private static func loaded(_ document: SourceDocument) -> Loaded<JSONValue> {
    let root = document.onlyRoot
    return Loaded(
      root?.value,
      document.diagnostics + (root == nil ? document.rootCountDiagnostics(of: "a value") : []),
      files: [document.path])
  }
}
