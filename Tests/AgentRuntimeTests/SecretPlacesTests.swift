import AgentTrace
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
}
