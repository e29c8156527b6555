/// A text in which `${NAME}` stands for a variable of this process's environment, so that no file and no
/// log holds its value.
public struct EnvironmentText: Sendable, Hashable {
  /// A piece of the text.
  public enum Piece: Sendable, Hashable {
    /// As it stands.
    case text(String)
    /// The value of a variable.
    case variable(String)
  }

  /// In order.
  public let pieces: [Piece]

  /// Reads a text. What opens with `${` and names no variable stands for itself; `$${` is a plain `${`.
  public init(_ text: String) {
    pieces = PlaceholderText(text, isName: Self.isName).pieces.map { piece in
      switch piece {
      case .text(let plain): .text(plain)
      case .name(let name): .variable(name)
      }
    }
  }

  /// The names of its variables, in order.
  public var variables: [String] {
    pieces.compactMap { if case .variable(let name) = $0 { name } else { nil } }
  }

  /// The text with the values of its variables.
  ///
  /// - Throws: ``MissingVariable`` for the first that has none.
  public func resolved(
    _ value: (String) -> String?
  ) throws(MissingVariable) -> String {
    var text = ""
    for piece in pieces {
      switch piece {
      case .text(let plain): text += plain
      case .variable(let name):
        guard let value = value(name) else { throw MissingVariable(name: name) }
        text += value
      }
    }
    return text
  }

  /// A variable is not set.
  public struct MissingVariable: Error, Hashable, Sendable, CustomStringConvertible {
    /// Which.
    public var name: String

    public var description: String { "the variable \(name) is not set" }
  }

  private static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
    func isLetter(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    guard let first = bytes.first, isLetter(first) else { return false }
    return bytes.allSatisfy {
      isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
    }
  }
}
