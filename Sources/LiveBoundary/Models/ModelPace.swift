import AgentRuntime
import Synchronization

/// What of something may be used up within a minute: as much at once, and then as it comes back.
struct PaceBucket: Sendable {
  private let perMinute: Double
  private var level: Double
  private var last: Double

  /// - Parameter now: in seconds.
  init(perMinute: Int, now: Double) {
    self.perMinute = Double(max(1, perMinute))
    level = self.perMinute
    last = now
  }

  /// Takes some; seconds until it may be used. What is taken is taken, so that whoever comes later waits
  /// behind. More than a minute's worth waits until the debt is paid.
  mutating func take(_ amount: Double, now: Double) -> Double {
    refill(now)
    level -= amount
    return level >= 0 ? 0 : -level * 60 / perMinute
  }

  /// Gives back what was not used, or takes what was used besides.
  mutating func settle(taken: Double, used: Double) {
    level = min(perMinute, level + taken - used)
  }

  private mutating func refill(_ now: Double) {
    level = min(perMinute, level + max(0, now - last) * perMinute / 60)
    last = max(last, now)
  }
}

/// The pace at which all runs of this process ask one model.
final class ModelPace: Sendable {
  private struct Key: Hashable {
    var url: String
    var model: String
    var requests: Int?
    var tokens: Int?
  }

  private struct Buckets {
    var requests: PaceBucket?
    var tokens: PaceBucket?
  }

  private static let known = Mutex<[Key: ModelPace]>([:])

  private let buckets: Mutex<Buckets>

  private init(requests: Int?, tokens: Int?) {
    let now = Self.now
    buckets = Mutex(
      Buckets(
        requests: requests.map { PaceBucket(perMinute: $0, now: now) },
        tokens: tokens.map { PaceBucket(perMinute: $0, now: now) }))
  }

  /// The pace of a model; `nil` where it has no limits.
  static func of(_ provider: ProviderModel, name: String) -> ModelPace? {
    guard provider.requestsPerMinute != nil || provider.tokensPerMinute != nil else { return nil }
    let key = Key(
      url: provider.baseURL, model: name, requests: provider.requestsPerMinute,
      tokens: provider.tokensPerMinute)
    return known.withLock { known in
      if let pace = known[key] { return pace }
      let pace = ModelPace(requests: key.requests, tokens: key.tokens)
      known[key] = pace
      return pace
    }
  }

  /// Takes a place for a request; microseconds until it may be made.
  func take(tokens: Int) -> Int {
    let now = Self.now
    let seconds = buckets.withLock { buckets in
      max(
        buckets.requests?.take(1, now: now) ?? 0,
        buckets.tokens?.take(Double(tokens), now: now) ?? 0)
    }
    return Int(min(seconds, 1e9) * 1_000_000)
  }

  /// Says what a request for which so many tokens were taken has used.
  func settle(taken: Int, used: Int) {
    buckets.withLock { $0.tokens?.settle(taken: Double(taken), used: Double(used)) }
  }

  private static let start = ContinuousClock.now

  private static var now: Double {
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
