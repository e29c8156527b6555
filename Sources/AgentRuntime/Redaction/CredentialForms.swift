import AgentTrace

/// The forms that credentials are known by.
///
/// Prefixes and lengths are those that the services document, or that secret scanners look for
/// (GitHub's and GitLab's lists of supported secrets); lengths are the least that a real one has.
enum CredentialForms {
  /// A credential that begins with a fixed text.
  struct Form {
    var kind: String
    var prefix: [UInt8]
    var alphabet: Alphabet
    /// Characters behind the prefix, at least.
    var least: Int

    init(_ kind: String, _ prefix: String, _ alphabet: Alphabet, _ least: Int) {
      self.kind = kind
      self.prefix = Array(prefix.utf8)
      self.alphabet = alphabet
      self.least = least
    }
  }

  /// What a credential is written with.
  enum Alphabet {
    /// `A–Z 0–9`.
    case upperCase
    /// `A–Z a–z 0–9`.
    case alphanumeric
    /// Those and `_`, `-`.
    case word
    /// Those and `.`, `~`, `+`, `/`, `=`: RFC 6750's token68.
    case token68

    func contains(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
      case UInt8(ascii: "a")...UInt8(ascii: "z"): self != .upperCase
      case UInt8(ascii: "_"), UInt8(ascii: "-"): self == .word || self == .token68
      case UInt8(ascii: "."), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"),
        UInt8(ascii: "="):
        self == .token68
      default: false
      }
    }
  }

  static let all: [Form] = [
    Form("aws", "AKIA", .upperCase, 16), Form("aws", "ASIA", .upperCase, 16),
    Form("github", "ghp_", .alphanumeric, 30), Form("github", "gho_", .alphanumeric, 30),
    Form("github", "ghu_", .alphanumeric, 30), Form("github", "ghs_", .alphanumeric, 30),
    Form("github", "ghr_", .alphanumeric, 30), Form("github", "github_pat_", .word, 22),
    Form("gitlab", "glpat-", .word, 20), Form("gitlab", "gldt-", .word, 20),
    Form("key", "sk-", .word, 20), Form("key", "pk-lf-", .word, 20),
    Form("stripe", "sk_live_", .alphanumeric, 16), Form("stripe", "sk_test_", .alphanumeric, 16),
    Form("stripe", "rk_live_", .alphanumeric, 16), Form("stripe", "whsec_", .token68, 20),
    Form("slack", "xoxb-", .word, 10), Form("slack", "xoxp-", .word, 10),
    Form("slack", "xoxa-", .word, 10), Form("slack", "xoxr-", .word, 10),
    Form("slack", "xoxs-", .word, 10), Form("slack", "xapp-", .word, 10),
    Form("google", "AIza", .word, 35), Form("google", "ya29.", .word, 20),
    Form("npm", "npm_", .alphanumeric, 30), Form("pypi", "pypi-", .word, 50),
    Form("huggingface", "hf_", .alphanumeric, 30), Form("sendgrid", "SG.", .token68, 40),
    Form("digitalocean", "dop_v1_", .alphanumeric, 40), Form("groq", "gsk_", .alphanumeric, 30),
    Form("databricks", "dapi", .alphanumeric, 32), Form("age", "AGE-SECRET-KEY-1", .upperCase, 50),
    Form("jwt", "eyJ", .token68, 40),
  ]

  /// Keys of an object whose text is a credential, in lower case and without `_`, `-` and spaces.
  static let keys: Set<String> = [
    "password", "passwd", "passphrase", "pwd", "secret", "clientsecret", "secretkey", "apikey",
    "apisecret", "apitoken", "token", "accesstoken", "refreshtoken", "idtoken", "authtoken",
    "bearertoken", "sessiontoken", "privatekey", "accesskey", "secretaccesskey", "authorization",
    "proxyauthorization", "xapikey", "cookie", "setcookie", "credential", "credentials",
  ]

  /// Whether the text of a key is a credential.
  static func isKey(_ key: String) -> Bool {
    guard key.utf8.count <= 40 else { return false }
    let letters = key.utf8.compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte + 0x20
      case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: " "): nil
      default: byte
      }
    }
    return keys.contains(String(decoding: letters, as: UTF8.self))
  }
}
