public import AgentTrace

/// Where a value must have come from: a place in the results of a tool, or in the input of the call
/// that a policy rule is asked about.
public struct Origin: Sendable, Hashable {
  /// The tool, or a glob of tools, whose result held it; `nil` for the input of the call asked about.
  public var tool: Glob?
  /// From the data of a result, or from the input, to the value. A step that is `*` stands for every key or element.
  public var path: JSONPointer
  /// What went into that tool's call; `nil` for anything.
  public var input: Matcher?

  /// Every key that `$from` may have.
  public static let keyNames = ["tool", "path", "input"]

  /// The most values of one result that are looked at.
  public static let valueLimit = 10_000

  /// The values that the path leads to in a result or an input, in document order.
  ///
  /// - Returns: Whether something on the way was lost or cut as well, or there were more than
  ///   ``valueLimit``.
  public func values(in data: JSONValue) -> OriginValues {
    var (values, isHidden) = ([data], false)
    for token in path.tokens {
      var next: [JSONValue] = []
      for value in values {
        switch value {
        case .object(let object):
          if token == "*" {
            next += object.map(\.value)
          } else if let member = object[token] {
            next.append(member)
          }
        case .array(let elements):
          if token == "*" {
            next += elements
          } else if let index = Int(token), String(index) == token,
            elements.indices.contains(index)
          {
            next.append(elements[index])
          }
        case .lost, .cut: isHidden = true
        default: break
        }
        if next.count > Self.valueLimit {
          next.removeLast(next.count - Self.valueLimit)
          isHidden = true
          break
        }
      }
      values = next
    }
    return OriginValues(known: values, mayBeMore: isHidden)
  }
}

extension Origin: CustomStringConvertible {
  /// In words: the tool and the path.
  public var description: String {
    let place = path.tokens.isEmpty ? "the whole" : "\(path)"
    return tool.map { "\(place) of an earlier result of \($0.text)" }
      ?? "\(place) of this call's input"
  }
}

/// The values that an origin leads to in the results that stood before some moment.
public struct OriginValues: Sendable, Hashable {
  /// Those that can be seen.
  public var known: [JSONValue]
  /// Whether others may be hidden.
  public var mayBeMore: Bool

  /// Where there may be more, a value that is not among them may still have come from there.
  public init(known: [JSONValue], mayBeMore: Bool) {
    self.known = known
    self.mayBeMore = mayBeMore
  }
}

/// Finds the values of an origin, as seen from the moment that a matcher speaks of.
public typealias Origins = (Origin) -> OriginValues
