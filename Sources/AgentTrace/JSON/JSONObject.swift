/// The members of a JSON object, sorted by the UTF-8 bytes of their keys, each key once.
///
/// The order makes every walk over an object deterministic and its encoding canonical.
/// Look-up is a binary search, among few a look at each; inserting is linear.
public struct JSONObject: Sendable, Hashable {
  /// One key and its value.
  public struct Member: Sendable, Hashable {
    /// Its text as it stands, without escapes.
    public var key: String
    /// What the key stands for.
    public var value: JSONValue

    /// A member by its key's text, without escapes.
    public init(key: String, value: JSONValue) {
      self.key = key
      self.value = value
    }

    public static func == (left: Member, right: Member) -> Bool {
      left.key.hasSameUTF8(as: right.key) && left.value == right.value
    }
  }

  /// In the order of their keys.
  @_spi(Scanning) public private(set) var members: [Member]

  /// An object without members.
  public init() { members = [] }

  /// Takes members in any order; of a key that stands twice the last value stays.
  public init(_ pairs: [(String, JSONValue)]) {
    self.init()
    members.reserveCapacity(pairs.count)
    for (key, value) in pairs {
      if let last = members.last, !last.key.precedesByUTF8(key) {
        self[key] = value
      } else {
        members.append(Member(key: key, value: value))
      }
    }
  }

  /// Takes members whose keys are known to grow by their UTF-8; nothing is checked.
  @_spi(Scanning) public init(growing members: [Member]) { self.members = members }

  /// Takes members in any order; `nil` when a key stands twice.
  init?(unique unsorted: [Member]) {
    members = unsorted
    var isSorted = true
    for index in members.indices.dropFirst()
    where members[index - 1].key.compareUTF8(with: members[index].key) >= 0 {
      isSorted = false
      break
    }
    if isSorted { return }
    members.sort { $0.key.precedesByUTF8($1.key) }
    for index in members.indices.dropFirst()
    where members[index - 1].key.hasSameUTF8(as: members[index].key) {
      return nil
    }
  }

  /// The value of a key. Setting `nil` removes the member; JSON `null` is a value.
  public subscript(key: String) -> JSONValue? {
    get {
      guard members.count > Self.fewMembers else { return few(key) }
      let index = lowerBound(of: key)
      guard index < members.count, members[index].key.hasSameUTF8(as: key) else { return nil }
      return members[index].value
    }
    set {
      let index = lowerBound(of: key)
      let isPresent = index < members.count && members[index].key.hasSameUTF8(as: key)
      switch (isPresent, newValue) {
      case (true, let value?): members[index].value = value
      case (true, nil): members.remove(at: index)
      case (false, let value?): members.insert(Member(key: key, value: value), at: index)
      case (false, nil): break
      }
    }
  }

  /// Of so many members nearly all are told apart by the lengths of their keys sooner than one is searched for.
  private static let fewMembers = 32

  private func few(_ key: String) -> JSONValue? {
    members.withUnsafeBufferPointer { members in
      let count = key.utf8.count
      for index in members.indices
      where members[index].key.utf8.count == count && members[index].key.hasSameUTF8(as: key) {
        return members[index].value
      }
      return nil
    }
  }

  /// The keys, sorted by their UTF-8 bytes.
  public var keys: [String] { members.map(\.key) }

  /// The same keys with other values. Keys stay as they are, so the order does too.
  ///
  /// - Throws: What `transform` throws.
  public func mapValues<E: Error>(
    _ transform: (JSONValue) throws(E) -> JSONValue
  ) throws(E) -> JSONObject {
    var result = self
    for index in members.indices {
      result.members[index].value = try transform(members[index].value)
    }
    return result
  }

  /// The same keys with other values, which may depend on the keys.
  ///
  /// - Throws: What `transform` throws.
  public func mapMembers<E: Error>(
    _ transform: (String, JSONValue) throws(E) -> JSONValue
  ) throws(E) -> JSONObject {
    var result = self
    for index in members.indices {
      result.members[index].value = try transform(members[index].key, members[index].value)
    }
    return result
  }

  private func lowerBound(of key: String) -> Int {
    members.partitionPoint { $0.key.precedesByUTF8(key) }
  }
}

extension JSONObject: RandomAccessCollection {
  public var startIndex: Int { members.startIndex }
  public var endIndex: Int { members.endIndex }
  /// Steps over the members in the order of their keys.
  public func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }
  /// The member at a position in the order of keys, from 0; out of bounds is a programmer's error.
  ///
  /// - Complexity: O(1).
  public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// A key that stands twice keeps its last value.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}
