public import AgentRuntime
public import AgentTrace
import TraceMatching

/// What the file of a recorded run said is withheld, as the run's log has it: for whoever writes to the log and does not
/// have the file.
public struct RecordedRedaction: Sendable {
  /// What the files say, as far as it can be read.
  public var settings = RedactionSettings()
  /// The variables that they name: what is passed to programs, and what stands in texts as `${NAME}`.
  public var variables: Set<String> = []
  /// Whether all of it could be read. A pattern that finds its own text is withheld from the log like any other text.
  public var isWhole = true

  /// Nothing is withheld.
  public init() {}

  /// Takes in what an event says of the file: `run_started`, and a `run_resumed` by another file.
  ///
  /// What the run began with goes on to be withheld when it goes on with another file.
  public mutating func take(inputs: JSONObject) {
    collect(.object(inputs), depth: 0)
    guard let recorded = inputs["redaction"] else {
      settings.findsCredentials = true
      return
    }
    let reader = FieldReader(folder: SourceFolder(ofFile: ""))
    let read = RedactionFile.shape.read(recorded, reader)
    guard let read, reader.errorCount == 0,
      !read.patterns.contains(where: {
        !RedactionToken.ranges(in: Array($0.pattern.text.utf8)).isEmpty
      })
    else {
      isWhole = false
      return
    }
    settings = settings.adding(parent: read)
  }

  /// Takes in what the file itself says.
  public mutating func take(_ settings: RedactionSettings) {
    self.settings = self.settings.adding(parent: settings)
  }

  /// Finds the names of variables, wherever in a definition they stand.
  private mutating func collect(_ value: JSONValue, depth: Int) {
    guard depth < 64 else { return }
    switch value {
    case .string(let text):
      for name in PlaceholderText(text).names where Self.isVariable(name) { variables.insert(name) }
    case .array(let elements): for element in elements { collect(element, depth: depth + 1) }
    case .object(let object):
      for member in object {
        if member.key == "pass" {
          variables.formUnion((member.value.arrayValue ?? []).compactMap(\.stringValue))
        }
        collect(member.value, depth: depth + 1)
      }
    default: break
    }
  }

  private static func isVariable(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        (0x41...0x5a).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
      }
  }
}
