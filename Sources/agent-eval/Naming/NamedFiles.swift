import ArgumentParser
import TraceReporting
import TraceStorage

/// A verb that is given files.
protocol NamesFiles: ParsableCommand {
  /// Shows each path among the arguments, and what the verb takes there; what `body` puts in its place is used.
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows
}

/// A verb that is given one log and nothing else.
protocol NamesLog: NamesFiles {
  var log: String { get set }
}

extension NamesLog {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    try body(&log, [.log])
  }
}

/// A verb that is given one folder and nothing else.
protocol NamesFolder: NamesFiles {
  var folder: String { get set }
}

extension NamesFolder {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    try body(&folder, [.folder])
  }
}

/// A verb that writes on in the log of a run, or goes on with what lies beside it.
protocol GoesOnInLog: NamesLog {}

extension Approve: GoesOnInLog {}
extension AnswerVerb: GoesOnInLog {}
extension Resume: GoesOnInLog {}
extension Rollback: GoesOnInLog {}
extension Pause: GoesOnInLog {}
extension Fork: GoesOnInLog {}

/// The files that a command line names: found, and of the sort that their verb takes.
enum NamedFiles {
  /// A file of another sort.
  struct WrongSort: Error, CustomStringConvertible {
    var path: String
    var sort: FileSort
    var verb: String
    var takes: Set<FileSort>

    var description: String {
      guard sort != .unpackedLog else {
        return
          "\(path) is \(sort.noun); name the .jsonl.gz that it came from: what is unpacked and packed again is no log"
      }
      let wanted = FileSort.allCases.filter(meant.contains).map(\.noun).joined(separator: " or ")
      let commands = sort.commands(ShellWord.path(path)).prefix(2).map { "agent-eval \($0)" }
      return "\(path) is \(sort.noun), and \(verb) takes \(wanted). For \(sort.noun): "
        + commands.joined(separator: ", or ")
    }

    /// What is meant to be given there: where traces are taken, whatever may be one is let through, though it looks
    /// like a file of ours.
    private var meant: Set<FileSort> {
      takes.contains(.trace) ? takes.subtracting([.agent, .policy, .pipeline, .shared]) : takes
    }
  }

  /// The command with the paths that its arguments stand for: `latest`, `last-failed` and the beginnings of
  /// identifiers in the place of logs.
  ///
  /// - Throws: ``WrongSort``, ``RunLogs/Unknown``.
  static func found(for command: any ParsableCommand) throws -> any ParsableCommand {
    guard var verb = command as? any NamesFiles else { return command }
    let name = verbWords(of: type(of: verb))
    let goesOn = verb is any GoesOnInLog
    try verb.eachFile { path, takes in
      if takes.contains(.log) { path = try RunLogs.path(of: path) }
      // What a run goes on with lies beside its log, not beside a link to it.
      if goesOn { path = LogFiles.followingLinks(path) }
      try refuse(path, verb: name, unless: takes)
    }
    return verb
  }

  /// Refuses a file of which is known that the verb takes no such.
  static func refuse(_ path: String, verb: String, unless takes: Set<FileSort>) throws {
    guard let sort = FileSort(of: path), !takes.contains(sort) else { return }
    throw WrongSort(path: path, sort: sort, verb: verb, takes: takes)
  }

  private static func verbWords(of verb: any ParsableCommand.Type) -> String {
    let isBelowPolicy = PolicyVerb.configuration.subcommands.contains { $0 == verb }
    return (isBelowPolicy ? "policy " : "") + verb._verb
  }
}
