import AgentTrace
import TraceMatching

/// Watches the contexts of a run for what one rule speaks of, and keeps only where it was seen.
struct ContextWatch: Sendable {
  /// Where something was first seen, for certain or perhaps.
  struct Sighting: Sendable {
    var certain: Int?
    var possible: Int?

    mutating func note(_ answer: Trilean, at seq: Int) {
      switch answer {
      case .yes: if certain == nil { certain = seq }
      case .unknown: if possible == nil { possible = seq }
      case .no: break
      }
    }
  }

  let rule: ContextRule
  private(set) var offers: [Sighting]
  private(set) var neverOffers: [Sighting]
  private(set) var contains: [Sighting]
  private(set) var neverContains: [Sighting]
  private(set) var omits: [Sighting]
  private(set) var neverOmits: [Sighting]
  /// Where each reference first stood among the evidence.
  private(set) var evidence: [String: Int] = [:]
  /// The highest estimate, and where it stands.
  private(set) var most: (tokens: Int, seq: Int)?
  /// A context whose estimate cannot be read.
  private(set) var uncounted: Int?
  /// How many contexts the rule speaks of.
  private(set) var count = 0

  init(_ rule: ContextRule) {
    self.rule = rule
    func none(_ count: Int) -> [Sighting] { Array(repeating: Sighting(), count: count) }
    offers = none(rule.offers.count)
    neverOffers = none(rule.neverOffers.count)
    contains = none(rule.contains.count)
    neverContains = none(rule.neverContains.count)
    omits = none(rule.omits.count)
    neverOmits = none(rule.neverOmits.count)
  }

  mutating func apply(_ event: Event) {
    guard rule.steps?.contains(event.step) ?? true else { return }
    count += 1
    let (data, seq) = (event.data, event.seq)
    let tools = data["toolsDisclosed"]
    for (index, glob) in rule.offers.enumerated() {
      offers[index].note(Self.names(tools) { glob.matches($0) }, at: seq)
    }
    for (index, glob) in rule.neverOffers.enumerated() {
      neverOffers[index].note(Self.names(tools) { glob.matches($0) }, at: seq)
    }
    if !rule.contains.isEmpty || !rule.neverContains.isEmpty { look(data["prompt"], seq) }
    for ref in data["evidenceRefs"]?.arrayValue ?? [] {
      if let ref = ref.stringValue, evidence[ref] == nil { evidence[ref] = seq }
    }
    if rule.maximumTokens != nil {
      if let tokens = data["tokens"]?["estimate"]?.intValue {
        if tokens > most?.tokens ?? -1 { most = (tokens, seq) }
      } else {
        uncounted = uncounted ?? seq
      }
    }
    for (index, item) in rule.omits.enumerated() {
      omits[index].note(Self.isOmitted(item, data["omittedRefs"]), at: seq)
    }
    for (index, item) in rule.neverOmits.enumerated() {
      neverOmits[index].note(Self.isOmitted(item, data["omittedRefs"]), at: seq)
    }
  }

  /// Whether some name of a list fits.
  private static func names(_ list: JSONValue?, _ fits: (String) -> Bool) -> Trilean {
    guard let list else { return .no }
    guard let names = list.arrayValue else { return .unknown }
    var answer = Trilean.no
    for name in names {
      guard let text = name.stringValue else {
        answer = .unknown
        continue
      }
      if fits(text) { return .yes }
    }
    return answer
  }

  private static func isOmitted(_ item: OmittedItem, _ list: JSONValue?) -> Trilean {
    guard let list else { return .no }
    guard let items = list.arrayValue else { return .unknown }
    var answer = Trilean.no
    for value in items {
      guard let ref = value["ref"]?.stringValue else {
        answer = .unknown
        continue
      }
      guard item.ref.matches(ref) else { continue }
      let why = item.reason.map { Trilean($0.matches(value["reason"])) } ?? .yes
      if why == .yes { return .yes }
      if why == .unknown { answer = .unknown }
    }
    return answer
  }

  /// Looks for the texts in every string and number of the prompt, keys of inputs and results included.
  private mutating func look(_ prompt: JSONValue?, _ seq: Int) {
    let wanted = rule.contains.indices.filter { contains[$0].certain == nil }
    let forbidden = rule.neverContains.indices.filter { neverContains[$0].certain == nil }
    var pending = prompt.map { [$0] } ?? []
    while let value = pending.popLast() {
      switch value {
      case .array(let elements): pending += elements
      case .object(let object):
        for member in object {
          pending.append(.string(member.key))
          pending.append(member.value)
        }
      case .string, .lost, .cut: hold(value, seq, wanted, forbidden)
      // A model is shown the digits: the number of a card is no less of one without quotes.
      case .number(let number): hold(.string(number.token), seq, wanted, forbidden)
      default: break
      }
    }
  }

  /// Notes of a text which of the texts that are asked for, and of those that are forbidden, it holds.
  private mutating func hold(
    _ text: JSONValue, _ seq: Int, _ wanted: [Int], _ forbidden: [Int]
  ) {
    for index in wanted {
      contains[index].note(Trilean(rule.contains[index].matches(text)), at: seq)
    }
    for index in forbidden {
      neverContains[index].note(Trilean(rule.neverContains[index].matches(text)), at: seq)
    }
  }
}
