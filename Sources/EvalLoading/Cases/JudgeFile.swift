public import AgentRuntime
import AgentTrace
public import TraceJudging

/// The model of a rubric: what `model` holds in an agent file, or the path of one.
enum JudgeFile {
  /// What the schema of cases says of it.
  static var schema: JSONValue {
    [
      "description": "Which model judges: the path of an agent file, or what model holds in one.",
      "if": ["type": "object"], "then": ModelFile.shape.schema(),
      "else": ["type": "string", "minLength": 1],
    ]
  }

  /// Looks at the models of the rubrics of an `expected` that was read: mistakes in them are reported, and
  /// files that they name are noted.
  static func check(expected value: JSONValue, _ reader: FieldReader) {
    each(of: value, reader) { expectations in
      guard let judge = expectations["judge"] else { return }
      reader.within(.key("judge")) {
        each(of: judge, reader) { rule in
          guard let model = rule["model"] else { return }
          reader.within(.key("model")) { check(model: model, reader) }
        }
      }
    }
  }

  private static func check(model: JSONValue, _ reader: FieldReader) {
    if case .object = model {
      _ = ModelFile.shape.read(model, reader)
    } else {
      _ = Shape<String>.path(to: .agent).read(model, reader)
    }
  }

  /// One mapping, or each of a list of them.
  private static func each(
    of value: JSONValue, _ reader: FieldReader, _ look: (JSONValue) -> Void
  ) {
    guard let elements = value.arrayValue else { return look(value) }
    for (index, element) in elements.enumerated() {
      reader.within(.index(index)) { look(element) }
    }
  }
}

/// Reads the model that a rubric names.
public enum JudgeLoader {
  /// The path of the agent file that a rubric names; `nil` where its model stands in the case itself.
  public static func path(of rule: JudgeRule) -> String? {
    guard case .string(let path) = rule.model else { return nil }
    return SourceFolder(ofFile: (rule.folder ?? ".") + "/case").resolve(path)
  }

  /// Reads the model.
  ///
  /// - Returns: the model; or everything that is wrong with it, or with the file that holds it.
  public static func load(_ rule: JudgeRule) -> Loaded<ModelDefinition> {
    if let path = path(of: rule) {
      let loaded = AgentLoader.load(path)
      guard loaded.value?.command == nil else {
        let fault = Diagnostic(
          .error, path: path, line: 1, key: "command",
          message: "a command does not judge; name an agent file with a “model”")
        return Loaded(nil, loaded.diagnostics + [fault], files: loaded.files)
      }
      return Loaded(loaded.value?.model, loaded.diagnostics, files: loaded.files)
    }
    let reader = FieldReader(folder: SourceFolder(ofFile: (rule.folder ?? ".") + "/case"))
    let model = ModelFile.shape.read(rule.model, reader)
    return Loaded(
      model,
      reader.findings.map {
        Diagnostic(
          $0.severity, path: "judge.model", key: $0.path.dotted, message: $0.message,
          hint: $0.hint)
      })
  }
}
