import AgentTrace
import TraceReplaying

extension Page {
  private static let differenceLimit = 1_000

  /// Tells where two values differ, place by place.
  mutating func addDifferences(from old: JSONValue, to new: JSONValue, under root: String) {
    func short(_ value: JSONValue) -> String {
      let head = CanonicalJSON.prefix(of: value, limitBytes: 208)
      return head.utf8.count > 200 ? head.prefix(utf8Bytes: 200) + "…" : head
    }
    var count = 0
    JSONDifferences.visit(old, new, pairing: .asWindows) { pointer, old, new in
      let place = root + pointer.description
      let spans: [TextLine.Span] =
        switch (old, new) {
        case (let old?, let new?):
          [.init("~ ", .warning), .init("\(place): \(short(old)) → \(short(new))")]
        case (let old?, nil): [.init("- ", .bad), .init("\(place): \(short(old))")]
        case (nil, let new?): [.init("+ ", .good), .init("\(place): \(short(new))")]
        case (nil, nil): []
        }
      lines.append(TextLine(spans, hanging: 4))
      count += 1
      return count < Self.differenceLimit
    }
    if count == 0 { line("  nothing", .faint) }
    if count >= Self.differenceLimit { line("  …", .faint) }
  }
}
