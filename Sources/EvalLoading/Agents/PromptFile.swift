import AgentRuntime
import AgentTrace
import TraceMatching

/// The keys `system`, `goal`, `examples` of an agent file, and `description` of a tool: what models are told.
enum PromptFile {
  /// The most bytes of a file with instructions.
  private static let fileLimitBytes = 1 << 20

  /// Instructions: a text, or parts of which each is a text or a file.
  static let system = Shape<[PromptPart]>([
    "anyOf": [["type": "string"], Shape<[PromptPart]>.list(of: part, atLeast: 1).schema()]
  ]) { value, reader in
    switch value {
    case .string(let text):
      return [PromptPart(id: "", template: template(text, reader))]
    case .array:
      return Shape<[PromptPart]>.list(of: part, atLeast: 1).read(value, reader).map { parts in
        named(parts, reader)
      }
    default:
      return reader.refuseKind(of: value, expected: "a text, or a list of parts")
    }
  }

  /// A text that may name what is known before a run begins.
  static let early = Shape<PromptTemplate>(["type": "string"]) { value, reader in
    guard case .string(let text) = value else {
      return reader.refuseKind(of: value, expected: "a text")
    }
    let template = template(text, reader)
    for name in template.text.names {
      guard let variable = PromptVariable(name), !variable.isKnownBeforeStart else { continue }
      reader.report(
        "names ${\(name)}, which is not known before a run begins",
        hint: "policyContext and agent.name are")
    }
    return template
  }

  static let examples = Shape<[ExampleTurn]>.list(
    of: .record(
      ExampleTurn(user: "", assistant: ""),
      [
        Field("user", .text, \.user, required: true, "What a user says."),
        Field(
          "assistant", .text, \.assistant, required: true, "What the model is to have answered."),
      ]))

  /// Puts what was read under `system` in its place: a plain text as it is.
  static func place(_ parts: [PromptPart], in agent: inout AgentDefinition) {
    if parts.count == 1, parts[0].id.isEmpty, let plain = parts[0].template.plain {
      agent.systemPrompt = plain
    } else {
      agent.instructions = parts
    }
  }

  // MARK: Parts

  private struct Draft: Sendable {
    var id: String?
    var text: String?
    var file: String?
    var rule: DisclosureRule?
  }

  private static let part = Shape<PromptPart>([
    "anyOf": [["type": "string"], detailed.schema()]
  ]) { value, reader in
    if case .string(let text) = value {
      return PromptPart(id: "", template: template(text, reader))
    }
    guard let draft = detailed.read(value, reader) else { return nil }
    guard let said = template(of: draft.text, or: draft.file, under: "text", reader) else {
      return nil
    }
    var part = PromptPart(id: draft.id ?? "", template: said.template)
    part.rule = draft.rule
    part.file = said.file
    return part
  }

  /// A template that stands in the agent file or in one of its own, with that one's name and digest.
  ///
  /// - Parameter key: what it stands under in the agent file.
  static func template(
    of text: String?, or path: String?, under key: String, _ reader: FieldReader
  ) -> (template: PromptTemplate, file: (path: String, digest: String)?)? {
    switch (text, path) {
    case (let text?, nil): return (reader.within(.key(key)) { template(text, reader) }, nil)
    case (nil, let path?):
      return reader.within(.key("file")) {
        self.text(of: path, reader).map { (template($0.text, reader), ($0.name, $0.digest)) }
      }
    case (_?, _?): reader.report("has “\(key)” and “file”; one of them is allowed")
    case (nil, nil): if !reader.hasErrorHere { reader.report("needs either “\(key)” or “file”") }
    }
    return nil
  }

  private static let detailed = Shape<Draft>.record(
    Draft(),
    [
      Field("id", .name, \.id, "What packets name it by; its place where it is left out."),
      Field("text", .text, \.text, "What it says."),
      Field("file", .path, \.file, "The file that it stands in."),
      Field(
        "when", DisclosureFile.moment, \.rule, "When it is said; always where it is left out."),
    ],
    constraints: ["oneOf": [["required": ["text"]], ["required": ["file"]]]])

  /// Parts that have no id are named by their places, from 1.
  private static func named(_ parts: [PromptPart], _ reader: FieldReader) -> [PromptPart] {
    var parts = parts
    var seen: [[UInt8]: Int] = [:]
    for index in parts.indices {
      if parts[index].id.isEmpty { parts[index].id = String(index + 1) }
      if let first = seen[Array(parts[index].id.utf8)] {
        reader.report(
          "the id \(parts[index].id.quoted) is there already, at part \(first + 1)",
          deeper: [.index(index)])
      }
      seen[Array(parts[index].id.utf8)] = index
    }
    return parts
  }

  private static func text(
    of path: String, _ reader: FieldReader
  ) -> (text: String, name: String, digest: String)? {
    reader.files.append(path)
    do throws(Diagnostic) {
      let bytes = try FileBytes.all(of: path, limit: fileLimitBytes)
      guard bytes.count <= fileLimitBytes else {
        return reader.refuse("the file \(path.quotedPath) is larger than \(fileLimitBytes) bytes")
      }
      guard (try? UTF8Span(validating: bytes.span)) != nil else {
        return reader.refuse("the file \(path.quotedPath) is not UTF-8")
      }
      // Editors end the last line, which is no part of what is said.
      let said = bytes.last == 0x0a ? bytes.dropLast() : bytes[...]
      return (
        String(decoding: said, as: UTF8.self), "\(path.split(separator: "/").last ?? "")",
        Digest(of: bytes).hex
      )
    } catch {
      return reader.refuse("the file \(path.quotedPath): \(error.message)")
    }
  }

  // MARK: Names

  /// Reads a template; reports what it names that is no variable.
  private static func template(_ text: String, _ reader: FieldReader) -> PromptTemplate {
    let template = PromptTemplate(text)
    for name in template.text.names where PromptVariable(name) == nil {
      let nearest = Spelling.nearest(to: name, among: names)
      reader.report(
        "names ${\(name.prefix(utf8Bytes: 80))}, which is no variable",
        hint: nearest.map { "did you mean ${\($0)}?" } ?? "write $${ for a plain ${")
    }
    return template
  }

  private static let names = [
    "input", "date", "agent.name", "policyContext.actorId", "policyContext.tenantId",
    "policyContext.route", "policyContext.attributes", "memory",
  ]
}

extension FieldReader {
  /// Reports notes that instructions name and the agent file does not.
  func checkPrompts(of agent: AgentDefinition) {
    let templates =
      agent.instructions.map { (key: "system", template: $0.template) }
      + (agent.plan.map { [("plan", $0.prompt)] } ?? [])
      + (agent.reflect.map { [("reflect", $0.prompt)] } ?? [])
    for (place, template) in templates {
      for case .memory(let scope, let key) in template.variables {
        let isThere = agent.memory.contains {
          $0.scope.hasSameUTF8(as: scope) && $0.key.hasSameUTF8(as: key)
        }
        guard !isThere else { continue }
        report(
          "names ${memory.\(scope).\(key)}, which does not stand under “memory”",
          hint: "name the note there, with what it is where none was kept", deeper: [.key(place)]
        )
      }
    }
  }
}
