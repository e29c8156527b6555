public import AgentTrace

/// One field in which two values differ.
public struct FieldDifference: Sendable, Hashable {
  /// Where it stands, from the act on: `/input/orderId`, `/result/data/items/0`, `/answer`.
  public var path: JSONPointer
  /// What the left has there; `nil` where it has nothing.
  public var left: JSONValue?
  /// What the right has there; `nil` where it has nothing.
  public var right: JSONValue?

  /// The most fields that are told of one act.
  public static let limit = 100

  var mirrored: FieldDifference { FieldDifference(path: path, left: right, right: left) }
}

extension FieldDifference {
  /// The fields in which two values differ, in the order of keys and indices. An object or a list that
  /// only one side has is one field; so is a value of which only the beginning was kept.
  ///
  /// - Returns: At most ``limit``, and how many there are beyond.
  static func all(
    _ left: ComparedValue?, _ right: ComparedValue?, at part: String
  ) -> (fields: [FieldDifference], untold: Int) {
    guard left?.digest != right?.digest else { return ([], 0) }
    let path = JSONPointer(tokens: [part])
    guard let left, let right, left.isWhole, right.isWhole else {
      return ([FieldDifference(path: path, left: left?.value, right: right?.value)], 0)
    }
    var walk = Walk()
    walk.compare(left.value, right.value, path)
    return (walk.fields, walk.untold)
  }

  private struct Walk {
    var fields: [FieldDifference] = []
    var untold = 0

    /// Nests as deep as a value does, which a log bounds.
    mutating func compare(_ left: JSONValue?, _ right: JSONValue?, _ path: JSONPointer) {
      guard left != right else { return }
      switch (left, right) {
      case (.object(let left)?, .object(let right)?):
        var (a, b) = (0, 0)
        while a < left.count || b < right.count {
          let old = a < left.count ? left[a] : nil
          let new = b < right.count ? right[b] : nil
          if let old, new.map({ old.key.precedesByUTF8($0.key) }) ?? true {
            compare(old.value, JSONValue?.none, path.appending(old.key))
            a += 1
          } else if let new, old.map({ new.key.precedesByUTF8($0.key) }) ?? true {
            compare(JSONValue?.none, new.value, path.appending(new.key))
            b += 1
          } else if let old, let new {
            compare(old.value, new.value, path.appending(old.key))
            a += 1
            b += 1
          }
        }
      case (.array(let left)?, .array(let right)?):
        for index in 0..<max(left.count, right.count) {
          compare(
            index < left.count ? left[index] : JSONValue?.none,
            index < right.count ? right[index] : JSONValue?.none, path.appending(String(index)))
        }
      default:
        guard fields.count < FieldDifference.limit else {
          untold += 1
          return
        }
        fields.append(FieldDifference(path: path, left: left, right: right))
      }
    }
  }
}
