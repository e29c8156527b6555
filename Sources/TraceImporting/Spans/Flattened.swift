import AgentTrace

/// Lists and objects that were written as attributes with dots and numbers in their keys.
enum Flattened {
  /// The value below a prefix; `nil` where no key begins with it.
  ///
  /// - Complexity: O(*n* log *n*) in the number of attributes.
  static func value(_ attributes: JSONObject, below prefix: String) -> JSONValue? {
    if let whole = attributes[prefix], whole.arrayValue != nil || whole.objectValue != nil {
      return whole
    }
    let start = prefix + "."
    let entries = attributes.compactMap { member -> ([Substring], JSONValue)? in
      guard member.key.hasPrefix(start) else { return nil }
      return (member.key.dropFirst(start.count).split(separator: ".", maxSplits: 60), member.value)
    }
    guard !entries.isEmpty else { return nil }
    return tree(entries, depth: 0)
  }

  private static func tree(_ entries: [([Substring], JSONValue)], depth: Int) -> JSONValue {
    var leaves: JSONValue?
    var names: [Substring] = []
    var children: [Substring: [([Substring], JSONValue)]] = [:]
    for (path, value) in entries {
      guard depth < path.count else {
        leaves = value
        continue
      }
      if children[path[depth]] == nil { names.append(path[depth]) }
      children[path[depth], default: []].append((path, value))
    }
    guard !names.isEmpty else { return leaves ?? .null }
    let numbers = names.compactMap { Int($0) }
    if numbers.count == names.count {
      return .array(
        names.sorted { (Int($0) ?? 0) < (Int($1) ?? 0) }.map {
          tree(children[$0] ?? [], depth: depth + 1)
        })
    }
    return .object(
      JSONObject(names.map { (String($0), tree(children[$0] ?? [], depth: depth + 1)) }))
  }
}

extension Flattened {
  /// An object with the keys of the objects in it joined by dots; lists stay as they are.
  static func flat(_ object: JSONObject) -> JSONObject {
    var pairs: [(String, JSONValue)] = []
    func add(_ object: JSONObject, _ prefix: String, _ depth: Int) {
      for member in object {
        let key = prefix + member.key
        if let inner = member.value.objectValue, !inner.isEmpty, depth < 20 {
          add(inner, key + ".", depth + 1)
        } else {
          pairs.append((key, member.value))
        }
      }
    }
    add(object, "", 0)
    return JSONObject(pairs)
  }
}
