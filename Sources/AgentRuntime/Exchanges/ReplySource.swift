/// Where replies come from in place of providers.
public protocol ReplySource: Sendable {
  /// The reply to a request that a codec reads; `nil` where none is known, which is remembered. One without a
  /// status, of no pieces and dropped, says that whoever asked waited for it in vain.
  func reply(to request: ObservedRequest, upstream: String, path: String) -> WireReply?
  /// What a proxy said itself to a request to a model that it did not pass on, told by the digest of its body; `nil`
  /// where it is none of those, or its time has not come.
  func refusal(upstream: String, path: String, bodyDigest: String) -> WireReply?
  /// The reply to any other request, told by the digest of its body.
  func reply(
    toForwarded method: String, upstream: String, path: String, bodyDigest: String
  ) -> WireReply?
}

extension ReplySource {
  /// Nothing: a source that knows of no such requests.
  public func refusal(upstream: String, path: String, bodyDigest: String) -> WireReply? { nil }
}

/// Why a proxy does not hand a reply on, where its log does not say: replaying the log says it again, to the letter.
package enum ReasonToWithhold {
  /// Nobody knows what it asks for.
  package static let unread =
    "a policy is in force, and the reply could not be read to be judged by it"
  /// Nobody has said yet whether a call may run.
  package static let waits = "the run stops: a call waits for approval"
}
