/// Where replies come from in place of providers.
public protocol ReplySource: Sendable {
  /// The reply to a request that a codec reads; `nil` where none is known, which is remembered. One without a
  /// status, of no pieces and dropped, says that whoever asked waited for it in vain.
  func reply(to request: ObservedRequest, upstream: String, path: String) -> WireReply?
  /// The reply to any other request, told by the digest of its body.
  func reply(
    toForwarded method: String, upstream: String, path: String, bodyDigest: String
  ) -> WireReply?
}
