import FilePaths
import TraceStorage

/// Which commit of a project is judged, as far as it can be told without asking anybody.
public struct CommitOrigin: Sendable, Hashable {
  /// The commit's identifier, as the source has it; `nil` where none says one.
  public var commit: String?
  /// Its branch; `nil` where none says one.
  public var branch: String?

  /// Nothing is known.
  public init(commit: String? = nil, branch: String? = nil) {
    self.commit = commit
    self.branch = branch
  }

  /// The variables that services of continuous integration set; the first pair whose commit is set is
  /// taken, and of its branches the first that is set. GitHub, GitLab, CircleCI, Buildkite, Bitbucket,
  /// Azure Pipelines, Drone and Woodpecker, Travis, Jenkins.
  public static let variables: [(commit: String, branches: [String])] = [
    ("GITHUB_SHA", ["GITHUB_HEAD_REF", "GITHUB_REF_NAME"]),
    ("CI_COMMIT_SHA", ["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"]),
    ("CIRCLE_SHA1", ["CIRCLE_BRANCH"]),
    ("BUILDKITE_COMMIT", ["BUILDKITE_BRANCH"]),
    ("BITBUCKET_COMMIT", ["BITBUCKET_BRANCH"]),
    ("BUILD_SOURCEVERSION", ["SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"]),
    ("DRONE_COMMIT_SHA", ["DRONE_SOURCE_BRANCH", "DRONE_BRANCH"]),
    ("TRAVIS_COMMIT", ["TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"]),
    ("GIT_COMMIT", ["CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH"]),
  ]

  /// What the variables of an environment say; nothing where none of them is set.
  public init(variable: (String) -> String?) {
    func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
    for (name, branches) in Self.variables {
      guard let commit = value(name) else { continue }
      self.init(commit: commit, branch: branches.compactMap(value).first)
      return
    }
    self.init()
  }

  // MARK: A working tree

  private static let mostFolders = 64
  private static let mostHeadBytes = 4_096
  private static let mostRefsBytes = 16 * 1024 * 1024

  /// What the working tree of git says that a folder stands in: its `HEAD`, and the reference that this
  /// names (https://git-scm.com/docs/gitrepository-layout). No program is started, and nothing is read but
  /// these files. Nothing where there is none, or where its references are kept in another way.
  ///
  /// That files were changed since that commit does not show.
  public init(workingTree folder: String) {
    self.init()
    guard let gitFolder = Self.gitFolder(above: folder),
      let head = Self.line(of: "\(gitFolder)/HEAD")
    else { return }
    let mark = "ref: "
    guard head.hasPrefix(mark) else {
      if Self.isIdentifier(head) { commit = head }
      return
    }
    let name = String(head.dropFirst(mark.count))
    guard name.hasPrefix("refs/"), !name.utf8.contains(0), !name.contains("..") else { return }
    let heads = "refs/heads/"
    var common = gitFolder
    if let path = Self.line(of: "\(gitFolder)/commondir") {
      common = path.hasPrefix("/") ? path : "\(gitFolder)/\(path)"
    }
    for place in [gitFolder, common] {
      guard let value = Self.line(of: "\(place)/\(name)"), Self.isIdentifier(value) else {
        continue
      }
      commit = value
      break
    }
    if commit == nil { commit = Self.packed(name, in: "\(common)/packed-refs") }
    if commit != nil, name.hasPrefix(heads) { branch = String(name.dropFirst(heads.count)) }
  }

  /// The folder of git for a working tree: `.git`, or what a file of that name leads to.
  private static func gitFolder(above folder: String) -> String? {
    var folder = folder
    for _ in 0..<mostFolders {
      let path = folder == "/" ? "/.git" : "\(folder)/.git"
      if let info = fileStatus(path) {
        if info.isFolder { return path }
        let mark = "gitdir: "
        guard let line = line(of: path), line.hasPrefix(mark) else { return nil }
        let target = String(line.dropFirst(mark.count))
        return target.hasPrefix("/") ? target : "\(folder)/\(target)"
      }
      guard folder != "/", let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")) else {
        return nil
      }
      folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
    }
    return nil
  }

  /// The first line of a small file.
  private static func line(of path: String) -> String? {
    guard let bytes = try? WholeFile.read(path, limitBytes: mostHeadBytes),
      let text = String(validating: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    else { return nil }
    var line = text
    while line.utf8.last == UInt8(ascii: "\r") || line.utf8.last == UInt8(ascii: " ") {
      line = String(line.unicodeScalars.dropLast())
    }
    return line.isEmpty ? nil : line
  }

  /// The value of a reference in a file with a line each: identifier, space, name.
  private static func packed(_ name: String, in path: String) -> String? {
    guard let bytes = try? WholeFile.read(path, limitBytes: mostRefsBytes) else { return nil }
    let wanted = Array(" \(name)".utf8)
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.count > wanted.count {
      guard line.suffix(wanted.count).elementsEqual(wanted) else { continue }
      let value = String(decoding: line.dropLast(wanted.count), as: UTF8.self)
      if isIdentifier(value) { return value }
    }
    return nil
  }

  /// Whether a text is the identifier of an object: 40 digits of SHA-1, or 64 of SHA-256.
  private static func isIdentifier(_ text: String) -> Bool {
    [40, 64].contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}
