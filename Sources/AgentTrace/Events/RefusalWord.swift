/// The words with which providers say that a model would not reply, or that a filter of theirs kept its reply back: the
/// one table for runs that are recorded and for those that are imported.
///
/// They are reasons why replies ended of Chat Completions, Responses, Messages, Converse and generateContent (there
/// `blockReason` as well), however a client or an instrumentation writes them: `SAFETY`, `content-filter`,
/// `FinishReason.PROHIBITED_CONTENT`.
public enum RefusalWord {
  private static let filters: Set<String> = [
    "contentfilter", "contentfiltered", "guardrailintervened", "safety", "blocklist",
    "prohibitedcontent", "recitation", "spii", "language", "imagesafety", "imageprohibitedcontent",
    "imagerecitation", "modelarmor", "jailbreak",
  ]
  private static let refusals: Set<String> = ["refusal", "refused"]

  /// The detail of the stop of a run whose last reply ended for a reason: ``StopDetail/refusal`` or
  /// ``StopDetail/contentFilter``; `nil` where the reason is neither, and where there is none.
  public static func detail(ofFinish word: String?) -> String? {
    guard let word, word.utf8.count <= 64 else { return nil }
    var bytes = word.utf8.filter { ![UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0) }.map {
      (0x41...0x5a).contains($0) ? $0 | 0x20 : $0
    }
    let prefix = Array("finishreason".utf8)
    if bytes.starts(with: prefix) {
      bytes.removeFirst(prefix.count)
      if bytes.first == UInt8(ascii: ".") { bytes.removeFirst() }
    }
    let plain = String(decoding: bytes, as: UTF8.self)
    if filters.contains(plain) { return StopDetail.contentFilter }
    return refusals.contains(plain) ? StopDetail.refusal : nil
  }

  /// The detail of the stop of a run whose last reply is known to be a refusal.
  ///
  /// - Parameter word: what was said of it, if anything: a reason, or what the model itself said. `OTHER` is a reason
  ///   for which generateContent blocks a prompt; of a reply it would say nothing.
  public static func detail(ofRefusal word: String?) -> String {
    if let word, word.utf8.count == 5, word.lowercased() == "other" {
      return StopDetail.contentFilter
    }
    return detail(ofFinish: word) ?? StopDetail.refusal
  }
}
