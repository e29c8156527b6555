@_spi(Scanning) import AgentTrace

/// The line of a checkpoint, made of a state without making a value of it: who writes adds it, who checks holds the line
/// that is there against it.
struct CheckpointLine {
  /// As it stands in a log, without `\n`.
  let bytes: [UInt8]
  let volume: LogVolume
  private let depth: Int

  /// - Parameters:
  ///   - items: how many items have numbers, by table.
  ///   - lists: the lists of the last packet.
  init(of state: AgentState, items: JSONValue, lists: JSONValue) {
    var line = Array("{\"mark\":\"\(LogFormat.checkpointMark)\",\"data\":{\"digest\":".utf8)
    CanonicalJSON.appendString(state.digest.hex, to: &line)
    line.append(contentsOf: ",\"items\":".utf8)
    CanonicalJSON.append(items, to: &line)
    line.append(contentsOf: ",\"lists\":".utf8)
    CanonicalJSON.append(lists, to: &line)
    line.append(contentsOf: ",\"state\":".utf8)
    depth = state.append(to: &line)
    line.append(contentsOf: ",\"stateFormat\":\(AgentState.format)}}".utf8)
    volume = LogVolume(of: line)
    bytes = line
  }

  /// Whether readers take a line of this size.
  var isReadable: Bool {
    bytes.count < LogFormat.lineLimitBytes && depth + 1 < LogFormat.depthLimit
      && volume.values <= LogFormat.valueLimit
  }
}
