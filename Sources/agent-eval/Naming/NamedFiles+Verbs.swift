// What each verb takes, in the order of help.

extension Show: NamesLog {}
extension Repair: NamesLog {}
extension Scrub: NamesLog {}

extension List: NamesFolder {}
extension Query: NamesFolder {}
extension Index: NamesFolder {}

extension Check: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in paths.indices {
      try body(&paths[index], [.cases, .agent, .policy, .pipeline, .shared, .folder])
    }
  }
}

extension Accept: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in paths.indices { try body(&paths[index], [.cases, .shared, .folder]) }
  }
}

extension Mutate: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in paths.indices { try body(&paths[index], [.cases, .shared, .folder]) }
  }
}

extension Promote: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in logs.indices { try body(&logs[index], [.log]) }
    for index in good.indices { try body(&good[index], [.log]) }
  }
}

extension Merge: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in files.indices { try body(&files[index], [.results]) }
  }
}

extension Record: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    if var path = agent {
      try body(&path, [.agent, .pipeline])
      agent = path
    }
    if var log = replay {
      try body(&log, [.log])
      replay = log
    }
  }
}

extension Import: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    // Eval sets of other tools are written in whatever way.
    guard !namesCaseFormat else { return }
    for index in arguments.indices {
      // No trace is YAML; of other files the importer tells whether they are traces.
      let isYAML = [".yaml", ".yml"].contains { arguments[index].hasSuffix($0) }
      try body(
        &arguments[index],
        isYAML
          ? [.trace, .folder]
          : Set(FileSort.allCases).subtracting([.log, .unpackedLog, .cases, .results]))
    }
  }
}

extension Tools: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    try body(&agent, [.agent])
  }
}

extension Doctor: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    guard var path = agent else { return }
    try body(&path, [.agent])
    agent = path
  }
}

extension Replay: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in logs.indices {
      try body(&logs[index], reexecution.reexecute ? [.log, .folder] : [.log])
    }
  }
}

extension Inspect: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in paths.indices { try body(&paths[index], [.log, .trace, .folder]) }
  }
}

extension Diff: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    try body(&left, [.log])
    try body(&right, [.log])
  }
}

extension Compare: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    try body(&before, [.results])
    try body(&now, [.results])
  }
}

extension Bisect: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    try body(&good, [.log])
    try body(&bad, [.log])
    guard var path = caseFile else { return }
    try body(&path, [.cases])
    caseFile = path
  }
}

extension PolicyCheckVerb: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    try body(&file, [.policy, .agent])
    guard var path = log else { return }
    try body(&path, [.log])
    log = path
  }
}

extension PolicyBacktestVerb: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in runs.indices { try body(&runs[index], [.log, .folder]) }
    try body(&policy, [.policy])
  }
}

extension Verify: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in logs.indices { try body(&logs[index], [.log, .folder]) }
  }
}

extension Export: NamesFiles {
  mutating func eachFile(_ body: (inout String, Set<FileSort>) throws -> Void) rethrows {
    for index in logs.indices { try body(&logs[index], [.log, .folder]) }
  }
}
