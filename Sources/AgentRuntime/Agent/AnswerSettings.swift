public import AgentTrace
import TraceMatching

/// What an agent asks of its answers.
public struct AnswerSettings: Sendable, Hashable {
  /// What each answer is as JSON; `nil` where any text will do.
  public var schema: JSONValue?
  /// Whether an answer has to cite a result that the model was shown.
  public var needsEvidence: Bool

  /// Without arguments any text will do.
  public init(schema: JSONValue? = nil, needsEvidence: Bool = false) {
    self.schema = schema
    self.needsEvidence = needsEvidence
  }
}

/// An answer's schema that cannot be used, and why.
public struct AnswerSchemaFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// In words.
  public var description: String
}

/// Holds answers against what an agent asks of them.
struct AnswerCheck: Sendable {
  private let schema: JSONSchema?
  private let needsEvidence: Bool
  /// Whether evidence is given by a tool, so that what it may be is known to the model.
  private let cites: Bool

  /// - Throws: ``AnswerSchemaFault`` where the schema cannot be compiled.
  init(_ agent: AgentDefinition) throws(AnswerSchemaFault) {
    do {
      schema = try agent.answers.schema.map { value throws(SchemaError) in
        try JSONSchema(compiling: value)
      }
    } catch {
      throw AnswerSchemaFault(description: "answerSchema: \(error)")
    }
    needsEvidence = agent.answers.needsEvidence
    cites = agent.cites
  }

  /// What is wrong with a decision, in words that the model is told; `nil` for a good answer, and for what is
  /// none.
  ///
  /// - Parameter shown: the ids that an answer may cite.
  func fault(in decision: Decision, shown: [String]) -> String? {
    guard case .answer(let text, let evidence) = decision else { return nil }
    return faultInValue(text) ?? faultInEvidence(evidence, shown)
  }

  /// What is wrong with an answer that another agent gives in this one's place, in words; `nil` where nothing
  /// is. What it rests on is that agent's matter.
  func fault(inHandedOver answer: JSONValue) -> String? { faultInValue(answer.asAnswer) }

  private func faultInValue(_ text: String) -> String? {
    guard let schema else { return nil }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: FencedText.unfenced(text), options: .init(depthLimit: 64))
    } catch {
      return "the answer has to be JSON, and is none: \(error)"
    }
    return schema.validate(value).first.map { "the answer\($0.pointer): \($0.message)" }
  }

  private func faultInEvidence(_ evidence: [String], _ shown: [String]) -> String? {
    guard needsEvidence || cites else { return nil }
    let known = shown.suffix(8).joined(separator: ", ")
    if let odd = evidence.first(where: { id in !shown.contains { $0.hasSameUTF8(as: id) } }) {
      let name =
        "the answer cites “\(odd.prefix(utf8Bytes: 100))”, which is the id of no result that was shown"
      return name + (known.isEmpty ? "" : "; the last ones are \(known)")
    }
    guard needsEvidence, evidence.isEmpty else { return nil }
    let way = cites ? ": call “\(DecisionTool.answer(schema: nil).name)” with its evidence" : ""
    return "the answer cites no result"
      + (known.isEmpty ? ", and none was shown: look first" : way + "; the last ones are \(known)")
  }
}

extension JSONValue {
  /// What a tool returned, as an answer: its text, or any other value as JSON.
  var asAnswer: String { stringValue ?? CanonicalJSON.string(self, form: .plain) }
}

extension AgentDefinition {
  /// Whether its model is told the ids of results, to cite them.
  var cites: Bool {
    tools.contains { if case .decision(.answer) = $0.implementation { true } else { false } }
  }
}
