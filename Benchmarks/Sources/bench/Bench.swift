import Glibc

/// Prints the table of speed and memory; `--help` says how.
@main
enum Bench {
  static let usage = """
    usage: bench [--binary PATH] [--folder DIR] [--long MiB] [--rounds N] [--only WORD]
      --binary   the release build of agent-eval; default: .build/release/agent-eval
      --folder   where the corpus is kept; default: .build/bench
      --long     MiB of lines of the long run; default 64, the full table has 1024, 0 leaves it out
      --rounds   interleaved rounds of each row, of which medians are taken; default 5
      --only     rows whose name has this word
    """

  static func main() async throws {
    var arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "work" {
      arguments.removeFirst()
      return try await Work.run(arguments)
    }
    var table = Table()
    while let option = arguments.first {
      guard arguments.count >= 2 else { return print(usage) }
      let value = arguments[1]
      switch option {
      case "--binary": table.binary = value
      case "--folder": table.corpus = Corpus(folder: value)
      case "--long": table.longMiB = Int(value) ?? 64
      case "--rounds": table.rounds = max(1, Int(value) ?? 5)
      case "--only": table.only = value
      default: return print(usage)
      }
      arguments.removeFirst(2)
    }
    try table.print()
  }
}
