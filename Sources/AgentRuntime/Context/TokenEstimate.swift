public import AgentTrace

/// How many tokens a value may be for a model: the bytes of its canonical form by the bytes that a token
/// of the model's family holds on average, rounded up. It needs no vocabulary, errs on the high side for
/// English in JSON, and is an estimate.
///
/// What the families' makers say of their tokenizers, in characters of English text, which are bytes:
///
/// | family | bytes | source |
/// |---|---|---|
/// | `openai` | 4 | "1 token ~= 4 chars in English", OpenAI Help Center, "What are tokens and how to count them?" |
/// | `anthropic` | 3.5 | "approximately 3.5 English characters", Claude documentation, glossary, "Tokens" |
/// | `gemini` | 4 | "a token is equivalent to about 4 characters", Gemini API documentation, "Understand and count tokens" |
/// | `llama` | 3.9 | 3.94 characters a token, "The Llama 3 Herd of Models" (2024), section 3.2 |
/// | `qwen` | 3 | 3 to 4 characters of English a token, Qwen documentation, "Key Concepts" |
/// | `deepseek` | 3.3 | "1 English character ≈ 0.3 token", DeepSeek API documentation, "Token & Token Usage" |
/// | `plain` | 4 | no family is known |
public struct TokenEstimate: Sendable, Hashable {
  /// Models whose tokens are about as long.
  public enum Family: String, Sendable, Hashable, CaseIterable {
    case openai, anthropic, gemini, llama, qwen, deepseek
    /// Four bytes a token.
    case plain

    /// Tenths of bytes that one token holds.
    var tenthsOfBytes: Int {
      switch self {
      case .openai, .gemini, .plain: 40
      case .anthropic: 35
      case .llama: 39
      case .qwen: 30
      case .deepseek: 33
      }
    }
  }

  private let tenthsOfBytes: Int

  /// The estimate for a family.
  public init(_ family: Family = .plain) { tenthsOfBytes = family.tenthsOfBytes }

  /// The estimate for tokens of so many bytes, to a tenth; from 1 to 100.
  public init(bytesPerToken: Double) {
    tenthsOfBytes = Int((min(max(1, bytesPerToken), 100) * 10).rounded())
  }

  /// The estimate for the family that a model's provider or name says it is of.
  public init(provider: String, model: String) {
    let words = (provider + " " + model).utf8.split { byte in
      !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }.map { String(decoding: $0.map { $0 | 0x20 }, as: UTF8.self) }
    let family = Self.names.first { words.contains($0.word) }?.family
    self.init(family ?? .plain)
  }

  private static let names: [(word: String, family: Family)] = [
    ("anthropic", .anthropic), ("claude", .anthropic), ("deepseek", .deepseek), ("qwen", .qwen),
    ("llama", .llama), ("gemini", .gemini), ("gemma", .gemini), ("gpt", .openai),
    ("openai", .openai),
  ]

  /// The estimate for a value.
  public func tokens(in value: JSONValue) -> Int {
    let (tenths, overflow) = CanonicalJSON.encode(value, form: .plain).count
      .multipliedReportingOverflow(by: 10)
    return overflow ? .max / 4 : (tenths + tenthsOfBytes - 1) / tenthsOfBytes
  }

  /// How many bytes so many tokens may have.
  func bytes(inTokens tokens: Int) -> Int { min(max(0, tokens), 1 << 40) * tenthsOfBytes / 10 }
}
