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
    var fields: [FieldDifference] = []
    var untold = 0
    JSONDifferences.visit(left.value, right.value, at: path, pairing: .byIndex) {
      path, left, right in
      if fields.count < limit {
        fields.append(FieldDifference(path: path, left: left, right: right))
      } else {
        untold += 1
      }
      return true
    }
    return (fields, untold)
  }
}
