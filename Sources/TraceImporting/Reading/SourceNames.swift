import AgentTrace
import FilePaths

/// The names that logs get of sources that are imported in one call, where several would have the same.
///
/// Tools like to call every file `trace.json` and to give each run a folder: of paths that are named one by one, the
/// folder is not part of the name.
enum SourceNames {
  /// Puts the folders of the paths that were named before the names of sources that would stand in one place, as many of
  /// them as it takes; and keeps the endings of names that differ in nothing else. What is the same file stays as it is.
  ///
  /// - Parameter roots: for each source the path that was named, which it stands below.
  static func tellApart(_ groups: inout [SourceGroup], roots: [String]) {
    let names = groups.map(\.name)
    let folders = Folders(of: roots)
    for depth in 1...foldersLimit {
      let shared = sharedPlaces(of: groups).filter { !folders.areSame($0) }.flatMap { $0 }
      guard !shared.isEmpty else { break }
      for index in shared {
        groups[index].name = (folders[index].suffix(depth) + [names[index]]).joined(separator: "/")
      }
    }
    for shared in sharedPlaces(of: groups) {
      let isSame = Set(shared.map { Array(groups[$0].name.utf8) }).count < shared.count
      guard !isSame else { continue }
      for index in shared { groups[index].keepsEnding = true }
    }
  }

  /// More are left alike.
  private static let foldersLimit = 8

  /// The places of sources whose logs would stand in one place, the same files left out.
  private static func sharedPlaces(of groups: [SourceGroup]) -> [[Int]] {
    var byPlace: [[UInt8]: [Int]] = [:]
    var order: [[UInt8]] = []
    for (index, group) in groups.enumerated() where !group.files.isEmpty {
      let place = Array(OutputFolder(path: "").log(of: group, index: nil).utf8)
      if byPlace[place] == nil { order.append(place) }
      byPlace[place, default: []].append(index)
    }
    return order.compactMap { place in
      let sharing = byPlace[place] ?? []
      let paths = Set(sharing.map { Array(groups[$0].path.utf8) })
      return paths.count > 1 ? sharing : nil
    }
  }

  /// The folders of the paths that were named, from the root on: without the files, where they are some.
  private final class Folders {
    private let roots: [String]
    private var known: [[UInt8]: [String]] = [:]

    init(of roots: [String]) { self.roots = roots }

    subscript(index: Int) -> [String] {
      let root = roots[index]
      if let folders = known[Array(root.utf8)] { return folders }
      let full = realpath(isFolder(root) ? root : parent(of: root)) ?? ""
      let folders = full.split(separator: "/").map(String.init)
      known[Array(root.utf8)] = folders
      return folders
    }

    func areSame(_ indices: [Int]) -> Bool {
      indices.allSatisfy { self[$0].elementsEqual(self[indices[0]]) { $0.hasSameUTF8(as: $1) } }
    }

    private func parent(of path: String) -> String {
      let folders = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      return folders.isEmpty ? "." : folders.joined(separator: "/") + "/"
    }
  }
}
