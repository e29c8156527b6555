public import AgentRuntime
public import AgentTrace
import TraceJudging

/// The agent that a judging model is: it has one thing to say, and no tools.
///
/// A judgement is a run like any other, recorded, verified and made again like one. What makes it a
/// judgement is that its parent is the judged run (``relation``), and that its model is called for
/// `judge`.
public enum JudgeAgent {
  /// What logs and reports call it.
  public static let name = "judge"
  /// How a judgement stands to the run that is judged.
  public static let relation = "judge"

  /// - Parameters:
  ///   - model: which model judges.
  ///   - names: the statements that it is asked about.
  static func definition(_ model: ModelDefinition, names: [String]) -> AgentDefinition {
    // A grade is one decision; further tries belong to its step.
    var agent = AgentDefinition(
      name: name, version: JudgeQuestion.version, systemPrompt: JudgeQuestion.systemPrompt,
      model: asking(model, for: names), limits: Limits(maxSteps: 1),
      // What is shown has a limit of its own, and nothing of it may be left out.
      context: ContextSettings(tokenBudget: 1 << 40))
    agent.purpose = .judge
    agent.decisionFault = { decision in
      if case .stop(.blocked, _) = decision { return "the model refused to judge" }
      guard case .answer(let text, _) = decision else {
        return "the reply is no JSON object with the keys \(names.joined(separator: ", "))"
      }
      do {
        _ = try JudgeReply(parsing: text, names: names)
        return nil
      } catch {
        return "\(error)"
      }
    }
    return agent
  }

  /// A model that is asked for replies of the form that is read, in the words of its dialect; one whose
  /// options say a form already is left as it is.
  private static func asking(_ model: ModelDefinition, for names: [String]) -> ModelDefinition {
    guard case .provider(var provider) = model.implementation else { return model }
    provider.settings.ask(
      for: JudgeReply.schema(names: names), named: "grades", in: provider.dialect)
    var asking = model
    asking.implementation = .provider(provider)
    return asking
  }

  /// The judge of a recorded judgement, for making it again; `nil` where the run is none.
  ///
  /// - Parameter model: which model judges now; the recorded one where it is left out.
  public static func definition(
    of started: RunStarted, model: ModelDefinition? = nil
  ) -> AgentDefinition? {
    guard started.parent?.relation.hasSameUTF8(as: relation) == true else { return nil }
    let settings = started.models[ModelPurpose.judge.rawValue]?.objectValue
    let recorded = ModelDefinition(
      recorded: settings ?? [
        "provider": .string(started.modelProvider ?? ""), "name": .string(started.modelName ?? ""),
      ])
    return definition(model ?? recorded, names: JudgementInput(started.input)?.names ?? [])
  }
}

/// What a judgement is started with, beside the text that its model is given.
struct JudgementInput {
  /// See `JudgeQuestion.digest`.
  var asked: String
  /// The statements, in the order in which they are asked.
  var names: [String]
  /// Which of several judgements of the same it is, from 1.
  var vote: Int

  var json: JSONValue {
    ["asked": .string(asked), "statements": JSONValue(names), "vote": JSONValue(vote)]
  }
}

extension JudgementInput {
  /// Reads the wire form; `nil` where the value is none.
  init?(_ value: JSONValue?) {
    guard let asked = value?["asked"]?.stringValue, let vote = value?["vote"]?.intValue,
      let names = value?["statements"]?.arrayValue?.compactMap(\.stringValue)
    else { return nil }
    self.init(asked: asked, names: names, vote: vote)
  }
}
