/// One report that was asked for: `FORMAT` or `FORMAT:FILE`, where `-` is standard output.
public struct ReportRequest: Sendable, Hashable {
  /// What is written.
  public var format: ReportFormat
  /// The path of the file it is written to; `nil` for standard output.
  public var file: String?

  /// Why a request cannot be met, in words for the person who typed it.
  public struct Mistake: Error, CustomStringConvertible, Hashable {
    /// The sentence, without its end.
    public var description: String
  }

  /// Reads one request.
  ///
  /// - Throws: where the format is unknown or the file has no name.
  public init(_ text: String) throws(Mistake) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let format = parts.first.flatMap({ ReportFormat(rawValue: String($0)) }) else {
      let known = ReportFormat.allCases.map(\.rawValue).joined(separator: ", ")
      throw Mistake(
        description: "“\(Visible.line(text, width: 80))” is no report; the formats are \(known)")
    }
    self.format = format
    guard parts.count > 1 else { return }
    guard !parts[1].isEmpty else {
      throw Mistake(description: "“\(format.rawValue):” names no file behind the colon")
    }
    guard !parts[1].hasPrefix("~/") else {
      throw Mistake(
        description:
          "a shell leaves “~” as it is behind a colon, so that “\(format.rawValue):~/” leads to no home "
          + "folder; write \(format.rawValue):$HOME/, or \(format.rawValue):./~/ for a folder of that name"
      )
    }
    if parts[1] != "-" { file = String(parts[1]) }
  }

  /// Reads all requests of one command. Annotations for GitHub take no output for themselves: they
  /// stand beside what else is written.
  ///
  /// - Parameter takesOutput: whether standard output is wanted for something else already.
  /// - Throws: also where two would be written to one place.
  public static func all(
    _ texts: [String], takesOutput: Bool = false
  ) throws(Mistake) -> [ReportRequest] {
    var requests: [ReportRequest] = []
    var isOutputTaken = takesOutput
    for text in texts {
      let request = try ReportRequest(text)
      if let file = request.file {
        let isTaken = requests.contains { $0.file?.utf8.elementsEqual(file.utf8) ?? false }
        guard !isTaken else {
          throw Mistake(description: "two reports would go to \(Visible.line(file, width: 200))")
        }
      } else if request.format != .github {
        guard !isOutputTaken else {
          throw Mistake(
            description: "only one report can go to standard output; name a file: "
              + "\(request.format.rawValue):FILE")
        }
        isOutputTaken = true
      }
      requests.append(request)
    }
    return requests
  }
}
