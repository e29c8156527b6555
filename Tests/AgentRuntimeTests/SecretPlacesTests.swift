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
}
