import AgentTrace
import FilePaths
import TraceMatching

/// What a path that leads nowhere was probably meant to be.
enum NearestPath {
  /// Names of one folder that are looked at; a hint is worth no more.
  private static let nameLimit = 10_000

  /// The path with each part that is not there in the spelling of what stands beside it; `nil` where nothing there is
  /// near enough.
  static func to(_ path: String) -> String? {
    var folder = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: false).map(String.init) {
      var name = part
      if !part.isEmpty, fileStatus(folder + part) == nil {
        guard let near = self.name(like: part, in: folder), fileStatus(folder + near) != nil
        else { return nil }
        name = near
      }
      folder += name + "/"
    }
    let near = String(folder.dropLast())
    return near.hasSameUTF8(as: path) ? nil : near
  }

  private static func name(like part: String, in folder: String) -> String? {
    guard let names = entryNames(in: folder.isEmpty ? "." : folder) else { return nil }
    return Spelling.nearest(
      to: part, among: names.prefix(nameLimit).filter { $0 != "." && $0 != ".." })
  }
}
