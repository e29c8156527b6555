import AgentRuntime
import AgentTrace
import Testing

@Suite("Withheld values of other processes")
struct RedactionLearningTests {
  private static func part(_ secret: String, _ name: String = "a") -> JSONValue {
    ["token": .string(secret), "name": .string(name)]
  }

  private static func redactor(key: [UInt8]?) -> Redactor {
    var secrets = RunSecrets()
    if let key { secrets = RunSecrets(key: key, known: []) }
    return Redactor(RedactionSettings(), secrets)
  }

  @Test(
    "without the key, place and surroundings decide, and today’s value stands for the token of then"
  )
  func withoutKey() {
    let recorded = Self.redactor(key: nil).redacted(Self.part("pX5tG2zu9FoM6kEa"))
    let today = Self.redactor(key: nil)
    #expect(!today.isSame(today.redacted(Self.part("pX5tG2zu9FoM6kEa", "b")), as: recorded))
    let value = today.redacted(Self.part("pX5tG2zu9FoM6kEa"))
    #expect(value != recorded)
    #expect(today.isSame(value, as: recorded))
    let (restored, missing) = today.restored(recorded)
    #expect(restored == Self.part("pX5tG2zu9FoM6kEa") && missing == nil)
    // What it stands for is not said anew.
    #expect(!today.isSame(today.redacted(Self.part("rC8dJ3wi5HnY7bQs")), as: recorded))
    #expect(today.restored(recorded).value == Self.part("pX5tG2zu9FoM6kEa"))
  }

  @Test("within one process, and with a key that is kept, another value is another")
  func comparable() {
    let key = Array("a key of thirty-two bytes or more".utf8)
    for then in [Self.redactor(key: key), Self.redactor(key: nil)] {
      let recorded = then.redacted(Self.part("pX5tG2zu9FoM6kEa"))
      let today = then.restored(recorded).missing == nil ? then : Self.redactor(key: key)
      #expect(today.isSame(today.redacted(Self.part("pX5tG2zu9FoM6kEa")), as: recorded))
      #expect(!today.isSame(today.redacted(Self.part("rC8dJ3wi5HnY7bQs")), as: recorded))
    }
    let recorded = Self.redactor(key: key).redacted(Self.part("pX5tG2zu9FoM6kEa"))
    let today = Self.redactor(key: key)
    #expect(!today.isSame(today.redacted(Self.part("rC8dJ3wi5HnY7bQs")), as: recorded))
    #expect(today.isSame(today.redacted(Self.part("pX5tG2zu9FoM6kEa")), as: recorded))
  }
}
