import AgentRuntime
import AgentTrace

/// What of replies does not stand in the log.
extension ExchangeRecorder {
  /// A reply without what is withheld: a gateway may put keys into any of its words.
  func withheld(_ reply: ProviderReply) -> ProviderReply {
    var reply = reply
    reply.reply = redactor.redacted(reply.reply)
    reply.model = reply.model.map { redactor.redacted($0) }
    reply.id = reply.id.map { redactor.redacted($0) }
    reply.finishReason = reply.finishReason.map { redactor.redacted($0) }
    return reply
  }

  /// The record without what is withheld. Where that leaves a body that no longer says the same, or a
  /// secret that came in pieces, the body is not kept.
  func withheld(_ wire: WireRecord, _ reply: ProviderReply?) -> WireRecord {
    var wire = wire
    wire.path = redactor.redacted(wire.path)
    wire.parameters = redactor.redacted(.object(wire.parameters)).objectValue ?? [:]
    if JSONValue.object(wire.parameters).isLarger(thanBytes: Self.valueLimitBytes) {
      wire.parameters = [:]
    }
    guard var kept = wire.reply else { return wire }
    let body = kept.body
    // Escapes make it longer.
    if body.count > WireReply.bodyLimitBytes
      || CanonicalJSON.encode(wire.encoded["body"] ?? .null).count > WireReply.bodyLimitBytes
    {
      wire.reply = nil
      wire.omitted = "its body has \(body.count) bytes"
      return wire
    }
    guard let text = String(validating: body, as: UTF8.self) else {
      // Frames cannot be changed in part.
      let words = String(decoding: body, as: UTF8.self)
      let isWithheld = reply.map { RedactionToken.isIn($0.reply) } ?? false
      if isWithheld || !redactor.redacted(words).hasSameUTF8(as: words) {
        wire.reply = nil
        wire.omitted = "what it says is withheld in part"
      }
      return wire
    }
    let redacted = redactor.redacted(text)
    if !redacted.hasSameUTF8(as: text) {
      kept.pieces = [Array(redacted.utf8)]
      wire.reply = kept
    }
    guard let reply, let dialect = wire.dialect.flatMap(Dialect.init(rawValue:)),
      RedactionToken.isIn(reply.reply) || !redacted.hasSameUTF8(as: text)
    else { return wire }
    let again = ReadReply(kept, dialect)
    if again.reply?.reply != reply.reply {
      wire.reply = nil
      wire.omitted = "what it says is withheld in part"
    }
    return wire
  }
}
