import AgentTrace
import TraceStorage

/// The members of a zip file: stored, deflated, or packed with Zstandard (methods 0, 8 and 93).
struct Zip {
  /// A member as the directory at the file's end has it.
  struct Member {
    var name: String
    var method: Int
    var packedCount: Int
    var count: Int
    /// Where its local header begins.
    var start: Int
  }

  /// The most members that are read.
  static let memberLimit = 100_000
  /// The most bytes of a member.
  static let memberLimitBytes = 256 << 20

  private let bytes: [UInt8]
  /// In the directory's order.
  let members: [Member]

  /// Whether bytes begin as a zip file does.
  static func isOne(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: [0x50, 0x4b, 0x03, 0x04]) || bytes.starts(with: [0x50, 0x4b, 0x05, 0x06])
  }

  /// Reads the directory.
  ///
  /// - Throws: ``ImportError`` where there is none, or it leads out of the file.
  init(_ bytes: [UInt8]) throws(ImportError) {
    self.bytes = bytes
    var directory = Self.number(bytes, at: 0, 0)
    var count = 0
    guard let end = Self.endOfDirectory(bytes) else {
      throw ImportError(.damagedArchive("no directory at its end"))
    }
    count = Self.number(bytes, at: end + 10, 2)
    directory = Self.number(bytes, at: end + 16, 4)
    if count == 0xffff || directory == 0xffff_ffff,
      let wide = Self.wideDirectory(bytes, before: end)
    {
      (count, directory) = wide
    }
    guard count <= Self.memberLimit else { throw ImportError(.damagedArchive("too many members")) }
    var members: [Member] = []
    var position = directory
    for _ in 0..<count {
      guard position >= 0, position + 46 <= bytes.count,
        Self.number(bytes, at: position, 4) == 0x0201_4b50
      else { throw ImportError(.damagedArchive("a damaged directory")) }
      let nameCount = Self.number(bytes, at: position + 28, 2)
      let extraCount = Self.number(bytes, at: position + 30, 2)
      let commentCount = Self.number(bytes, at: position + 32, 2)
      let nameEnd = position + 46 + nameCount
      guard nameEnd + extraCount + commentCount <= bytes.count else {
        throw ImportError(.damagedArchive("a damaged directory"))
      }
      var member = Member(
        name: String(decoding: bytes[position + 46..<nameEnd], as: UTF8.self),
        method: Self.number(bytes, at: position + 10, 2),
        packedCount: Self.number(bytes, at: position + 20, 4),
        count: Self.number(bytes, at: position + 24, 4),
        start: Self.number(bytes, at: position + 42, 4))
      Self.widen(&member, bytes, nameEnd, extraCount)
      members.append(member)
      position = nameEnd + extraCount + commentCount
    }
    self.members = members
  }

  /// The bytes of a member.
  ///
  /// - Throws: ``ImportError`` where it is damaged, too large, or packed in a way that is not known.
  func read(_ member: Member) throws(ImportError) -> [UInt8] {
    let start = member.start
    guard start >= 0, start <= bytes.count - 30, Self.number(bytes, at: start, 4) == 0x0403_4b50
    else {
      throw ImportError(.damagedArchive("\(member.name) is not where the directory says"))
    }
    let body =
      start + 30 + Self.number(bytes, at: start + 26, 2) + Self.number(bytes, at: start + 28, 2)
    guard member.packedCount >= 0, body <= bytes.count, member.packedCount <= bytes.count - body
    else {
      throw ImportError(.damagedArchive("\(member.name) ends beyond the file"))
    }
    let packed = bytes[body..<body + member.packedCount]
    do throws(ForeignCompression.Problem) {
      switch member.method {
      case 0: return Array(packed)
      case 8: return try ForeignCompression.inflate(packed, limitBytes: Self.memberLimitBytes)
      case 93:
        return try ForeignCompression.unpackZstandard(
          packed, count: member.count, limitBytes: Self.memberLimitBytes)
      default:
        throw .noLibrary("zip method \(member.method)")
      }
    } catch {
      throw ImportError(error, in: member.name)
    }
  }

  private static func endOfDirectory(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 22 else { return nil }
    var position = bytes.count - 22
    let first = max(0, position - 0xffff)
    while position >= first {
      if number(bytes, at: position, 4) == 0x0605_4b50 { return position }
      position -= 1
    }
    return nil
  }

  /// The directory's place in files with more or larger members than the older form can number.
  private static func wideDirectory(_ bytes: [UInt8], before end: Int) -> (Int, Int)? {
    guard end >= 20, number(bytes, at: end - 20, 4) == 0x0706_4b50 else { return nil }
    let place = number(bytes, at: end - 12, 8)
    guard place >= 0, place <= bytes.count - 56, number(bytes, at: place, 4) == 0x0606_4b50 else {
      return nil
    }
    return (number(bytes, at: place + 32, 8), number(bytes, at: place + 48, 8))
  }

  private static func widen(
    _ member: inout Member, _ bytes: [UInt8], _ start: Int, _ count: Int
  ) {
    var position = start
    while position + 4 <= start + count {
      let size = number(bytes, at: position + 2, 2)
      guard number(bytes, at: position, 2) == 1 else {
        position += 4 + size
        continue
      }
      var place = position + 4
      for path in [\Member.count, \Member.packedCount, \Member.start]
      where member[keyPath: path] == 0xffff_ffff && place + 8 <= min(start + count, bytes.count) {
        member[keyPath: path] = number(bytes, at: place, 8)
        place += 8
      }
      return
    }
  }

  /// A number with its lowest byte first; -1 where it does not fit.
  private static func number(_ bytes: [UInt8], at position: Int, _ count: Int) -> Int {
    guard position >= 0, position <= bytes.count - count else { return -1 }
    var value: UInt64 = 0
    for index in (0..<count).reversed() { value = value << 8 | UInt64(bytes[position + index]) }
    return Int(exactly: value) ?? -1
  }
}

extension ImportError {
  /// What kept something from being unpacked.
  init(_ problem: ForeignCompression.Problem, in name: String) {
    switch problem {
    case .damaged: self.init(.damagedArchive("\(name) cannot be unpacked"))
    case .tooLarge: self.init(.tooLarge(limitBytes: Zip.memberLimitBytes))
    case .noLibrary(let library): self.init(.unsupported("\(name) needs \(library)"))
    }
  }
}
