import AgentRuntime
import AgentTrace
import EvalLoading
import TestSupport
import Testing

/// What runs are made with may be said at five places, from outer folders to the row of a table. The nearest that says a
/// key counts.
@Suite("What runs are made with is said in defaults, in cases and in rows")
struct CaseConditionLayerTests {
  private func load(_ folder: TemporaryFolder, _ path: String) -> CaseLoader.Result {
    CaseLoader.load([folder.path(path)], areRunsElsewhere: true)
  }

  // MARK: Mistakes

  @Test(
    "a mistake is told where it stands: in a file of defaults, beside cases, in a row",
    arguments: [
      ("limits: {maxStep: 3}", "limits.maxStep: unknown key “maxStep”; did you mean “maxSteps”"),
      ("policyContext: {tenant: a}", "policyContext.tenant: unknown key"),
      ("memory: [{scope: all, key: a, value: 1}]", "memory[0].scope: should be run, agent"),
      ("seed: x", "seed: should be a whole number"),
      ("policy: {rules: [{id: a}]}", "policy.rules[0]: needs “verdict” or “authorizer”"),
      ("authorizers: {who: {}}", "authorizers.who: nobody answers"),
      ("authorizers: [who]", "authorizers: should be a mapping"),
    ])
  func mistakes(text: String, message: String) throws {
    let one = "{caseId: one, input: x, expected: {maxSteps: 1}}"
    let places: [(String, files: [String: String])] = [
      (
        "defaults.yaml:1:", ["defaults.yaml": "defaults: {\(text)}\nroot: true", "case.yaml": one]
      ),
      ("case.yaml:1:", ["case.yaml": "defaults: {\(text)}\ncases: [\(one)]"]),
      (
        "case.yaml:3:",
        ["case.yaml": "caseId: a\ntable:\n  - {\(text)}\ninput: x\nexpected: {maxSteps: 1}"]
      ),
    ]
    for (place, files) in places {
      let folder = try TemporaryFolder()
      for (name, content) in files { try folder.write(name, content) }
      let told = load(folder, "case.yaml").diagnostics.map(\.description)
      #expect(told.count == 1, "\(place): \(told)")
      #expect(told.allSatisfy { $0.contains(place) && $0.contains(message) }, "\(place): \(told)")
    }
  }

  @Test("a pipeline refuses what its agents say themselves, also where defaults or a row say it")
  func pipelines() throws {
    let folder = try TemporaryFolder()
    for text in [
      "defaults: {limits: {maxSteps: 1}, seed: 4}\ncases: [{caseId: a, pipeline: p.yaml, expected: {stopReason: success}}]",
      "{caseId: a, pipeline: p.yaml, table: [{limits: {maxSteps: 1}, seed: 4}], expected: {stopReason: success}}",
    ] {
      try folder.write("case.yaml", text)
      let told = load(folder, "case.yaml").diagnostics.map(\.description)
      #expect(
        told.count == 1 && told[0].contains("“limits” has no effect on a pipeline"), "\(told)")
    }
  }

  // MARK: One rule

  private static let contextKeys = ["actorId", "tenantId", "route"]
  private static let limitKeys = [
    "maxSteps", "maxToolCalls", "maxTokens", "maxCost", "timeoutSeconds", "maxDepth",
  ]

  /// What one place says, made by chance.
  private static func conditions(_ place: Int, _ random: inout Seeded) -> JSONObject {
    func some(_ keys: [String], _ value: (String) -> JSONValue) -> JSONObject {
      var object = JSONObject()
      for key in keys where Bool.random(using: &random) { object[key] = value(key) }
      return object
    }
    var said = JSONObject()
    if Bool.random(using: &random) {
      var context = some(contextKeys) { .string("\($0)-\(place)") }
      if Bool.random(using: &random) {
        let attributes = some(["a", "b", "c"]) { .array([.string($0), JSONValue(place)]) }
        context["attributes"] = .object(attributes)
      }
      said["policyContext"] = .object(context)
    }
    if Bool.random(using: &random) {
      said["limits"] = .object(some(limitKeys) { _ in JSONValue(place + 1) })
    }
    if Bool.random(using: &random) {
      said["memory"] = .array(
        some(["run x", "run y", "actor x"]) { _ in JSONValue(place) }.map { member in
          let names = member.key.split(separator: " ").map { JSONValue.string(String($0)) }
          return ["scope": names[0], "key": names[1], "value": member.value]
        })
    }
    if Bool.random(using: &random) { said["seed"] = JSONValue(place) }
    if Bool.random(using: &random) {
      said["policy"] = [
        "rules": [["id": .string("of-\(place)"), "verdict": "allow", "tool": "t"]]
      ]
    }
    if Bool.random(using: &random) {
      said["authorizers"] = .object(
        some(["who", "what"]) { _ in ["scripted": [["ok": ["place": JSONValue(place)]]]] })
    }
    return said
  }

  /// What counts, found key by key: the nearest place that says it.
  private static func expected(_ places: [JSONObject]) -> [String: JSONValue] {
    var found: [String: JSONValue] = [:]
    for place in places {  // from the outermost on
      for key in contextKeys { place["policyContext"]?[key].map { found[key] = $0 } }
      for member in place["policyContext"]?["attributes"]?.objectValue ?? [:] {
        found["attribute \(member.key)"] = member.value
      }
      for member in place["limits"]?.objectValue ?? [:] { found[member.key] = member.value }
      for note in place["memory"]?.arrayValue ?? [] {
        found["note \(note["scope"]?.stringValue ?? "") \(note["key"]?.stringValue ?? "")"] =
          note["value"]
      }
      place["seed"].map { found["seed"] = $0 }
      place["policy"]?["rules"]?.arrayValue?.first?["id"].map { found["rule"] = $0 }
      for member in place["authorizers"]?.objectValue ?? [:] {
        found["authorizer \(member.key)"] = member.value["scripted"]
      }
    }
    return found
  }

  private static func told(_ conditions: CaseConditions) -> [String: JSONValue] {
    var told: [String: JSONValue] = [:]
    for member in conditions.policyContext.encoded where member.key != "attributes" {
      told[member.key] = member.value
    }
    for member in conditions.policyContext.attributes {
      told["attribute \(member.key)"] = member.value
    }
    for member in conditions.limits.encoded { told[member.key] = member.value }
    for note in conditions.memory { told["note \(note.scope) \(note.key)"] = note.value }
    told["seed"] = conditions.seed.map { JSONValue($0) }
    told["rule"] = (conditions.policy?.rules.first?.id).map { .string($0) }
    for authorizer in conditions.authorizers {
      guard case .scripted(let script) = authorizer.implementation else { continue }
      told["authorizer \(authorizer.name)"] = .array(
        script.rules.map { rule in
          if case .ok(let value) = rule.outcome { return ["ok": value] }
          return nil
        })
    }
    return told
  }

  @Test("of every key the nearest of five places counts that says it, and the case is told so")
  func layers() throws {
    var random = Seeded(seed: 24)
    for _ in 0..<150 {
      let folder = try TemporaryFolder()
      let places = (0..<5).map { Self.conditions($0, &random) }
      func text(_ object: JSONObject) -> String { CanonicalJSON.string(.object(object)) }
      try folder.write("defaults.json", #"{"root":true,"defaults":\#(text(places[0]))}"#)
      try folder.write("in/defaults.json", #"{"defaults":\#(text(places[1]))}"#)
      var one = places[3]
      one["caseId"] = "one"
      one["input"] = "x"
      one["expected"] = ["maxSteps": 1]
      var row = places[4]
      row["column"] = 1
      one["table"] = [.object(row)]
      try folder.write(
        "in/case.json", #"{"defaults":\#(text(places[2])),"cases":[\#(text(one))]}"#)
      let result = load(folder, "in/case.json")
      let loaded = try #require(result.cases.first, "\(result.diagnostics)")
      #expect(Self.told(loaded.conditions) == Self.expected(places), "\(places)")

      // Written into the case itself it is the same to a baseline.
      var settings = CaseSettings()
      let setting = settings.setting(of: loaded)
      var whole = one
      whole["table"] = nil
      whole["caseId"] = "one"
      for member in Self.source(places) { whole[member.key] = member.value }
      try folder.write("alone/defaults.json", #"{"root":true,"defaults":{}}"#)
      try folder.write("alone/case.json", text(whole))
      let alone = try #require(load(folder, "alone/case.json").cases.first)
      #expect(settings.setting(of: alone) == setting)
      #expect(alone.runSource == loaded.runSource)
    }
  }

  /// What counts, as one place would say it.
  private static func source(_ places: [JSONObject]) -> JSONObject {
    var merged = JSONObject()
    var notes: [(String, JSONValue)] = []
    for place in places {
      for member in place {
        guard var object = member.value.objectValue, member.key != "policy" else {
          for note in member.key == "memory" ? member.value.arrayValue ?? [] : [] {
            let name = "\(note["scope"]?.stringValue ?? "") \(note["key"]?.stringValue ?? "")"
            if let index = notes.firstIndex(where: { $0.0 == name }) {
              notes[index].1 = note
            } else {
              notes.append((name, note))
            }
          }
          merged[member.key] = member.key == "memory" ? .array(notes.map(\.1)) : member.value
          continue
        }
        for (key, value) in merged[member.key]?.objectValue?.map({ ($0.key, $0.value) }) ?? [] {
          if key == "attributes", let own = object[key]?.objectValue {
            var attributes = value.objectValue ?? [:]
            for attribute in own { attributes[attribute.key] = attribute.value }
            object[key] = .object(attributes)
          } else if object[key] == nil {
            object[key] = value
          }
        }
        merged[member.key] = .object(object)
      }
    }
    return merged
  }
}
