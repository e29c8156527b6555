import AgentTrace
import TestSupport
import Testing

@testable import AgentRuntime

/// Where secrets stand that have no form of their own, and what stands there and is none.
@Suite("Places of secrets")
struct SecretPlacesTests {
  private static let secret = "hT7kQ2vbN9xLmR4w"

  /// What a run holds of a value that nothing was known of.
  private static func redacted(_ value: JSONValue) -> String {
    CanonicalJSON.string(Redactor(RedactionSettings()).redacted(value))
  }

  @Test(
    "a name with a number behind it, and one in another language, says what its value is",
    arguments: [
      "adminPassword2", "Password1", "DB_PASSWORD2", "passwordOld1", "contraseña", "clave_secreta",
      "hasło", "wachtwoord", "lösenord", "heslo", "parola", "şifre", "salasana", "adgangskode",
      "jelszó", "Geheimschlüssel", "Zugangsschlüssel", "cle_secrete", "jeton_acces", "我的密码",
      "pgp_private", "totpSeed", "ldapBindPw",
    ])
  func names(name: String) {
    let object = JSONValue.object(JSONObject([(name, .string(Self.secret))]))
    #expect(!Self.redacted(object).contains(Self.secret))
    let text = "\(name)=\(Self.secret)"
    #expect(!Self.redacted(.string(text)).contains(Self.secret))
  }

  @Test(
    "a password is found among the words of a command",
    arguments: [["sshpass", "-p"], ["redis-cli", "-a"], ["docker", "login", "-u", "ana", "-p"]])
  func commandWords(before: [String]) {
    let words = (before + [Self.secret, "host"]).map { JSONValue.string($0) }
    #expect(!Self.redacted(.array(words)).contains(Self.secret))
  }

  @Test(
    "an object that is a pair of a name and a value is read as one, whatever its keys are called",
    arguments: [
      ("k", "v"), ("n", "v"), ("property", "value"), ("label", "value"), ("id", "val"),
      ("ParameterKey", "ParameterValue"), ("variable", "data"), ("field", "content"),
      ("title", "text"), ("name", "plainText"), ("option", "argument"), ("env", "is"),
    ])
  func pairs(keys: (name: String, value: String)) {
    let pair = JSONValue.object(
      JSONObject([(keys.name, "DB_PASSWORD"), (keys.value, .string(Self.secret))]))
    #expect(!Self.redacted([pair]).contains(Self.secret))
  }

  @Test(
    "the value of a cookie that browsers keep is withheld where it looks random, and others stay")
  func cookies() {
    func cookie(_ value: String) -> JSONValue {
      ["name": "li_at", "value": .string(value), "domain": ".acme.com", "httpOnly": true]
    }
    #expect(!Self.redacted(cookie(Self.secret + Self.secret)).contains(Self.secret))
    #expect(Self.redacted(cookie("dark")) == CanonicalJSON.string(cookie("dark")))
  }

  @Test("what is said of a password beside its name stays")
  func saidInPairs() {
    for value: JSONValue in [
      ["label": "Password", "text": "at least 12 signs"],
      ["id": "password", "content": "required"],
      ["title": "API key", "text": "How keys are made"], ["key": "color", "value": "turquoise-12"],
    ] { #expect(Self.redacted(value) == CanonicalJSON.string(value)) }
  }

  @Test("what speaks of a secret, or of pieces of texts, pins and scores, stays in objects")
  func remarks() {
    for value: JSONValue in [
      ["hasPassword": "yes, since 2024"], ["errors": ["password": "must not be blank"]],
      ["errors": ["password": ["is too short (minimum is 12 characters)"]]],
      ["labels": ["password": "Password", "token": "Access token"]],
      ["i18n": ["login.password": "Passwort", "login.forgot": "Passwort vergessen?"]],
      ["placeholder": ["password": "Enter your password"]], ["pass": "12/12 tests"],
      ["pin": "GPIO17"], ["token": "identifier", "line": 3], ["token": " Berlin"],
      ["top_logprobs": [["token": " Berlin", "bytes": [1, 2]]]],
      ["GPG_KEY": "A035C8C19219BA821ECEA86B64E628F8D684696D"],
    ] { #expect(Self.redacted(value) == CanonicalJSON.string(value)) }
  }

  @Test("a passphrase, a word and a code stay secrets where their name says so")
  func noRemarks() {
    for (key, text) in [
      ("passphrase", "correct horse battery staple"), ("password", "letmein"),
      ("token", "identifier"), ("pin", "4831"), ("otp", "AB12CD34"), ("pass", "12blue34cats"),
    ] {
      let value = JSONValue.object(JSONObject([(key, .string(text))]))
      #expect(Self.redacted(value) != CanonicalJSON.string(value), "\(text)")
    }
  }

  @Test(
    "a secret is found where its name stands on another line, in a head or in a tag",
    arguments: [
      "password: |\n  {}\nother: 1", "api_key: >-\n    {}\n", "api_key = \"\"\"{}\"\"\"",
      "<apiKey><![CDATA[{}]]></apiKey>",
      "<wsse:Password Type=\"x#PasswordText\">{}</wsse:Password>",
      "<property name=\"hibernate.connection.password\">{}</property>",
      "<entry key=\"dbPassword\">{}</entry>", "<key>APIKey</key>\n<string>{}</string>",
      "<member><name>password</name><value><string>{}</string></value></member>",
      "char password[] = \"{}\";", "static char password[64] = \"{}\";",
      "#define API_KEY    (\"{}\")",
      "INSERT INTO users (name, password) VALUES ('ana', '{}')",
      "insert into users (name, password, n)\nvalues ('bob', 'x', 1), ('a)na', '{}', 2)",
      "username,password\nana,{}", "\"user\",\"password\"\n\"a,na\",\"{}\"",
      "user\tapi_key\nbob\t-\nana\t{}",
      " id | user | password \n----+------+---------\n  1 | ana  | {}",
      "| user | password |\n|---|---|\n| ana | {} |", "Password:\n{}", "Password:\r\n{}\r\n",
      "Das Passwort lautet: {}", "Das Kennwort ist {}", "Mot de passe : {}",
      "le mot de passe est {}", "la contraseña es {}", "密码：{}", "我的密码： {}", "hasło: {}",
    ])
  func places(text: String) {
    for secret in [Self.secret, "Sommer65?jB7"] {
      let said = text.replacing("{}", with: secret)
      // What is given to a macro must look random.
      if secret != Self.secret, text.hasPrefix("#define") { continue }
      #expect(!Self.redacted(.string(said)).contains(secret), "\(said)")
    }
  }

  @Test(
    "names of secrets in lists, heads without rows, tags and sentences hold none",
    arguments: [
      "password:\nuser: ana", "token:\n  type: bearer", "password: |\n", "Password:\n\nana12345x",
      "username,password\n", "I changed my password, then left\nsee step4, and rest5",
      "from keys import (\n    PrivateKey,\n    Ed25519Key,\n)",
      "| key | value |\n|---|---|\n| t | 30a |",
      "<label for=\"pw\">Password:</label>", "<key>password</key><string>example</string>",
      "INSERT INTO t (key, value) VALUES ('a1', 'b2')", "SELECT password FROM users WHERE id = 1",
      "Das Passwort ist falsch.", "Le mot de passe est incorrect",
      "Passwort: mindestens 12 Zeichen",
      "&lt;password&gt;", "password = \"\"\"\nThe text of 2026 goes on\n\"\"\"",
    ])
  func places(without text: String) {
    #expect(Redactor(RedactionSettings()).redacted(text) == text)
  }

  @Test(
    "a secret is found where a command takes one",
    arguments: [
      "sshpass -p'{}' ssh a@b", "curl -uana:{} https://a.example",
      "curl -b 'sid={}' https://a.example",
      "keytool -storepass {} -list", "htpasswd -bc f ana {}", "vault login {}",
      "ConvertTo-SecureString \"{}\" -AsPlainText -Force", "echo {} | sudo -S ls",
      "echo '{}' | docker login --username a --password-stdin", "echo 'root:{}' | chpasswd",
      "printf '%s' '{}' | gh auth login --with-token", "sqlcmd -S h -U sa -P {}",
      "ldapsearch -x -D cn=a -w {} -b dc=x", "plink -pw {} h", "useradd -p {} ana",
      "gh secret set DEPLOY_TOKEN --body \"{}\"", "ngrok config add-authtoken {}aB3x",
      "zip -P {} a.zip f", "cqlsh -u c -p {} h",
    ])
  func commands(text: String) {
    let said = text.replacing("{}", with: Self.secret + "7Kq2")
    #expect(!Self.redacted(.string(said)).contains(Self.secret), "\(said)")
  }

  @Test(
    "what commands take that is no secret stays",
    arguments: [
      "curl -b cookies.txt https://a.example", "echo hello2026 | grep -S x",
      "vault login -method=oidc",
      "echo \"$TOKEN\" | docker login --password-stdin", "cut -b 1-10x file", "mkdir -p a1/b2c3",
      "curl -u ana https://a.example", "scp -P 2222x a b", "echo <password> | sudo -S ls",
    ])
  func commands(without text: String) {
    #expect(Redactor(RedactionSettings()).redacted(text) == text)
  }

  /// The lines of a private key, none of them one.
  private static let key: [String] = {
    var generator = Seeded(seed: 12)
    let body = (0..<8).map { _ in SeededSecret.text(64, &generator) }
    return ["-----BEGIN RSA PRIVATE KEY-----"] + body + ["-----END RSA PRIVATE KEY-----"]
  }()

  @Test("a private key is withheld in each layout that it is read in, its beginning there or not")
  func keys() {
    let key = Self.key
    func lines(_ line: (Int, String) -> String) -> [String] {
      key.enumerated().map { line($0.offset, $0.element) }
    }
    var texts: [String] = ["\n", "\r\n", "\\n", "<br>"].map { key.joined(separator: $0) }
    texts.append(lines { "     \($0)→\($1)" }.joined(separator: "\n"))
    texts.append(lines { "     \($0)\t\($1)" }.joined(separator: "\n"))
    texts.append(lines { "> \($1)" }.joined(separator: "\n"))
    texts.append(lines { "# \($1)" }.joined(separator: "\n"))
    texts.append(lines { "\u{1b}[32m\($1)\u{1b}[0m" }.joined(separator: "\n"))
    texts.append(key.dropFirst(3).joined(separator: "\n"))
    texts.append(lines { "     \($0)→\($1)" }.dropFirst(3).joined(separator: "\n"))
    texts.append(key.dropFirst(3).joined(separator: "\\n"))
    texts.append(key.dropLast(2).joined(separator: "\n"))
    texts.append(
      "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2\n\(key[5])\n\(key[6])\nPrivate-MAC: ab")
    for text in texts {
      let redacted = Self.redacted(.string("before it\n\(text)\nbehind it!"))
      #expect(!redacted.contains(key[5]) && !redacted.contains(key[6]), "\(redacted)")
      #expect(redacted.contains("before it"))
      #expect(redacted.contains("behind it!") || text.hasSuffix(key[7]), "\(redacted)")
    }
    let list: [JSONValue] = ["before it"] + key.map { .string($0) } + ["behind it"]
    let redacted = Self.redacted(["lines": .array(list)])
    #expect(!key[1...8].contains { redacted.contains($0) })
    #expect(redacted.contains("before it") && redacted.contains("behind it"))
  }

  @Test("the secret members of a JSON Web Key are withheld, and the public ones stay")
  func webKeys() {
    var generator = Seeded(seed: 13)
    let (secret, open) = (SeededSecret.text(43, &generator), SeededSecret.text(43, &generator))
    for value: JSONValue in [
      ["kty": "EC", "crv": "P-256", "x": .string(open), "d": .string(secret)],
      ["kty": "oct", "k": .string(secret), "x": .string(open)],
      .string(#"{"kty":"OKP","x":"\#(open)","d":"\#(secret)"}"#),
      .string(#"{\"kty\": \"oct\", \"k\": \"\#(secret)\", \"x\":\"\#(open)\"}"#),
    ] {
      let redacted = Self.redacted(value)
      #expect(!redacted.contains(secret) && redacted.contains(open), "\(redacted)")
    }
    let other: JSONValue = ["d": .string(open), "k": "v"]
    #expect(Self.redacted(other) == CanonicalJSON.string(other))
  }

  @Test(
    "what is said of keys in PEM is none",
    arguments: [
      "Files that hold -----BEGIN PRIVATE KEY----- # and so on, for as long as there are words in it",
      "it ends with -----END PRIVATE KEY-----",
      "- **PEM**: `-----BEGIN PRIVATE KEY-----` up to its end",
      "Private-Lines: 3", "-----BEGIN PUBLIC KEY-----",
    ])
  func keys(without text: String) {
    #expect(Redactor(RedactionSettings()).redacted(text) == text)
  }
}
