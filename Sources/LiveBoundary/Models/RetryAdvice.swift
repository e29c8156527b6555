import AgentRuntime
import AgentTrace

/// When a provider is asked again that did not reply, by the rules of the vendors' own clients
/// (`_base_client.py` of openai and anthropic for Python): after what the reply says, else after half a
/// second, twice as long each time up to 8 seconds, less up to a quarter by chance; not where that would
/// be in vain.
struct RetryAdvice {
  /// The longest that is waited because a reply says so: OpenAI's clients give up beyond it.
  static let longestSeconds = 120.0

  /// Which try failed, from 1.
  var attempt: Int
  /// From 0 to 1: 0 for the whole wait.
  var chance: Double

  /// After the usual time.
  var usual: ModelAnswer.Retry {
    var seconds = 0.5
    for _ in 1..<max(1, min(attempt, 8)) { seconds = min(8, seconds * 2) }
    return .after(microseconds: Int(seconds * (1 - 0.25 * chance) * 1_000_000))
  }

  /// After a reply with a status that is no success.
  ///
  /// - Parameter now: seconds since 1970, for a header that names a date.
  func retry(
    status: Int, headers: [HTTPHeader], error: ProviderError?, now: Int
  ) -> ModelAnswer.Retry {
    if let error, error.isSpendLimit { return .never }
    switch headers["x-should-retry"]?.lowercased() {
    case "true"?: break
    case "false"?: return .never
    default:
      guard status == 408 || status == 409 || status == 429 || status >= 500 else { return .never }
    }
    guard let told = Self.seconds(toldBy: headers, now: now) else { return usual }
    return told > Self.longestSeconds ? .never : .after(microseconds: Int(told * 1_000_000))
  }

  /// After an error that was told within a reply with a status of success.
  func retry(after error: ProviderError) -> ModelAnswer.Retry {
    if error.isSpendLimit || error.isLasting { return .never }
    return usual
  }

  func retry(after failure: HTTPFailure) -> ModelAnswer.Retry {
    switch failure.kind {
    case .invalidCall, .tooLarge: .never
    case .cancelled: .atOnce
    default: usual
    }
  }

  func retry(after fault: ReplyFault) -> ModelAnswer.Retry {
    if case .tooLarge = fault { .never } else { usual }
  }

  /// What the headers say about when to come back; `nil` where they say nothing that can be read.
  static func seconds(toldBy headers: [HTTPHeader], now: Int) -> Double? {
    if let text = headers["retry-after-ms"], let milliseconds = Double(text), milliseconds >= 0 {
      return milliseconds / 1_000
    }
    guard let text = headers["retry-after"] else { return nil }
    if let seconds = Double(text) { return seconds >= 0 ? seconds : nil }
    return HTTPDate.secondsSince1970(text).map { Double(max(0, $0 - now)) }
  }
}

extension [HTTPHeader] {
  /// In how many seconds a server wants to be asked again; `nil` where its headers say nothing that can be read. Never
  /// below 0, and as long as it likes.
  ///
  /// - Parameter now: seconds since 1970, for a header that names a date.
  public func secondsUntilRetry(now: Int) -> Double? { RetryAdvice.seconds(toldBy: self, now: now) }
}

extension ProviderError {
  /// Whether money is what is lacking, which waiting does not bring: OpenAI's `insufficient_quota` and the
  /// codes of its limits, Anthropic's billing error and its limit on spending.
  var isSpendLimit: Bool {
    let words = [
      "insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
      "project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_error",
      "billing_hard_limit_reached", "enforced_spend_limit_reached",
    ]
    return words.contains { word in
      [type, code].contains { $0?.hasSameUTF8(as: word) ?? false }
        || message.contains("enforced_spend_limit_reached")
    }
  }

  /// Whether the same request would fail in the same way.
  var isLasting: Bool {
    if let number = code.flatMap({ Int($0) }) {
      return (400..<500).contains(number) && ![408, 409, 429].contains(number)
    }
    return [type, code].contains { word in
      guard let word else { return false }
      return [
        "invalid_request_error", "authentication_error", "permission_error", "not_found_error",
        "request_too_large", "invalid_api_key", "model_not_found", "context_length_exceeded",
        "invalid_prompt", "validationException", "ValidationException", "AccessDeniedException",
        "ResourceNotFoundException",
      ].contains { $0.hasSameUTF8(as: word) }
    }
  }
}

/// A moment as headers of HTTP name it (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. The two
/// obsolete forms are not read.
enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `nil` where the text is no such moment.
  static func secondsSince1970(_ text: String) -> Int? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", words[0].hasSuffix(","),
      let day = number(words[1], 1...31), let month = months.firstIndex(of: String(words[2])),
      let year = number(words[3], 1970...9999),
      let date = CalendarDay(year: year, month: month + 1, day: day)
    else { return nil }
    let time = words[4].split(separator: ":", omittingEmptySubsequences: false)
    guard time.count == 3, let hour = number(time[0], 0...23), let minute = number(time[1], 0...59),
      let second = number(time[2], 0...60)
    else { return nil }
    return date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second
  }

  private static func number(_ digits: Substring, _ range: ClosedRange<Int>) -> Int? {
    guard digits.utf8.count <= 4, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int(digits), range.contains(number)
    else { return nil }
    return number
  }
}
