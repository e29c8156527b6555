/// A text of a file in which `${name}` stands for something that is known later: the one syntax for it.
///
/// `$${` is a plain `${`. What opens and does not close, or encloses what is no name here, stands for
/// itself.
public struct PlaceholderText: Sendable, Hashable {
  /// A piece of the text.
  public enum Piece: Sendable, Hashable {
    /// As it stands.
    case text(String)
    /// What stands between `${` and the next `}`.
    case name(String)
  }

  /// In order; no two texts follow each other.
  public let pieces: [Piece]

  /// Reads a text.
  ///
  /// - Parameters:
  ///   - text: as somebody wrote it; `$${` in it stands for a plain `${`.
  ///   - isName: whether what stands between `${` and `}` may be a name here; anything may where it is left
  ///     out.
  public init(_ text: String, isName: (ArraySlice<UInt8>) -> Bool = { _ in true }) {
    let (dollar, open, close) = (UInt8(ascii: "$"), UInt8(ascii: "{"), UInt8(ascii: "}"))
    var pieces: [Piece] = []
    var plain: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.first {
      if byte == dollar, rest.starts(with: [dollar, dollar, open]) {
        plain += [dollar, open]
        rest = rest.dropFirst(3)
      } else if byte == dollar, rest.starts(with: [dollar, open]),
        let end = rest.firstIndex(of: close), isName(rest[(rest.startIndex + 2)..<end])
      {
        if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
        plain = []
        pieces.append(.name(String(decoding: rest[(rest.startIndex + 2)..<end], as: UTF8.self)))
        rest = rest[(end + 1)...]
      } else {
        plain.append(byte)
        rest = rest.dropFirst()
      }
    }
    if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
    self.pieces = pieces
  }

  /// A text of these pieces.
  init(pieces: [Piece]) { self.pieces = pieces }

  /// A text that says `text` when it is read as one with placeholders.
  public static func escaped(_ text: String) -> String {
    String(
      decoding: Array(text.utf8).replacing(Array("${".utf8), with: Array("$${".utf8)), as: UTF8.self
    )
  }

  /// The names in it, in order.
  public var names: [String] {
    pieces.compactMap { if case .name(let name) = $0 { name } else { nil } }
  }

  /// The text with what its names stand for; a name that stands for nothing stays as it is written.
  public func filled(_ value: (String) -> String?) -> String {
    var text = ""
    for piece in pieces {
      switch piece {
      case .text(let plain): text += plain
      case .name(let name): text += value(name) ?? "${\(name)}"
      }
    }
    return text
  }
}
