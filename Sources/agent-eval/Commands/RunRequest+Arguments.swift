import AgentTrace

/// The way past ArgumentParser, which takes longer to look at the types of all verbs than it takes to
/// judge dozens of cases.
extension RunRequest {
  /// Reads a command line that asks for `run` in plain words.
  ///
  /// `nil` says nothing against it: whatever is written in another way, given twice, missing, wrong or
  /// a wish for help is ArgumentParser's to read and to explain. `RunRequestTests` holds both against
  /// each other.
  init?(plain arguments: some Sequence<String>) {
    var rest = arguments.makeIterator()
    guard rest.next()?.hasSameUTF8(as: "run") == true else { return nil }
    var names: [String] = []
    while let argument = rest.next() {
      guard argument.utf8.first == UInt8(ascii: "-") else {
        if argument.isEmpty { return nil }
        paths.append(argument)
        continue
      }
      let name = Self.long(argument)
      guard !names.contains(name), take(flag: argument) || take(argument, rest.next()) else {
        return nil
      }
      names.append(name)
    }
    take(.here)
    guard (try? validate()) != nil else { return nil }
  }

  /// The long name of an option or a flag.
  private static func long(_ name: String) -> String {
    switch name {
    case "-l": "--live"
    case "-w": "--watch"
    case "-j": "--jobs"
    case "-f": "--filter"
    case "-o": "--out"
    case "-r": "--report"
    case "-a": "--against"
    default: name
    }
  }

  private mutating func take(flag name: String) -> Bool {
    switch name {
    case "--live", "-l": live = true
    case "--no-summary": noSummary = true
    case "--verify": verify = true
    case "--exec": exec = true
    case "--judge": judge = true
    case "--json": output.json = true
    case "--by-case-id": byCaseId = true
    case "--watch", "-w": watch = true
    case "--last-failed": lastFailed = true
    default: return false
    }
    return true
  }

  private mutating func take(_ name: String, _ value: String?) -> Bool {
    guard let value, let first = value.utf8.first, first != UInt8(ascii: "-") else { return false }
    switch name {
    case "--runs": runs = value
    case "--jobs", "-j":
      guard let number = Int(value) else { return false }
      jobs = number
    case "--filter", "-f": filter = value
    case "--judgements": judgements = value
    case "--out", "-o": out = value
    case "--report", "-r": output.report = [value]
    case "--shard": shard = value
    case "--files-from": filesFrom = value
    case "--against", "-a": baselines.against = value
    case "--tolerance": baselines.tolerance = [value]
    default: return false
    }
    return true
  }
}
