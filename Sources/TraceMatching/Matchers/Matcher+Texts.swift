public import AgentTrace

extension Matcher {
  /// Where in it something stands that is held against the same value and that no text can match, not even one that is
  /// absent; `nil` where there is nothing of the kind. Below `$not` it would hold whatever is said.
  ///
  /// - Complexity: O(size of the matcher).
  public var placeThatNoTextMatches: JSONPointer? { Self.place(in: source, at: JSONPointer()) }

  /// The names of the operators that a text can meet.
  public static var operatorsOfTexts: [String] {
    MatcherOperator.allCases.filter { name in
      ![.greater, .greaterOrEqual, .less, .lessOrEqual, .approximate, .subsetOf].contains(name)
    }.map(\.rawValue)
  }

  private static func place(in value: JSONValue, at pointer: JSONPointer) -> JSONPointer? {
    guard mayMatchText(value) else { return pointer }
    guard let object = value.objectValue else { return nil }
    for member in object {
      let place = pointer.appending(member.key)
      switch MatcherOperator(rawValue: member.key) {
      case .not?:
        if let found = Self.place(in: member.value, at: place) { return found }
      case .oneOf?, .allOf?, .anyOf?:
        for (index, element) in (member.value.arrayValue ?? []).enumerated() {
          if let found = Self.place(in: element, at: place.appending(String(index))) {
            return found
          }
        }
      default: break
      }
    }
    return nil
  }

  /// Whether some text, or its absence, matches what stands at the top of a matcher.
  private static func mayMatchText(_ value: JSONValue) -> Bool {
    switch value {
    case .string, .bytes, .cut, .lost: true
    case .null, .bool, .number, .array: false
    case .object(let object):
      !object.isEmpty
        && object.allSatisfy { member in
          MatcherOperator(rawValue: member.key).map { mayMatchText($0, member.value) } ?? false
        }
    }
  }

  private static func mayMatchText(_ name: MatcherOperator, _ operand: JSONValue) -> Bool {
    switch name {
    // What is within these is looked at by itself.
    case .any, .absent, .not, .oneOf, .allOf, .anyOf: true
    case .regex, .glob, .length, .schema, .ignoreCase, .from: true
    case .greater, .greaterOrEqual, .less, .lessOrEqual, .approximate, .subsetOf: false
    case .contains, .exact, .literal: operand.stringValue != nil || operand.typeName == "bytes"
    case .type: (operand.arrayValue ?? [operand]).contains("string")
    }
  }
}
