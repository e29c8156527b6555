/// Simple case folding: one scalar to one scalar, so that lengths stay as they are.
///
/// The fold of a scalar is the lower case of its upper case, wherever both are one scalar. That gives
/// the classes of Unicode's simple folding (CaseFolding.txt, status C and S): `ς`, `σ` and `Σ` are
/// one, `ſ` is `s`, the Kelvin sign is `k`; `ß` is not `ss`, and the Turkish `ı` and `İ` stay alone.
enum CaseFolding {
  /// The scalar that stands for all spellings of this one.
  static func fold(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    if scalar.isASCII {
      return ("A"..."Z").contains(scalar)
        ? Unicode.Scalar(UInt8(ascii: scalar) + 0x20) : scalar
    }
    // Its upper case is `I`, which Unicode folds to `i` only for Turkish.
    if scalar == "\u{131}" { return scalar }
    let upper = single(scalar.properties.uppercaseMapping) ?? scalar
    return single(upper.properties.lowercaseMapping) ?? upper
  }

  /// The simple upper case of a scalar, itself where it has none.
  static func upper(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    single(scalar.properties.uppercaseMapping) ?? scalar
  }

  /// Every scalar of a text, folded.
  static func fold(_ text: String) -> String {
    var folded = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { folded.append(fold(scalar)) }
    return String(folded)
  }

  private static func single(_ mapping: String) -> Unicode.Scalar? {
    let scalars = mapping.unicodeScalars
    guard let first = scalars.first, scalars.count == 1 else { return nil }
    return first
  }

  /// Every scalar that folds to another one, with that one.
  ///
  /// Looked for only in the blocks that hold cased letters: a walk over all of Unicode would cost
  /// more than a whole evaluation.
  static let foldings: [(from: UInt32, to: UInt32)] = {
    var found: [(from: UInt32, to: UInt32)] = []
    for block in casedBlocks {
      for value in block {
        guard let scalar = Unicode.Scalar(value) else { continue }
        let folded = fold(scalar)
        if folded != scalar { found.append((value, folded.value)) }
      }
    }
    return found
  }()

  private static let casedBlocks: [ClosedRange<UInt32>] = [
    0x41...0x5a, 0xb5...0x556, 0x10a0...0x10ff, 0x13a0...0x13ff, 0x1c80...0x1cbf, 0x1e00...0x1fff,
    0x2126...0x2184, 0x24b6...0x24cf, 0x2c00...0x2d2d, 0xa640...0xa7ff, 0xab53...0xabbf,
    0xff21...0xff3a, 0x10400...0x104d3, 0x10570...0x10595, 0x10c80...0x10cb2, 0x118a0...0x118bf,
    0x16e40...0x16e5f, 0x1e900...0x1e921,
  ]
}
