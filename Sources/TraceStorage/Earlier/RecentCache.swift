/// What was kept or asked for lately, within a limit of bytes.
///
/// Two generations: when the young one has half of the room, it becomes the old one, which is forgotten;
/// what is asked for in the old one is young again. So what is needed again and again stays, as long as
/// it takes no more than half of the room, whatever else comes along.
struct RecentCache<Key: Hashable, Value> {
  private var young: [Key: (value: Value, bytes: Int)] = [:]
  private var old: [Key: (value: Value, bytes: Int)] = [:]
  private var youngBytes = 0
  private let limitBytes: Int

  init(limitBytes: Int) { self.limitBytes = limitBytes }

  subscript(key: Key) -> Value? {
    mutating get {
      if let (value, _) = young[key] { return value }
      guard let (value, bytes) = old.removeValue(forKey: key) else { return nil }
      keep(value, for: key, bytes: bytes)
      return value
    }
  }

  /// Keeps a value that takes about so many bytes.
  mutating func keep(_ value: Value, for key: Key, bytes: Int) {
    if youngBytes > limitBytes / 2 {
      old = young
      young = [:]
      youngBytes = 0
    }
    if young.updateValue((value, bytes), forKey: key) == nil { youngBytes += bytes }
  }
}
