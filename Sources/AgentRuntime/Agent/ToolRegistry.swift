public import AgentTrace
import TraceMatching

/// The tools of an agent by name, with their schemas compiled.
public struct ToolRegistry: Sendable {
  /// Why an agent's tools cannot be used.
  public struct RegistryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the tool at fault.
    public var tool: String
    /// What is wrong with it, in words.
    public var reason: String

    public var description: String { "tool “\(tool)”: \(reason)" }
  }

  private struct Entry: Sendable {
    var registration: ToolRegistration
    var inputSchema: JSONSchema
    var outputSchema: JSONSchema?
  }

  private var entries: [String: Entry] = [:]

  /// - Throws: ``RegistryError`` where a name stands twice or a schema cannot be compiled.
  public init(_ registrations: [ToolRegistration]) throws(RegistryError) {
    for registration in registrations {
      let name = registration.definition.name
      guard entries[name] == nil else {
        throw RegistryError(tool: name, reason: "the name stands twice")
      }
      entries[name] = Entry(
        registration: registration,
        inputSchema: try Self.compile(
          registration.definition.inputSchema, of: name, named: "inputSchema"),
        outputSchema: try registration.definition.outputSchema.map { schema throws(RegistryError) in
          try Self.compile(schema, of: name, named: "outputSchema")
        })
    }
  }

  private static func compile(
    _ schema: JSONValue, of tool: String, named name: String
  ) throws(RegistryError) -> JSONSchema {
    do { return try JSONSchema(compiling: schema) } catch {
      throw RegistryError(tool: tool, reason: "\(name): \(error)")
    }
  }

  /// The same registry with tools of sources. Those that cannot be used are left out: whoever took them in
  /// has looked at that.
  func adding(_ registrations: [ToolRegistration]) -> ToolRegistry {
    var registry = self
    for registration in registrations {
      guard let other = try? ToolRegistry([registration]) else { continue }
      registry.entries.merge(other.entries) { own, _ in own }
    }
    return registry
  }

  /// The tool of a name; `nil` where there is none.
  public subscript(name: String) -> ToolRegistration? { entries[name]?.registration }

  /// What a call decides; `nil` where it is one that runs.
  func decision(of call: ProposedCall) -> DecisionTool? {
    if case .decision(let tool)? = self[call.name]?.implementation { tool } else { nil }
  }

  /// What is wrong with a call, in words; `nil` where it may go to policy.
  ///
  /// - Parameters:
  ///   - call: What the model proposed; its input is held against the tool's schema.
  ///   - disclosed: The names that the model was told of; a call to any other is unknown.
  public func fault(in call: ProposedCall, disclosed: [String]) -> String? {
    guard let entry = entries[call.name], !isUnknown(call, disclosed: disclosed) else {
      let nearest = Spelling.nearest(to: call.name, among: disclosed)
      return "unknown tool “\(call.name.prefix(utf8Bytes: 100))”"
        + (nearest.map { "; did it mean “\($0)”?" } ?? "")
    }
    guard let violation = entry.inputSchema.validate(call.input).first else { return nil }
    return "input of \(call.name)\(violation.pointer): \(violation.message)"
  }

  /// Whether the model was told of no tool that a call names.
  public func isUnknown(_ call: ProposedCall, disclosed: [String]) -> Bool {
    entries[call.name] == nil || !disclosed.contains { $0.hasSameUTF8(as: call.name) }
  }

  /// What is wrong with the data that a tool returned, in words; `nil` where they may be taken in. What
  /// was cut for its size cannot be checked, which is wrong too.
  func fault(inResult data: JSONValue, of tool: String) -> String? {
    // What a damaged log has lost was right once.
    if case .lost = data { return nil }
    guard let violation = entries[tool]?.outputSchema?.validate(data).first else { return nil }
    if case .cut(let bytes, _) = data {
      return "result of \(tool): \(bytes) bytes are too many to be checked against its outputSchema"
    }
    return "result of \(tool)\(violation.pointer): \(violation.message)"
  }
}
