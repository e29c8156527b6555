import AgentRuntime
import AgentTrace

/// What a codec makes of a reply as it went over the wire.
struct ReadReply {
  /// The reply; `nil` where there is none, or where it ended with an error.
  var reply: ProviderReply?
  /// Why there is none.
  var error: String?
  /// What was read of one that ended with an error: what it used, at least.
  var failed: ProviderReply?
  /// Why something may have gone unread that its client took in; `nil` where nothing has.
  var unread: String?
  /// The reply with its body as it was before it was compressed; `nil` where it was not.
  var inflated: WireReply?

  /// The most bytes that are read.
  static let limitBytes = 64 << 20

  /// Reads all of it.
  ///
  /// - Complexity: linear in the body.
  init(_ wire: WireReply, _ dialect: Dialect) {
    do throws(BodyInflater.Fault) { inflated = try Self.inflated(wire) } catch {
      let words = "the reply was not read: \(error)"
      self.error = (200..<300).contains(wire.status) ? words : "status \(wire.status); \(words)"
      unread = words
      return
    }
    let plain = inflated ?? wire
    if (200..<300).contains(wire.status) { read(plain, dialect) } else { refuse(plain, dialect) }
  }

  /// A reply with its body as it was before it was compressed; `nil` where it was not.
  static func inflated(_ wire: WireReply) throws(BodyInflater.Fault) -> WireReply? {
    let encoding = header("content-encoding", of: wire)
    guard BodyInflater.isCompressed(wire.body, encoding: encoding), !wire.body.isEmpty else {
      return nil
    }
    var plain = wire
    plain.pieces = [
      try BodyInflater.inflated(wire.body, encoding: encoding, limitBytes: limitBytes)
    ]
    plain.headers.removeAll { $0.name.lowercased() == "content-encoding" }
    return plain
  }

  private static func header(_ name: String, of wire: WireReply) -> String? {
    wire.headers.first { $0.name.lowercased() == name }?.value.lowercased()
  }

  private mutating func read(_ wire: WireReply, _ dialect: Dialect) {
    do throws(ReplyFault) {
      var reader = ReplyReader(
        dialect, type: Self.header("content-type", of: wire), limitBytes: Self.limitBytes)
      for piece in wire.pieces { _ = try reader.take(piece) }
      reader.end()
      let read = try reader.reply()
      guard !Self.isBrokenOff(wire) else { throw .cut }
      take(read)
      unread = unread ?? Self.difference(of: read, from: wire, dialect)
    } catch {
      self.error = wire.ending == .whole ? "\(error)" : "\(ReplyFault.cut)"
      if wire.ending == .dropped {
        self.error = "whoever asked went away before the reply was there"
      }
      let hasBody = wire.pieces.contains { !$0.isEmpty }
      if hasBody { unread = "the reply could not be read: \(self.error ?? "")" }
    }
  }

  /// Whether a document broke off. However whole it looks, its client met an error; of a stream it has all with the last
  /// event.
  private static func isBrokenOff(_ wire: WireReply) -> Bool {
    wire.ending == .cut && header("content-type", of: wire)?.hasPrefix("application/json") == true
  }

  /// How a reply holds other calls where it is read as plainly as can be, in words; `nil` where it holds as many. Who
  /// reads it otherwise than it was read here may act on those.
  private static func difference(
    of read: ProviderReply, from wire: WireReply, _ dialect: Dialect
  ) -> String? {
    guard let plain = ReplyEdit(wire, dialect) else {
      return "the reply can be read in more than one way"
    }
    return plain.difference(from: read.reply["calls"]?.arrayValue?.count ?? 0).map {
      "the reply can be read in more than one way: \($0)"
    }
  }

  private mutating func take(_ read: ProviderReply) {
    unread = ModelReply(read.reply).unseen
    guard let fault = read.error else {
      reply = read
      return
    }
    error = "\(fault)"
    failed = read
    // Its client may have acted on what came before the error.
    if ["text", "calls", "ran"].contains(where: { read.reply[$0] != nil }) {
      unread = unread ?? "the reply ended with an error when it had begun: \(fault)"
    }
  }

  /// A reply whose status says that it is none.
  private mutating func refuse(_ wire: WireReply, _ dialect: Dialect) {
    let value = try? JSONValue(parsing: wire.body, options: .init(keepsForeignText: true))
    let found = value.flatMap { dialect.error(in: $0) }?
      .typed(Self.header("x-amzn-errortype", of: wire))
    let words = found.map { "\($0)" } ?? ""
    error = words.isEmpty ? "status \(wire.status)" : "status \(wire.status): \(words)"
    if (300..<400).contains(wire.status) {
      unread = "the reply sends whoever asked elsewhere, past the proxy (status \(wire.status))"
    } else if let call = Self.call(inError: wire, dialect) {
      unread = "the reply says that it is an error (status \(wire.status)), but \(call)"
    }
  }

  /// What in an error may be a call, in words; `nil` where nothing is. Whoever does not look at the status may act on it.
  private static func call(inError wire: WireReply, _ dialect: Dialect) -> String? {
    if let edit = ReplyEdit(wire, dialect) { return edit.unjudged(besides: 0) }
    // Errors of a service whose streams are frames may be pages or plain words.
    let isText = dialect == .bedrock && !wire.body.contains(0)
    return isText ? nil : "it cannot be read"
  }
}

extension ExchangeRecorder.Outcome {
  /// What became of a request to a model.
  ///
  /// - Parameters:
  ///   - reply: what came back; `nil` where nothing did (then `error` says why), or more than is kept.
  ///   - wire: the rest of what went over the wire.
  init(
    _ reply: WireReply?, error: String?, _ dialect: Dialect, wire: WireRecord, requestId: String?,
    elapsedMicroseconds: Int
  ) {
    self.init(
      error: error, wire: wire, requestId: requestId, elapsedMicroseconds: elapsedMicroseconds)
    self.wire.reply = reply
    guard error == nil else { return }
    guard let reply else {
      let words = "the reply has more than \(ReadReply.limitBytes >> 20) MiB, and was not read"
      (self.error, unread, self.wire.omitted) = (words, words, words)
      return
    }
    let read = ReadReply(reply, dialect)
    (self.reply, self.error) = (read.reply, read.error)
    (failed, unread) = (read.failed, read.unread)
    let body = reply.body
    if !body.isEmpty { responseDigest = Digest(of: body).hex }
    if let inflated = read.inflated { self.wire.reply = inflated }
    // Clients go once they have all that they need, and wait for no end.
    if read.reply != nil { self.wire.reply?.ending = .whole }
  }
}
