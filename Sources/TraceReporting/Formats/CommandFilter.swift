/// Keeps what is printed from being a workflow command of GitHub Actions.
///
/// A step's output is searched for commands, of two forms: a line that begins with `::name …::`, whatever
/// spaces stand before it, and `##[name]` anywhere
/// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions, and `ActionCommand` of the
/// runner, https://github.com/actions/runner). So no two colons are left side by side, and no bracket behind two
/// number signs, at any place: whatever ends a line for the runner need not be known.
public struct CommandFilter: Sendable {
  /// What is printed, which says how a byte may be written otherwise.
  public enum Form: Sendable {
    /// For people: a space is put in.
    case text
    /// JSON, where the two forms can stand in strings only: the byte is written as an escape, and the value stays.
    case json
    /// XML or HTML: the byte is written as a reference, in scripts as an escape; style sheets are left as they are,
    /// since no text of a trace is in them.
    case markup
  }

  /// The last two bytes that were printed.
  private var last: (UInt8, UInt8) = (0, 0)
  private var element = Element.none

  private enum Element { case none, style, script }

  /// Nothing was printed so far.
  public init() {}

  /// Bytes as they may be printed behind those of before.
  ///
  /// - Complexity: O(*n*); without such a place the bytes are not copied.
  public mutating func filtered(_ bytes: [UInt8], as form: Form) -> [UInt8] {
    var result: [UInt8]?
    for (index, byte) in bytes.enumerated() {
      if form == .markup, byte == UInt8(ascii: "<") { enter(bytes[index...].prefix(8)) }
      let completes =
        (byte == UInt8(ascii: ":") && last.1 == byte)
        || (byte == UInt8(ascii: "[") && last == (UInt8(ascii: "#"), UInt8(ascii: "#")))
      if completes, element != .style {
        if result == nil { result = Array(bytes[..<index]) }
        result? += replacement(of: byte, form)
      } else {
        result?.append(byte)
      }
      // An escape ends with another byte; what was put in parts this one from the next all the same.
      last = (last.1, completes && form != .text ? 0 : byte)
    }
    return result ?? bytes
  }

  private mutating func enter(_ tag: ArraySlice<UInt8>) {
    if tag.starts(with: "<style".utf8) { element = .style }
    if tag.starts(with: "<script".utf8) { element = .script }
    if tag.starts(with: "</style".utf8) || tag.starts(with: "</script".utf8) { element = .none }
  }

  private func replacement(of byte: UInt8, _ form: Form) -> [UInt8] {
    let isColon = byte == UInt8(ascii: ":")
    return switch form {
    case .text: [0x20, byte]
    case .markup where element != .script: Array((isColon ? "&#58;" : "&#91;").utf8)
    case .json, .markup: Array((isColon ? "\\u003a" : "\\u005b").utf8)
    }
  }
}
