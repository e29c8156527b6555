import AgentTrace

/// Files of batches that belong together: requests in one, what came of them in others, none of which names the others.
/// What tells them is what their lines are called by (`custom_id`).
///
/// People like to number requests from 1 in every batch. So files are one source only where no name is asked for twice in
/// them, or answered twice, and each that is answered is asked for; among files of one folder first.
struct BatchFiles {
  /// What one file asks for and answers.
  private struct File {
    /// Its place among the sources.
    var group: Int
    var folder: [UInt8]
    var byteCount: Int
    var names: Batches.Names
  }

  private var files: [File] = []

  /// Makes sources of batches one that belong together; of those that were taken in no files are left.
  ///
  /// - Complexity: reads the files that begin as a batch does, where there are several, each for itself.
  static func join(_ groups: inout [SourceGroup]) {
    let candidates = candidates(in: groups)
    guard candidates.count > 1 else { return }
    var batches = BatchFiles()
    batches.files = candidates.compactMap { file(of: groups[$0], at: $0) }
    var open = Array(batches.files.indices)
    let folders = Dictionary(grouping: open) { batches.files[$0].folder }
    // One source is had at most once, so that the order of folders is all the same.
    for members in Array(folders.values) + [[]] {
      let together = members.isEmpty ? open : members
      for source in batches.sources(among: together) {
        let taken = Set(source)
        open.removeAll { taken.contains($0) }
        let first = batches.files[source[0]].group
        for index in source.dropFirst() {
          var other = groups[batches.files[index].group]
          groups[first].absorb(&other)
          groups[batches.files[index].group] = other
        }
      }
    }
  }

  // MARK: Reading

  /// How far into a file the first name is looked for.
  private static let headBytes = 4 << 10
  private static let mark = "\"custom_id\""

  /// The sources of one file each that begin as a batch does, each file once.
  private static func candidates(in groups: [SourceGroup]) -> [Int] {
    var seen: Set<[UInt8]> = []
    return groups.indices.filter { index in
      let files = groups[index].files
      guard files.count == 1, seen.insert(Array(files[0].path.utf8)).inserted,
        ([".json"] + SourceFiles.lineEndings).contains(where: files[0].path.hasSuffix)
      else { return false }
      let head = SourceFiles.head(files[0].path, count: headBytes)
      return String(decoding: head, as: UTF8.self).contains(mark)
    }
  }

  private static func file(of group: SourceGroup, at index: Int) -> File? {
    guard let file = group.files.first, let bytes = try? SourceFiles.read(file.path),
      let document = try? SourceDocument(parsing: bytes, name: file.relativePath).fitting(.batch),
      ImportFormat.guess(document) == .batch
    else { return nil }
    let folder = Array(file.path.utf8)
    return File(
      group: index, folder: Array(folder[..<(folder.lastIndex(of: UInt8(ascii: "/")) ?? 0)]),
      byteCount: bytes.count, names: Batches.names(in: document))
  }

  // MARK: Joining

  /// The files that are one source each, several a source, requests first.
  private func sources(among members: [Int]) -> [[Int]] {
    var asking: [[UInt8]: [Int]] = [:]
    var answering: [[UInt8]: [Int]] = [:]
    for member in members {
      for name in files[member].names.requests { asking[name, default: []].append(member) }
      for name in files[member].names.answers { answering[name, default: []].append(member) }
    }
    var groups = Joined(members)
    for (name, answers) in answering {
      for file in (asking[name] ?? []) + answers { groups.join(file, answers[0]) }
    }
    // Who asks and who answers is not sure where there are several, or nobody asks.
    let twice = (Array(asking.values) + Array(answering.values)).filter { $0.count > 1 }
    let unasked = answering.filter { asking[$0.key] == nil }.map(\.value)
    let unsure = Set((twice + unasked).flatMap { $0 }.map { groups.first(of: $0) })
    let sources = Dictionary(grouping: members) { groups.first(of: $0) }
    return sources.filter { first, source in
      source.count > 1 && !unsure.contains(first)
        && source.reduce(0) { $0 + files[$1].byteCount } <= SourceGroup.limitBytes
    }.values.map { source in
      source.sorted { left, right in
        let asks = (!files[left].names.requests.isEmpty, !files[right].names.requests.isEmpty)
        return asks.0 != asks.1 ? asks.0 : left < right
      }
    }
  }

  /// Which files hang together.
  private struct Joined {
    private var above: [Int: Int]

    init(_ members: [Int]) { above = Dictionary(uniqueKeysWithValues: members.map { ($0, $0) }) }

    mutating func first(of file: Int) -> Int {
      var first = file
      while let next = above[first], next != first { first = next }
      above[file] = first
      return first
    }

    mutating func join(_ left: Int, _ right: Int) {
      let (left, right) = (first(of: left), first(of: right))
      above[max(left, right)] = min(left, right)
    }
  }
}
