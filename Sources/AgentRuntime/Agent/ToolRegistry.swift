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
  }

  private var entries: [String: Entry] = [:]

  /// - Throws: ``RegistryError`` where a name stands twice or a schema cannot be compiled.
  public init(_ registrations: [ToolRegistration]) throws(RegistryError) {
    for registration in registrations {
      let name = registration.definition.name
      guard entries[name] == nil else {
        throw RegistryError(tool: name, reason: "the name stands twice")
      }
      do {
        entries[name] = Entry(
          registration: registration,
          inputSchema: try JSONSchema(compiling: registration.definition.inputSchema))
      } catch {
        throw RegistryError(tool: name, reason: "inputSchema: \(error)")
      }
    }
  }

  /// The tool of a name; `nil` where there is none.
  public subscript(name: String) -> ToolRegistration? { entries[name]?.registration }

  /// What is wrong with a call, in words; `nil` where it may go to policy.
  ///
  /// - Parameter disclosed: The names that the model was told of; a call to any other is unknown.
  public func fault(in call: ProposedCall, disclosed: [String]) -> String? {
    guard let entry = entries[call.name],
      disclosed.contains(where: { $0.hasSameUTF8(as: call.name) })
    else {
      let nearest = Spelling.nearest(to: call.name, among: disclosed)
      return "unknown tool “\(call.name.prefix(utf8Bytes: 100))”"
        + (nearest.map { "; did it mean “\($0)”?" } ?? "")
    }
    guard let violation = entry.inputSchema.validate(call.input).first else { return nil }
    return "input of \(call.name)\(violation.pointer): \(violation.message)"
  }
}
