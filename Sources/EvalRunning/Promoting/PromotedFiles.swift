import AgentTrace
import EvalLoading
import FilePaths
import Glibc
import TraceJudging
import TraceStorage

/// The files of a promoted case: `CASE.yaml` in the folder of the cases, and its log below `recordings`.
public struct PromotedFiles: Sendable {
  /// The folder of logs, beside the case files.
  public static let recordingsFolder = "recordings"

  /// The case's name.
  public let caseId: String
  /// The path of the case file.
  public let caseFile: String
  /// The path of its log.
  public let log: String

  /// Names the files and touches none.
  ///
  /// - Parameters:
  ///   - caseId: `nil` to name the case after its agent, what fails and the run.
  ///   - folder: the folder of the cases.
  public init(for promotion: Promotion, caseId: String?, folder: String) {
    self.caseId = caseId ?? Self.name(for: promotion)
    // Names come from data: none leaves the folder.
    let name = RunFiles.fileName(for: self.caseId)
    let place = folder.hasSuffix("/") ? folder : "\(folder)/"
    caseFile = "\(place)\(name).yaml"
    log = "\(place)\(Self.recordingsFolder)/\(name)\(LogFormat.suffix)"
  }

  private static func name(for promotion: Promotion) -> String {
    let agent = promotion.events.first?.data["agent"]?["name"]?.stringValue ?? ""
    let what = promotion.failures.first?.expectation.prefix { $0 != "[" && $0 != "." } ?? "run"
    let run = promotion.runId.prefix(8)
    let words = [agent.isEmpty ? "agent" : agent, String(what), String(run)]
    return words.map { word in
      String(
        word.prefix(40).map { character in
          character.isASCII && (character.isLetter || character.isNumber) ? character : "-"
        })
    }.joined(separator: "-")
  }

  /// Writes both; neither may be there.
  ///
  /// - Parameter agent: the path of the agent file as the case is to name it, seen from the case file.
  /// - Throws: ``PromotionError``; then none of them is there that was not there before.
  public func write(_ promotion: Promotion, agent: String?) throws(PromotionError) {
    guard EvalCase.isUsable(caseId: caseId) else {
      throw PromotionError(
        caseFile, "a case is named by 1 to 200 characters, none of them a control character")
    }
    for path in [caseFile, log] {
      if linkStatus(path) != nil {
        throw PromotionError(path, "is there already: choose another name with --case-id")
      }
    }
    WholeFile.makeFolders(for: log)
    try writeLog(promotion.run(of: caseId))
    let name = log.split(separator: "/").last.map(String.init) ?? log
    let evalCase = PromotedCase(
      caseId: caseId, recording: "\(Self.recordingsFolder)/\(name)", agent: agent,
      promotion: promotion)
    do {
      try WholeFile.create(caseFile, holding: Array(evalCase.text.utf8))
    } catch {
      unlink(log)
      throw PromotionError(caseFile, "cannot be written: \(error)")
    }
    let loaded = CaseLoader.load([caseFile])
    guard
      loaded.cases.first?.expected.written.source == promotion.expected
        || loaded.cases.first?.expected.parts.isEmpty == false
    else {
      unlink(log)
      unlink(caseFile)
      throw PromotionError(
        caseFile,
        "what would be written is no case: \(loaded.diagnostics.first.map { "\($0)" } ?? "")")
    }
  }

  private func writeLog(_ events: [Event]) throws(PromotionError) {
    do {
      let writer = try LogWriter(creating: log)
      do {
        for event in events { try writer.append(event, isEffectAhead: false) }
        _ = try writer.close()
      } catch {
        unlink(log + LogFormat.openSuffix)
        throw error
      }
    } catch {
      throw PromotionError(log, "cannot be written: \(error)")
    }
  }
}
