import ArgumentParser
import EvalLoading
import TraceReporting

/// Prints JSON Schemas.
struct Schema: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Print the JSON Schema of a kind of file or output.",
    discussion: Example.alone([
      "schema case": "the JSON Schema of case files, for an editor"
    ]))

  @Argument(
    help: "What to describe: \(FileSchema.allCases.map(\.rawValue).joined(separator: ", ")).")
  var kind: FileSchema

  func run() { Output.bytes(Array(kind.text.utf8), as: .json) }
}

extension FileSchema: ExpressibleByArgument {}
