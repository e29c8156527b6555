extension EventType {
  /// A source of tools was asked what it offers.
  public static let toolsListed = EventType(rawValue: "tools_listed")
}

/// The data of a `tools_listed` event.
public struct ToolsListed: Sendable, Hashable {
  /// Which source was asked.
  public var source: String
  /// The tools that the run has of it from here on.
  public var tools: [ToolDefinition]
  /// What the source itself says of those that the agent file asks for, in the order of their names;
  /// empty where only ``tools`` is known.
  public var offered: [OfferedTool]
  /// Tools that it offers and the run does not have, or no longer, each with why.
  public var withheld: [WithheldTool]
  /// Who answered: `name`, `version`, `protocol`, as far as the source says.
  public var server: JSONObject
  /// Why the list is of no use; `nil` where it is.
  public var error: String?
  /// SHA-256 of the canonical form of ``offered``, or of ``tools`` where that is empty: a changed list is
  /// seen by it.
  public var digest: String

  /// What only says which tools there are. The digest follows from them.
  public init(source: String, tools: [ToolDefinition]) {
    self.source = source
    self.tools = tools
    offered = []
    withheld = []
    server = [:]
    digest = Digest(of: .array(tools.map { .object($0.encoded) })).hex
  }

  /// What a source said, and what came of it. The digest follows from what is offered.
  public init(
    source: String, offered: [OfferedTool], tools: [ToolDefinition] = [],
    withheld: [WithheldTool] = [], server: JSONObject = [:], error: String? = nil
  ) {
    self.source = source
    self.tools = tools
    self.offered = offered
    self.withheld = withheld
    self.server = server
    self.error = error
    digest = OfferedTool.digest(of: offered).hex
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    source = try reader.text("source")
    tools = []
    for tool in try reader.objects("tools") { tools.append(try ToolDefinition(reader: tool)) }
    offered = []
    for tool in try reader.objects("offered") { offered.append(try OfferedTool(reader: tool)) }
    withheld = []
    for tool in try reader.objects("withheld") {
      withheld.append(
        WithheldTool(name: try tool.text("name"), reason: try tool.text("reason")))
    }
    server = try reader.optionalObject("server") ?? [:]
    error = object["error"] == nil ? nil : try reader.text("error")
    digest = try reader.string("digest")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("source", .string(source)), ("tools", .array(tools.map { .object($0.encoded) })),
      ("offered", offered.isEmpty ? nil : .array(offered.map { .object($0.encoded) })),
      (
        "withheld",
        withheld.isEmpty
          ? nil
          : .array(
            withheld.map { ["name": .string($0.name), "reason": .string($0.reason)] })
      ),
      ("server", server.isEmpty ? nil : .object(server)), ("error", error.map(JSONValue.string)),
      ("digest", .string(digest)),
    ])
  }
}

/// A tool as its source describes it, before an agent file has its say.
public struct OfferedTool: Sendable, Hashable {
  /// What the source calls it.
  public var name: String
  /// A name for people; `nil` where there is none.
  public var title: String?
  /// What a model is to be told of it; may be empty.
  public var description: String
  /// A JSON Schema of its input.
  public var inputSchema: JSONValue
  /// A JSON Schema of its result; `nil` where there is none.
  public var outputSchema: JSONValue?
  /// What the source hints of its effects; in MCP `readOnlyHint`, `destructiveHint`, `idempotentHint`
  /// and `openWorldHint`.
  public var annotations: JSONObject

  /// Without more, a tool that takes any object and hints at nothing.
  public init(
    name: String, title: String? = nil, description: String = "",
    inputSchema: JSONValue = ["type": "object"], outputSchema: JSONValue? = nil,
    annotations: JSONObject = [:]
  ) {
    self.name = name
    self.title = title
    self.description = description
    self.inputSchema = inputSchema
    self.outputSchema = outputSchema
    self.annotations = annotations
  }

  init(reader: PayloadReader) throws(PayloadError) {
    name = try reader.text("name")
    title = try reader.optionalString("title")
    description = reader.object["description"] == nil ? "" : try reader.text("description")
    inputSchema = reader.object["inputSchema"] ?? ["type": "object"]
    outputSchema = reader.object["outputSchema"]
    annotations = try reader.optionalObject("annotations") ?? [:]
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("name", .string(name)), ("title", title.map(JSONValue.string)),
      ("description", .string(description)), ("inputSchema", inputSchema),
      ("outputSchema", outputSchema),
      ("annotations", annotations.isEmpty ? nil : .object(annotations)),
    ])
  }

  /// SHA-256 of the canonical form of a list.
  public static func digest(of tools: [OfferedTool]) -> Digest {
    Digest(of: .array(tools.map { .object($0.encoded) }))
  }
}

/// A tool that a source offers and a run does not have.
public struct WithheldTool: Sendable, Hashable {
  /// What the source calls it.
  public var name: String
  /// Why, in words.
  public var reason: String

  /// The name is the source's own, without a prefix.
  public init(name: String, reason: String) {
    self.name = name
    self.reason = reason
  }
}

extension ToolsListed: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("source!", .text, "Which source."),
      DataKey("tools!", .list(.tool), "The tools that the run has of it from here on."),
      DataKey(
        "offered",
        .list(
          .object([
            DataKey("name!", .text, "What the source calls it."),
            DataKey("title", .string, "A name for people."),
            DataKey("description", .text, "What the source says of it."),
            DataKey("inputSchema", .any, "A JSON Schema of its input."),
            DataKey("outputSchema", .any, "A JSON Schema of its result."),
            DataKey("annotations", .mapping, "What the source hints of its effects."),
          ])), "What the source says of the tools that the agent file asks for."),
      DataKey(
        "withheld",
        .list(
          .object([
            DataKey("name!", .text, "What the source calls it."),
            DataKey("reason!", .text, "Why the run does not have it."),
          ])), "Tools that the run does not have, or no longer."),
      DataKey("server", .mapping, "Who answered: name, version, protocol."),
      DataKey("error", .text, "Why the list is of no use."),
      DataKey("digest!", .string, "SHA-256 of the canonical list."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    if let error { return [EventLine("tools", .bad, "\(source): \(error)")] }
    let count = Figures.count(tools.count, "tool")
    let version = server["protocol"]?.stringValue.map { ", MCP \($0)" } ?? ""
    let told = withheld.prefix(10).map {
      EventLine("withheld", .warning, "\(source): \($0.name): \($0.reason)")
    }
    let more = withheld.count - told.count
    return [EventLine("tools", .faint, "\(source): \(count)\(version)")] + told
      + (more > 0 ? [EventLine("withheld", .warning, "\(source): \(more) more")] : [])
  }
}
