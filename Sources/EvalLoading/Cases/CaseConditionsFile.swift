import AgentTrace

/// The keys of a case, of what cases share and of a row of a table that say what runs are made with.
enum CaseConditionsFile {
  /// The keys, read into a part of the target.
  static func fields<Target>(
    _ part: any WritableKeyPath<Target, CaseConditions> & Sendable
  ) -> [Field<Target>] {
    [
      field(
        "policyContext", AgentFile.policyContext, part,
        "Whom the agent runs for, in place of what its file says, key by key."
      ) { $0.policyContext = $1 },
      field(
        "policy", PolicyFile.inlineOrPath, part,
        "The rules about which calls may run, in place of the agent's own."
      ) { $0.policy = $1 },
      field(
        "limits", AgentFile.givenLimits, part,
        "What the run may use at most; of these and the agent's own the smaller ones count."
      ) { $0.limits = $1 },
      field(
        "memory", notes, part,
        "Notes that are read when the run starts, beside the agent's own."
      ) { $0.memory = $1 },
      field("seed", .count, part, "What the run's identifier is made from.") { $0.seed = $1 },
      field(
        "authorizers", AuthorizerFile.authorizers, part,
        "Whom rules of the policy ask, in place of its authorizers of the same names."
      ) { $0.authorizers = $1 },
    ]
  }

  private static let plainFields: [Field<CaseConditions>] = fields(\.self)
  /// The keys.
  static let keys = plainFields.map(\.name)
  /// The schemas of the keys, as those of files refer to them.
  static var schemas: JSONValue { FileSchema.object(plainFields)["properties"] ?? [:] }
  /// What `$defs` of a schema says of them: they stand at several places.
  static var definitions: JSONObject {
    [
      "runPolicyContext": AgentFile.policyContext.schema(),
      "runPolicy": PolicyFile.inlineOrPath.schema(), "runLimits": AgentFile.givenLimits.schema(),
      "runMemory": notes.schema(), "runSeed": Shape<Int>.count.schema(),
      "runAuthorizers": AuthorizerFile.authorizers.schema(),
    ]
  }

  private static let notes = Shape<[MemoryNote]>.list(of: AgentFile.note)

  /// What a mapping says by these keys, the others of which mean something else.
  static func read(among object: JSONObject, _ reader: FieldReader) -> CaseConditions {
    var conditions = CaseConditions()
    reader.read(
      JSONObject(object.filter { keys.contains($0.key) }.map { ($0.key, $0.value) }),
      into: &conditions, plainFields)
    return conditions
  }

  /// A key, of which is kept how it stands there.
  private static func field<Target, Value>(
    _ name: String, _ shape: Shape<Value>,
    _ part: any WritableKeyPath<Target, CaseConditions> & Sendable, _ note: String,
    set: @escaping @Sendable (inout CaseConditions, Value) -> Void
  ) -> Field<Target> {
    let definition = "run" + name.prefix(1).uppercased() + name.dropFirst()
    let written = Shape<(Value, JSONValue)>(["$ref": .string("#/$defs/\(definition)")]) {
      value, reader in
      shape.read(value, reader).map { ($0, value) }
    }
    return Field(name, written, note) { target, found in
      set(&target[keyPath: part], found.0)
      target[keyPath: part].source[name] = found.1
    }
  }
}
