import AgentTrace

extension JSONValue {
  /// Paths to every scalar of event data but times and event numbers, which no digest covers.
  public var digestedLeaves: [[String]] { leaves(at: []) }

  private func leaves(at path: [String]) -> [[String]] {
    switch self {
    case .object(let object):
      object.filter { !["elapsedMicroseconds", "modelResult", "replyTo"].contains($0.key) }
        .flatMap { $0.value.leaves(at: path + [$0.key]) }
    case .array(let elements): elements.enumerated().flatMap { $1.leaves(at: path + [String($0)]) }
    default: [path]
    }
  }

  /// The value with the scalar at a path changed to another.
  public func changing(_ path: ArraySlice<String>) -> JSONValue {
    guard let key = path.first else {
      if case .string(let text) = self { return .string(text + "!") }
      return "something else"
    }
    switch self {
    case .object(var object):
      object[key] = (object[key] ?? .null).changing(path.dropFirst())
      return .object(object)
    case .array(var elements):
      let index = Int(key) ?? 0
      elements[index] = elements[index].changing(path.dropFirst())
      return .array(elements)
    default: return self
    }
  }
}
