import AgentTrace

/// An object that was written down as it changed, a line for each change, as VS Code keeps its chats: `{"kind":0,"v"}` begins
/// it, `{"kind":1,"k","v"}` sets the value at a path, `{"kind":2,"k","v","i"}` adds to a list, from which what stands behind
/// the place `i` is taken away first, and `{"kind":3,"k"}` takes a value away.
///
/// Shape: https://github.com/microsoft/vscode/blob/main/src/vs/workbench/contrib/chat/common/model/objectMutationLog.ts
struct ObjectJournal {
  /// A value, and where its parts stand in the file.
  struct Placed {
    var value: JSONValue
    /// Where what stands at a path was written, by the paths below this value; the others stand where those above them do.
    fileprivate var origins: [[String]: JSONPointer]

    /// A value that stands in one place.
    init(_ value: JSONValue, at pointer: JSONPointer) {
      self.value = value
      origins = [[]: pointer]
    }

    /// Where what stands at a path below it was written.
    func pointer(_ path: [String] = []) -> JSONPointer {
      var above = path
      while origins[above] == nil, above.popLast() != nil {}
      let origin = origins[above] ?? JSONPointer()
      return JSONPointer(tokens: origin.tokens + path.dropFirst(above.count))
    }

    /// What stands under a key or at a place of a list; `nil` where there is nothing.
    subscript(token: String) -> Placed? {
      guard let inner = value.member(token) else { return nil }
      var placed = Placed(inner, at: pointer([token]))
      for (path, origin) in origins where path.first == token && path.count > 1 {
        placed.origins[Array(path.dropFirst())] = origin
      }
      return placed
    }

    /// The elements of the list under a key; none of anything else.
    func elements(_ key: String) -> [Placed] {
      guard let list = self[key], let values = list.value.arrayValue else { return [] }
      var inner: [String: [[String]: JSONPointer]] = [:]
      for (path, origin) in list.origins where path.count > 1 {
        inner[path[0], default: [:]][Array(path.dropFirst())] = origin
      }
      return values.enumerated().map { index, value in
        let token = String(index)
        var placed = Placed(value, at: list.pointer([token]))
        placed.origins.merge(inner[token] ?? [:]) { own, _ in own }
        return placed
      }
    }

    /// Forgets where what stood at a path was written.
    fileprivate mutating func forget(_ path: [String]) {
      origins = origins.filter { !$0.key.starts(with: path) }
    }

    /// Forgets where the elements of a list were written, from one on.
    fileprivate mutating func forgetElements(of path: [String], from index: Int) {
      origins = origins.filter { place, _ in
        guard place.count > path.count, place.starts(with: path) else { return true }
        return Int(place[path.count]).map { $0 < index } ?? true
      }
    }
  }

  private(set) var state: Placed?
  /// Lines that are no change, or none of what there is.
  private(set) var unread: [JSONPointer] = []

  /// Whether a line is one of a journal.
  static func isEntry(_ line: JSONValue) -> Bool {
    guard let kind = line["kind"]?.intValue, (0...3).contains(kind) else { return false }
    return kind == 0 ? line["v"] != nil : line["k"]?.arrayValue != nil
  }

  /// Takes in the lines of a journal.
  ///
  /// - Parameters:
  ///   - lines: with their places.
  ///   - losing: told what there is before anything of it at a path, or below that, is overwritten or taken away.
  init(_ lines: SourceLines, losing: (Placed, [String]) -> Void) {
    unread = lines.unread
    for (pointer, line) in lines.values where !apply(line, at: pointer, losing: losing) {
      if !line.saysNothing { unread.append(pointer) }
    }
  }

  /// Takes in a change; `false` for what is none.
  private mutating func apply(
    _ line: JSONValue, at pointer: JSONPointer, losing: (Placed, [String]) -> Void
  ) -> Bool {
    guard Self.isEntry(line), let kind = line["kind"]?.intValue else { return false }
    if kind == 0 {
      if let state { losing(state, []) }
      state = Placed(line["v"] ?? .null, at: pointer.appending("v"))
      return true
    }
    guard var state, let path = Self.path(line["k"]), let last = path.last else { return false }
    let old = state.value.at(path)
    switch kind {
    case 2:
      let added = line["v"]?.arrayValue ?? []
      guard let list = old.map({ $0.isNull ? [] : $0.arrayValue }) ?? [],
        state.value.at(path.dropLast())?.objectValue != nil
      else { return false }
      let kept = min(line["i"]?.intValue ?? list.count, list.count)
      guard kept >= 0 else { return false }
      if kept < list.count { losing(state, path) }
      guard state.value.set(.array(Array(list.prefix(kept)) + added), at: path[...]) else {
        return false
      }
      if kept < list.count { state.forgetElements(of: path, from: kept) }
      for index in added.indices {
        state.origins[path + [String(kept + index)]] =
          pointer.appending("v").appending(String(index))
      }
      if old == nil { state.origins[path] = pointer.appending("v") }
    default:
      if old != nil { losing(state, path) }
      let value = kind == 1 ? line["v"] : nil
      if value == nil, old == nil { return state.value.at(path.dropLast()) != nil }
      guard state.value.set(value, at: path[...]) else { return false }
      state.forget(path)
      if value != nil { state.origins[path] = pointer.appending("v") }
    }
    self.state = state
    return !last.isEmpty
  }

  private static func path(_ value: JSONValue?) -> [String]? {
    var path: [String] = []
    for token in value?.arrayValue ?? [] {
      guard let word = token.stringValue ?? token.intValue.map({ String($0) }) else { return nil }
      path.append(word)
    }
    return path
  }
}

extension JSONValue {
  /// What stands under a key, or at a place of a list.
  fileprivate func member(_ token: String) -> JSONValue? {
    guard let elements = arrayValue else { return self[token] }
    guard let index = Int(token), elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  fileprivate func at(_ path: some Collection<String>) -> JSONValue? {
    var value = self
    for token in path {
      guard let inner = value.member(token) else { return nil }
      value = inner
    }
    return value
  }

  /// Puts a value at a path, or takes away what stands there. `false` where the path leads nowhere.
  fileprivate mutating func set(_ value: JSONValue?, at path: ArraySlice<String>) -> Bool {
    guard let first = path.first else { return false }
    let rest = path.dropFirst()
    switch self {
    case .object(var object):
      if rest.isEmpty {
        object[first] = value
      } else {
        guard var inner = object[first], inner.set(value, at: rest) else { return false }
        object[first] = inner
      }
      self = .object(object)
    case .array(var elements):
      guard let index = Int(first), elements.indices.contains(index) else { return false }
      if rest.isEmpty {
        elements[index] = value ?? .null
      } else {
        guard elements[index].set(value, at: rest) else { return false }
      }
      self = .array(elements)
    default: return false
    }
    return true
  }
}
