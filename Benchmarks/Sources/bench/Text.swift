/// A stream of numbers that depends on its seed alone (SplitMix64, Steele, Lea, Flood 2014).
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// A number below a bound.
  mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % max(1, bound) }
}

/// Writes text that compresses about as agents' texts do: words by Zipf's law, figures, names.
struct TextSource {
  private(set) var numbers: SeededNumbers
  private let words: [String]

  init(seed: UInt64) {
    numbers = SeededNumbers(seed: seed)
    // The vocabulary is the same for every seed.
    var source = SeededNumbers(seed: 7)
    let starts = ["re", "con", "or", "de", "in", "pro", "ac", "per", "sub", "ex", "un", "st", "ca"]
    let middles = ["der", "cou", "ti", "ma", "si", "le", "ven", "por", "tra", "mi", "ga", "lo"]
    let ends = ["t", "s", "ing", "ed", "tion", "er", "ment", "ly", "al", "e", "y", "ance"]
    var words = ["the", "of", "to", "and", "a", "in", "is", "for", "that", "order", "customer"]
    while words.count < 6_000 {
      var word = starts[source.below(starts.count)]
      for _ in 0...source.below(2) { word += middles[source.below(middles.count)] }
      words.append(word + ends[source.below(ends.count)])
    }
    self.words = words
  }

  mutating func below(_ bound: Int) -> Int { numbers.below(bound) }

  mutating func word() -> String {
    // The rank of a word is the product of two even numbers: near enough to Zipf.
    let rank = numbers.below(words.count) * (numbers.below(1_000) + 1) / 1_000
    return words[rank * (numbers.below(1_000) + 1) / 1_000]
  }

  /// Sentences of at least so many bytes.
  mutating func text(_ bytes: Int) -> String {
    var text = ""
    var sentence = 0
    while text.utf8.count < bytes {
      if numbers.below(14) == 0 {
        text += String(numbers.below(100_000))
      } else {
        text += word()
      }
      sentence += 1
      if sentence > 6, numbers.below(8) == 0 {
        text += numbers.below(5) == 0 ? ".\n" : ". "
        sentence = 0
      } else {
        text += " "
      }
    }
    return text
  }

  /// An identifier such as `ORD-48213`.
  mutating func identifier(_ prefix: String) -> String {
    "\(prefix)-\(10_000 + numbers.below(90_000))"
  }
}
