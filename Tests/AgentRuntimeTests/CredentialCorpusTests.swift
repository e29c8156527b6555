import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import AgentRuntime

/// The texts of `Fixtures/secrets`.
enum SecretCorpus {
  /// A text that holds a secret made for it.
  struct Leak {
    var source: String
    var secret: String
    var text: String
  }

  private static func rows(_ name: String, columns: Int) throws -> [[String]] {
    try Project.text("Fixtures/secrets/\(name).tsv").split(separator: "\n")
      .filter { !$0.hasPrefix("#") }
      .map { line in
        let row = line.split(separator: "\t", maxSplits: columns - 1).map(String.init)
        try #require(
          row.count == columns && ["seen", "held", "last"].contains(row[0]), "\(name): \(line)")
        return row
      }
  }

  static func harmless() throws -> [String] {
    try rows("harmless", columns: 2).map { $0[1] }
  }

  static func names() throws -> [String] { try rows("names", columns: 2).map { $0[1] } }

  /// Each text so many times, with other secrets.
  static func leaks(_ count: Int, seed: UInt64) throws -> [Leak] {
    var generator = Seeded(seed: seed)
    return try rows("leaks", columns: 4).flatMap { row in
      try (0..<count).map { _ in
        let secret = try made(of: row[2], &generator)
        let text = row[3].replacing("\\{", with: "\u{1}").replacing("\\}", with: "\u{2}")
          .replacing("\\n", with: "\n").replacing("{}", with: secret)
          .replacing("\u{1}", with: "{").replacing("\u{2}", with: "}")
        return Leak(source: "\(row[1]) \(row[3])", secret: secret, text: text)
      }
    }
  }

  /// A text of a form: `[a-z]{3}` stands for three bytes of a set.
  static func made(of form: String, _ generator: inout Seeded) throws -> String {
    var bytes = Array(form.utf8)[...]
    var made: [UInt8] = []
    while let byte = bytes.popFirst() {
      guard byte == UInt8(ascii: "[") else {
        made.append(byte == UInt8(ascii: "\\") ? bytes.popFirst() ?? byte : byte)
        continue
      }
      var set: [UInt8] = []
      while let member = bytes.popFirst(), member != UInt8(ascii: "]") {
        if member == UInt8(ascii: "-"), let first = set.last, let last = bytes.first,
          last != UInt8(ascii: "]")
        {
          bytes.removeFirst()
          set += Array(first...max(first, last)).dropFirst()
        } else {
          set.append(member == UInt8(ascii: "\\") ? bytes.popFirst() ?? member : member)
        }
      }
      var count = 1
      if bytes.first == UInt8(ascii: "{") {
        let end = try #require(bytes.firstIndex(of: UInt8(ascii: "}")))
        count = try #require(
          Int(String(decoding: bytes[(bytes.startIndex + 1)..<end], as: UTF8.self)))
        bytes = bytes[(end + 1)...]
      }
      for _ in 0..<count { made.append(try #require(set.randomElement(using: &generator))) }
    }
    return String(decoding: made, as: UTF8.self)
  }
}

@Suite("Secrets of the corpus")
struct CredentialCorpusTests {
  /// Whether a part of a secret is still there that somebody could go on from.
  private static func leaks(_ secret: String, in text: String) -> Bool {
    text.contains(secret) || secret.utf8.count >= 16 && text.contains(secret.suffix(12))
  }

  @Test("most leaks are withheld, no value of a named key is missed, and harmless texts stay")
  func rates() throws {
    let leaks = try SecretCorpus.leaks(TestRun.count(3, long: 40), seed: 19)
    let missed = leaks.filter { leak in
      Self.leaks(leak.secret, in: Redactor(RedactionSettings()).redacted(leak.text))
    }
    let harmless = try SecretCorpus.harmless()
    let withheld = harmless.filter { Redactor(RedactionSettings()).redacted($0) != $0 }
    // The names that bin/test shows.
    func rate(_ part: Int, _ whole: Int) -> String {
      "\(part) of \(whole) (\((Double(part) / Double(whole) * 1_000).rounded() / 10) %)"
    }
    print(
      "secrets: \(rate(missed.count, leaks.count)) leaks missed, "
        + "\(rate(withheld.count, harmless.count)) harmless texts withheld")
    let names = Set(missed.map(\.source)).sorted()
    #expect(missed.count * 100 <= leaks.count * 2, "\(names)")
    #expect(withheld.count * 100 <= harmless.count * 2, "\(withheld)")
    #expect(leaks.count > 1_000 && harmless.count > 200)
  }

  @Test("the value of each name is withheld in objects, texts, flags, headers and lists")
  func names() throws {
    var generator = Seeded(seed: 26)
    for name in try SecretCorpus.names() {
      let secret = try SecretCorpus.made(of: "[A-Za-z0-9]{24}", &generator)
      let value: JSONValue = [
        "a": .object(JSONObject([(name, .string(secret))])),
        "b": [["name": .string(name), "value": .string(secret)]],
        "c": ["run", .string("--" + name), .string(secret)],
      ]
      // Each alone: what is found once is found everywhere.
      for part in ["a", "b", "c"] {
        let redacted = Redactor(RedactionSettings()).redacted(value[part] ?? .null)
        #expect(!CanonicalJSON.string(redacted).contains(secret), "\(name) in \(part)")
      }
      for text in [
        "\(name)=\(secret)", "\(name): \"\(secret)\"", "{\"\(name)\":\"\(secret)\"}",
        "{\\\"\(name)\\\": \\\"\(secret)\\\"}",
      ] {
        let redacted = Redactor(RedactionSettings()).redacted(text)
        #expect(!redacted.contains(secret), "\(text): \(redacted)")
        #expect(Redactor(RedactionSettings()).redacted(redacted) == redacted)
      }
    }
  }

  @Test("each line of the rules is read, and is told apart by at least three bytes or by a sign")
  func rules() {
    for table in CredentialRules.tables {
      for line in table.split(separator: "\n") {
        guard let form = CredentialForm(line) else {
          Issue.record("\(line)")
          continue
        }
        let token = RedactionToken(kind: form.kind, hex: "00").description
        #expect(RedactionToken.ranges(in: Array(token.utf8)).count == 1, "\(line)")
        #expect(form.prefix.count >= 2 || form.opening != nil, "\(line)")
      }
    }
    #expect(CredentialRules.all.count > 300)
  }

  @Test("each word that names a secret is known as one")
  func phrases() {
    let lost = SecretName.phrases.keys.sorted().filter { SecretName.kind(of: $0) == nil }
    #expect(lost.isEmpty, "\(lost)")
    for name in ["SAMLResponse", "saml_response", "HTTPS_PROXY", "ccNumber", "cc_num"] {
      #expect(SecretName.kind(of: name) != nil, "\(name)")
    }
  }

  @Test("what was withheld once is withheld in each encoding, wherever it stands there")
  func encodings() throws {
    var generator = Seeded(seed: 64)
    for round in 0..<TestRun.count(60, long: 3_000) {
      let secret = try SecretCorpus.made(of: "[A-Za-z0-9!@/+:]{\(8 + round % 40)}", &generator)
      let bytes = Array(secret.utf8)
      let redactor = Redactor(
        RedactionSettings(), RunSecrets(known: [.init(kind: "known", text: secret)]))
      for before in 0..<3 {
        let data = Data(Array("xyz".utf8.prefix(before)) + bytes + Array("tail".utf8))
        let base64 = data.base64EncodedString()
        let url = base64.replacing("+", with: "-").replacing("/", with: "_")
        for text in [base64, url, url.replacing("=", with: "")] {
          let redacted = redactor.redacted("got \(text) back")
          #expect(redacted.hasPrefix("got «redacted:known:"), "\(secret) \(text): \(redacted)")
          #expect(redacted.hasSuffix("» back"))
          #expect(redactor.restored(.string(redacted)).value == .string("got \(text) back"))
        }
      }
      let hex = bytes.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
      let escaped = secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      for text in [hex, hex.uppercased(), escaped, secret] {
        #expect(redactor.redacted("at \(text) .").hasPrefix("at «redacted:known:"), "\(text)")
      }
    }
  }

  @Test("what was withheld once is withheld however its characters are escaped, and as a number")
  func escapes() {
    let secret = "k9a/bc&dE<f \"ä~Zq+7"
    let redactor = Redactor(
      RedactionSettings(), RunSecrets(known: [.init(kind: "known", text: secret)]))
    let everyByte = secret.utf8.map { "%" + String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    for text in [
      #"k9a\/bc&dE<f \"ä~Zq+7"#, #"k9a/bc\u0026dE\u003cf \"\u00e4~Zq+7"#,
      "k9a/bc&amp;dE&lt;f &quot;ä~Zq+7", "k9a/bc&#38;dE&#x3c;f &#34;&#228;~Zq+7",
      "k9a/bc%26dE%3Cf%20%22%C3%A4%7EZq%2B7", "k9a%2fbc%26dE%3cf%20%22%c3%a4~Zq%2b7",
      everyByte, everyByte.uppercased(), everyByte.replacing("%", with: "%25"),
      #"k9a\\/bc\\u0026dE\\u003cf \\\"\\u00e4~Zq+7"#, #"k9a/bc\&dE\<f\ \"ä~Zq+7"#,
    ] {
      let redacted = redactor.redacted("at \(text) .")
      #expect(redacted.hasPrefix("at «redacted:known:"), "\(text): \(redacted)")
      #expect(redacted.hasSuffix("» ."), "\(text): \(redacted)")
      #expect(redactor.redacted(redacted) == redacted)
      #expect(redactor.restored(.string(redacted)).value == .string("at \(text) ."))
    }
    let spaced = Redactor(
      RedactionSettings(), RunSecrets(known: [.init(kind: "known", text: "one two three")]))
    #expect(spaced.redacted("q=one+two+three").hasPrefix("q=«redacted:known:"))
  }

  @Test("a secret of digits is withheld as a number in each way of writing it")
  func numbers() throws {
    let redactor = Redactor(
      RedactionSettings(), RunSecrets(known: [.init(kind: "known", text: "839201774655")]))
    for number in ["839201774655", "839201774655.0", "8.39201774655e11", "-839201774655"] {
      let redacted = redactor.redacted(try JSONValue(parsing: number))
      #expect(redacted.stringValue?.contains("«redacted:known:") == true, "\(number)")
    }
    for number in ["839201774656", "83920177465", "8392017746550", "0.839201774655"] {
      #expect(redactor.redacted(try JSONValue(parsing: number)) == (try JSONValue(parsing: number)))
    }
  }

  @Test("numbers of cards are withheld in groups or not, where the check digit is right")
  func cards() {
    var generator = Seeded(seed: 4)
    for round in 0..<TestRun.count(500, long: 20_000) {
      let starts = ["4", "51", "55", "2221", "37", "6011", "3530", "36"]
      let start = starts[round % starts.count]
      let length = start == "37" ? 15 : start == "36" ? 14 : 16
      var digits = start.utf8.map { $0 - 48 }
      while digits.count < length - 1 {
        digits.append(UInt8.random(in: 0...9, using: &generator))
      }
      digits.append(0)
      for check in UInt8(0)...9 {
        digits[length - 1] = check
        let plain = digits.map { "\($0)" }.joined()
        let isValid = CardNumber.isValid(digits)
        for separator in length == 16 ? ["", " ", "-"] : [""] {
          let groups = stride(from: 0, to: length, by: separator.isEmpty ? 20 : 4).map {
            plain.dropFirst($0).prefix(separator.isEmpty ? 20 : 4)
          }
          let text = "paid with \(groups.joined(separator: separator)), thanks"
          let redacted = Redactor(RedactionSettings()).redacted(text)
          #expect((redacted != text) == isValid, "\(text)")
        }
        // A part of a longer number, or of an identifier, is none.
        for text in ["x\(plain)", "\(plain)1234567", "0.\(plain)", "id-\(plain)"] {
          #expect(Redactor(RedactionSettings()).redacted(text) == text)
        }
      }
    }
  }

  @Test("withholding twice is withholding once, and the same key makes the same tokens")
  func idempotence() throws {
    var generator = Seeded(seed: 77)
    let texts = try SecretCorpus.leaks(1, seed: 78).map(\.text) + SecretCorpus.harmless()
    for _ in 0..<TestRun.count(400, long: 40_000) {
      var pieces: [String] = []
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let text = texts.randomElement(using: &generator) ?? ""
        // Whole ones and torn ones.
        pieces.append(
          Bool.random(using: &generator)
            ? text : String(text.dropFirst(Int.random(in: 0...6, using: &generator))))
      }
      let text = pieces.joined(
        separator: [" ", "\n", "", "\"", ","].randomElement(using: &generator) ?? "")
      let redactor = Redactor(RedactionSettings(), RunSecrets(key: Array("k".utf8)))
      let once = redactor.redacted(text)
      #expect(redactor.redacted(once) == once, "\(text)")
      let other = Redactor(RedactionSettings(), RunSecrets(key: Array("k".utf8)))
      #expect(other.redacted(text) == once)
      #expect(other.redacted(once) == once)
      #expect(redactor.restored(.string(once)).value == .string(text))
      let value: JSONValue = ["password": .string(text), "list": ["--token", .string(text)]]
      // Once to learn what shows as a secret late in it.
      _ = redactor.redacted(value)
      let redacted = redactor.redacted(value)
      #expect(redactor.redacted(redacted) == redacted)
    }
  }

  @Test("a token made of a value stays what it was in earlier logs")
  func stability() {
    let redactor = Redactor(RedactionSettings(), RunSecrets(key: Array("k".utf8)))
    let secret = "ghp_" + String(repeating: "a1B2", count: 9)
    let hex = Digest(authenticating: Array(secret.utf8), key: Array("k".utf8)).hex.prefix(32)
    #expect(redactor.redacted("x \(secret) y") == "x «redacted:github:\(hex)» y")
  }

  @Test("hostile texts take time in proportion to their length")
  func hostile() throws {
    let pieces = [
      "=", ":", "://", "a:", "a=", "password=", "\"password\": \"", "--password ", "-----BEGIN ",
      "-----BEGIN RSA PRIVATE KEY-----", "eyJ", "ghp_", "sk-", "Bearer ", "Authorization: ",
      "4111 1111 ", "1234567890", "token is ", "value: ", "name\": \"DB_PASSWORD\", \"value\": ",
      "\\", "\\n", "%41", "a@b:", "://a:b@", "/", "aaaaaaaa", "A1b2C3d4", "_a ", "AKIA",
      "<password>",
      "password(\"", "xoxb-", "hooks.slack.com/services/", "é", "«redacted:", "(", "{\"", ",\"",
      "<a>", "a>", "(pw)VALUES(", "(pw)VALUES('", "user,password\n", "a,password\nx1y2,z3w4\n",
      "password:\n", "password: |\n  ", "：", "-----END PRIVATE KEY-----",
      "A1b2C3d4e5F6g7H8A1b2C3d4e5F6g7H8A1b2C3d4e5F6g7H8\n-----END PRIVATE KEY-----\n",
      "Private-Lines: 1\nAb1",
      "\"d\":\"A1b2C3d4e5F6g7H8A1b2C3d4\",", "echo a | ", "curl -b a ", "\"\"\"",
      "<key>password</key><string>", "[1]=", "key ", "pass 'a ", "a as ", "password is to ", "– ",
      "é a1", "*:*:*:a:", "a.fill('a", "a:b@tcp(", "%3Fpassword%3D",
      "<td>password</td><td>a1b2c3d4",
    ]
    func seconds(_ text: String) -> Double {
      let redactor = Redactor(RedactionSettings())
      let start = ContinuousClock.now
      _ = redactor.redacted(text)
      return (ContinuousClock.now - start) / .seconds(1)
    }
    let size = TestRun.count(1 << 15, long: 1 << 20)
    for piece in pieces {
      let count = size / piece.utf8.count
      let once = seconds(String(repeating: piece, count: count))
      let fourfold = seconds(String(repeating: piece, count: 4 * count))
      // Four times the text may take four times as long, and what the machine adds.
      #expect(fourfold < 10 * once + 1, "\(piece): \(once) s, then \(fourfold) s")
    }
  }

  @Test(
    "of thousands of secrets each is withheld where it is said, and nothing else is, however alike they are",
    arguments: [7_919, 0])
  func thousands(factor: Int) throws {
    // With 0 all of them begin with the same bytes.
    let secrets = (1...2_000).map { "k\($0 * factor)-meadow-\($0)x" }
    let redactor = Redactor(
      RedactionSettings(findsCredentials: false),
      RunSecrets(known: secrets.map { .init(kind: "known", text: $0) }))
    for secret in secrets {
      let redacted = redactor.redacted("say \(secret) now")
      #expect(redacted.hasPrefix("say «redacted:known:"), "\(secret): \(redacted)")
      #expect(redacted.hasSuffix("» now"))
      #expect(redactor.restored(.string(redacted)).value == .string("say \(secret) now"))
    }
    let last = Array(try #require(secrets.last).utf8)
    let hex = last.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    for text in [hex, Data(last).base64EncodedString()] {
      #expect(redactor.redacted("say \(text) now").hasPrefix("say «redacted:known:"), "\(text)")
    }
    let text = "say k\(factor)-meadow-2001x, k\(factor) and what else was said now"
    #expect(redactor.redacted(text) == text)
  }

  @Test("many secrets that are alike cost no more than others")
  func alike() throws {
    let count = TestRun.count(400, long: 8_000)
    let head = String(repeating: "a", count: 120)
    let redactor = Redactor(RedactionSettings())
    let start = ContinuousClock.now
    for number in 0..<count {
      _ = redactor.redacted(["password": .string("\(head)\(number)")] as JSONValue)
    }
    let text = String(repeating: "a", count: 200 * count)
    _ = redactor.redacted(text)
    #expect(ContinuousClock.now - start < .seconds(60))
  }
}
