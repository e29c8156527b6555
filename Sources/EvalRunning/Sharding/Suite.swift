public import AgentTrace
public import EvalLoading
import Glibc
public import TraceJudging
import TraceStorage

/// All cases that are judged together, and what tells them from those of another suite.
public struct Suite: Sendable {
  /// The cases, in the order of their files.
  public let cases: [EvalCase]
  /// A digest of the cases' ids and places, of the bytes of the files that they stand in, and of what
  /// they are judged by.
  public let digest: Digest
  /// The version of the program that judges.
  public let program: String

  /// A file that the suite rests on and that cannot be read.
  struct Unreadable: Error, CustomStringConvertible {
    var path: String
    var reason: String
    var description: String { "\(path) cannot be read: \(reason)" }
  }

  /// Reads the files that the cases came from once more, and the agents that are run for them.
  ///
  /// Recordings are not read for it: there may be millions.
  ///
  /// - Parameters:
  ///   - files: The paths of the case files, and of those with what they share.
  ///   - conditions: What else changes outcomes or reports: options, for example.
  /// - Throws: where a file cannot be read.
  /// - Complexity: O(*n*) in the bytes of the files.
  public init(
    _ cases: [EvalCase], files: [String], conditions: JSONObject, program: String,
    runsAgents: Bool = false
  ) throws {
    self.cases = cases
    self.program = program
    var agents: Set<[UInt8]> = []
    for evalCase in cases where runsAgents || evalCase.recording == nil {
      if let agent = evalCase.runFile { agents.insert(Array(agent.utf8)) }
    }
    let agentFiles = agents.sorted { $0.lexicographicallyPrecedes($1) }.map {
      String(decoding: $0, as: UTF8.self)
    }
    digest = Digest(
      of: [
        "agents": .array(
          // An agent that is missing is told by the case that names it.
          agentFiles.map {
            [.string($0), (try? Self.digest(of: $0)).map { .string($0.hex) } ?? .null]
          }
        ),
        "cases": .array(
          cases.map { [.string($0.caseId), .string("\($0.path):\($0.position.line)")] }),
        "conditions": .object(conditions),
        "files": .array(
          try files.map { [.string($0), .string(try Self.digest(of: $0).hex)] }),
        "program": .string(program),
      ])
  }

  /// The cases of one shard, in the order of the suite.
  public func cases(of shard: Shard) -> [EvalCase] { cases.filter { shard.holds($0.caseId) } }

  /// Says in results that they are those of a shard.
  ///
  /// - Parameter isWhole: Whether every case of it was judged.
  public func mark(_ results: EvalResults, as shard: Shard, isWhole: Bool) -> EvalResults {
    var places: [[UInt8]: Int] = [:]
    for (place, evalCase) in cases.enumerated() { places[Array(evalCase.caseId.utf8)] = place }
    var results = results
    results.shard = ResultsShard(
      index: shard.index, count: shard.count, suite: digest.hex, suiteCases: cases.count,
      places: results.cases.compactMap { places[Array($0.caseId.utf8)] },
      skippedPlaces: results.skipped.compactMap { places[Array($0.caseId.utf8)] },
      program: program, isWhole: isWhole)
    return results
  }

  private static func digest(of path: String) throws -> Digest {
    do {
      return Digest(of: try WholeFile.read(path, limitBytes: .max))
    } catch {
      throw Unreadable(path: path, reason: "\(error)")
    }
  }
}
