/// What a piece of text is that people read, rather than how it looks.
public enum Tone: Sendable, Hashable {
  case heading
  case faint
  case good
  case bad
  case warning
}

/// One line that tells people of an event. What comes from the trace is as it stands there: whoever lays the line out
/// makes it safe to show.
package struct EventLine: Sendable {
  /// What happened, in a word or two of ours.
  package var label: String
  /// What the label is.
  package var tone: Tone
  /// What it was about.
  package var text: EventText
  /// Stands at the end, however long the text.
  package var tail: String
  /// Whether what no line has room for stands on further lines: an error is told to its end.
  package var isWhole: Bool

  package init(
    _ label: String, _ tone: Tone, _ text: EventText, tail: String = "", isWhole: Bool = false
  ) {
    self.label = label
    self.tone = tone
    self.text = text
    self.tail = tail
    self.isWhole = isWhole
  }
}

/// Words, and values of the trace between them, which whoever lays them out writes as long as there is room.
package struct EventText: Sendable, ExpressibleByStringInterpolation {
  package enum Piece: Sendable {
    case words(String)
    case value(JSONValue)
  }

  package private(set) var pieces: [Piece]

  package init(stringLiteral value: String) { pieces = [.words(value)] }

  package init(stringInterpolation: Interpolation) { pieces = stringInterpolation.pieces }

  package struct Interpolation: StringInterpolationProtocol {
    fileprivate var pieces: [Piece] = []

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) { append(literal) }

    package mutating func appendInterpolation(_ value: JSONValue) { pieces.append(.value(value)) }

    package mutating func appendInterpolation(_ words: some CustomStringConvertible) {
      append(words.description)
    }

    private mutating func append(_ words: String) {
      if case .words(let before)? = pieces.last {
        pieces[pieces.count - 1] = .words(before + words)
      } else {
        pieces.append(.words(words))
      }
    }
  }
}
