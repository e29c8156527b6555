public import AgentTrace
public import TraceMatching

/// Which arguments of a call may be left out, or be anything, without its input being another one.
public struct ArgumentRule: Sendable, Hashable {
  /// Keys that may be left out, with the value they have then.
  public var defaults: JSONObject = [:]
  /// Keys that are not looked at.
  public var ignored: [Glob] = []
  /// The keys that the matcher of the input speaks of at its top.
  var spokenOf: Set<String> = []

  /// An input as a matcher is to see it: without ignored keys; and a key with a default, left out or
  /// there with that value, stands there if the matcher speaks of it, and does not if not.
  func seen(_ input: JSONValue?) -> JSONValue? {
    guard case .object(let object)? = input else { return input }
    var seen = object
    for key in object.keys where ignored.contains(where: { $0.matches(key) }) {
      seen[key] = JSONValue?.none
    }
    for member in defaults {
      if let value = seen[member.key], !Self.equals(member.value, value) { continue }
      seen[member.key] = spokenOf.contains(member.key) ? member.value : JSONValue?.none
    }
    return .object(seen)
  }

  private static func equals(_ value: JSONValue, _ other: JSONValue) -> Bool {
    value == other
      || (try? Matcher(compiling: ["$exact": value]))?.matches(other) == true
  }

  /// The keys of an object that a matcher speaks of, through operators that combine matchers.
  static func keys(spokenOfBy matcher: JSONValue, depth: Int = 0) -> Set<String> {
    guard depth < Matcher.depthLimit, let object = matcher.objectValue else { return [] }
    var keys: Set<String> = []
    for member in object {
      switch member.key {
      case "$exact", "$subsetOf", "$literal": keys.formUnion(member.value.objectValue?.keys ?? [])
      case "$not": keys.formUnion(Self.keys(spokenOfBy: member.value, depth: depth + 1))
      case "$allOf", "$anyOf", "$oneOf":
        for element in member.value.arrayValue ?? [] {
          keys.formUnion(Self.keys(spokenOfBy: element, depth: depth + 1))
        }
      case let key where key.utf8.first == UInt8(ascii: "$"): break
      default: keys.insert(member.key)
      }
    }
    return keys
  }
}

extension ArgumentRule {
  public static func == (left: ArgumentRule, right: ArgumentRule) -> Bool {
    left.defaults == right.defaults && left.ignored == right.ignored
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(defaults)
    hasher.combine(ignored)
  }
}

extension ExpectationReader {
  /// `defaults` and `ignore` of a call; `nil` where neither is there.
  mutating func arguments(_ object: JSONObject, at pointer: JSONPointer) -> ArgumentRule? {
    guard object["defaults"] != nil || object["ignore"] != nil else { return nil }
    var rule = ArgumentRule()
    if let value = object["defaults"] {
      if let defaults = value.objectValue, !defaults.isEmpty {
        rule.defaults = defaults
      } else {
        report(
          pointer.appending("defaults"), "must be a mapping of arguments and their default values")
      }
    }
    if let value = object["ignore"] {
      rule.ignored = globs(value, at: pointer.appending("ignore")) ?? []
    }
    for key in rule.defaults.keys where rule.ignored.contains(where: { $0.matches(key) }) {
      report(
        pointer.appending("defaults").appending(key),
        "“\(CallWording.short(key))” is ignored, so that its default means nothing",
        hint: "leave it out of `defaults` or of `ignore`")
    }
    guard let input = object["input"] else {
      return refuse(
        pointer, "“defaults” and “ignore” change what “input” sees, and there is none",
        hint: "add `input`, or leave them out")
    }
    rule.spokenOf = ArgumentRule.keys(spokenOfBy: input)
    for key in input.objectValue?.keys ?? [] where rule.ignored.contains(where: { $0.matches(key) })
    {
      report(
        pointer.appending("input").appending(key),
        "“\(CallWording.short(key))” is ignored, so that what is asked of it means nothing",
        hint: "leave it out of `input` or of `ignore`")
    }
    return rule
  }

  /// One glob, or a list of them that is not empty.
  mutating func globs(_ value: JSONValue, at pointer: JSONPointer) -> [Glob]? {
    let elements = value.arrayValue ?? [value]
    if elements.isEmpty { return refuse(pointer, "an empty list") }
    guard elements.count <= Expectations.entryLimit else {
      return refuse(pointer, "more than \(Expectations.entryLimit) entries")
    }
    var globs: [Glob] = []
    for (index, element) in elements.enumerated() {
      let place = value.arrayValue == nil ? pointer : pointer.appending(String(index))
      guard let text = element.stringValue else {
        report(place, "must be a name or a glob, not \(element.typeName)")
        continue
      }
      if let glob = glob(text, at: place) { globs.append(glob) }
    }
    return globs
  }
}
