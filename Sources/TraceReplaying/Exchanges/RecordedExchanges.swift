public import AgentRuntime
import AgentTrace
import Synchronization
import TraceStorage

/// The replies that a log of a proxy holds, to be given again.
///
/// A request is answered by the recorded one that asked the same; of several equal ones by the first that
/// was not given yet. Where whoever asked went away before the reply was whole, it waits in vain again. May be
/// used from any task.
public final class RecordedExchanges: ReplySource {
  /// A request to a model that the log holds.
  private struct Exchange {
    /// The request's digest.
    var digest: String
    var wire: WireRecord
    /// The event that holds the reply, its step and its place among all requests of the log, from 1.
    var seq, step, number: Int
    /// What was asked, as far as the log tells; see ``ObservedRequest/comparable``.
    var asked: JSONValue
    var isUsed = false
  }

  private struct Forwarded {
    var upstream, method, path, digest: String
    var wire: WireRecord
    /// Given again and again: what nobody decides by may be asked for at any time.
    var isUsed = false
  }

  /// A request to a model that a limit kept from its provider.
  private struct Refused {
    var upstream, path, digest: String
    var reply: WireReply
    /// How many requests to models came before it.
    var before: Int
  }

  private struct State {
    var exchanges: [Exchange]
    var forwarded: [Forwarded]
    var refused: [Refused]
    /// How many requests to models came in.
    var asked = 0
    var difference: Difference?
  }

  /// The first request that the recording holds no reply to.
  public struct Difference: Sendable, Hashable {
    /// Which request it was, from 1.
    public var number: Int
    /// What was asked, in a few words.
    public var now: String
    /// The recorded request that would have been next: its event and its step; `nil` where none was left.
    public var seq, step: Int?
    /// What differs between the two, in the order of their keys; at most ``Divergence/fieldLimit``.
    public var fields: [Divergence.Field]
    /// How many values differ in all.
    public var fieldCount: Int
    /// Why a recorded reply to the very same could not be given; `nil` where there is none.
    public var reason: String?
  }

  /// How the log says that it was recorded.
  public let path: String
  private let state: Mutex<State>

  /// Reads a log.
  ///
  /// - Throws: `LogError` where it cannot be read, ``ExchangeError`` where no proxy recorded it.
  /// - Complexity: linear in the log; keeps replies and contexts in memory.
  public init(path: String) throws {
    var reader = try LogReader(path: path)
    var (exchanges, forwarded): ([Exchange], [Forwarded]) = ([], [])
    var refused: [Refused] = []
    var (messages, tools): ([JSONValue], [String: [JSONValue]]) = ([], [:])
    var request: ObservedRequest?
    var withheld = WithheldReplies()
    while let event = try reader.next() {
      withheld.take(event)
      switch event.type {
      case .runStarted:
        guard event.data["source"]?["format"] == "proxy" else { throw ExchangeError(path: path) }
      case .toolsListed:
        tools[event.data["source"]?.stringValue ?? ""] = event.data["tools"]?.arrayValue ?? []
      case .contextBuilt: messages = event.data["prompt"]?["messages"]?.arrayValue ?? []
      case .modelResult:
        guard let wire = WireRecord(event.data["wire"]) else { continue }
        let made = ObservedRequest(
          dialect: wire.dialect ?? "", model: wire.model, streams: wire.streams,
          messages: messages, tools: tools["agent"] ?? [], parameters: wire.parameters)
        request = made
        exchanges.append(
          Exchange(
            digest: event.data["requestDigest"]?.stringValue ?? "", wire: wire, seq: event.seq,
            step: event.step, number: exchanges.count + 1, asked: made.comparable))
      case .decision:
        // Only now it is known whose tools these were.
        guard let caller = event.data["caller"]?.stringValue, !exchanges.isEmpty else { continue }
        request?.tools = tools[caller] ?? []
        exchanges[exchanges.count - 1].asked = request?.comparable ?? .null
      case .replyChanged:
        // Whoever asked then got this, and gets it again.
        guard let change = try? ReplyChanged(decoding: event.data),
          let place = exchanges.lastIndex(where: { $0.seq == change.modelResult })
        else { continue }
        let given = WireRecord(.object(change.wire))
        exchanges[place].wire.reply = given?.reply
        exchanges[place].wire.omitted = given?.omitted ?? exchanges[place].wire.omitted
      case .requestForwarded:
        guard let wire = WireRecord(event.data["wire"]) else { continue }
        if wire.dialect != nil, let reply = wire.reply {
          refused.append(
            Refused(
              upstream: wire.upstream, path: Self.plain(wire.path),
              digest: event.data["bodyDigest"]?.stringValue ?? "", reply: reply,
              before: exchanges.count))
          continue
        }
        forwarded.append(
          Forwarded(
            upstream: wire.upstream, method: wire.method, path: wire.path,
            digest: event.data["bodyDigest"]?.stringValue ?? "", wire: wire))
      default: break
      }
    }
    for index in exchanges.indices {
      exchanges[index].wire.reply = exchanges[index].wire.reply.map {
        withheld.given($0, of: exchanges[index].seq)
      }
    }
    self.path = path
    state = Mutex(State(exchanges: exchanges, forwarded: forwarded, refused: refused))
  }

  public func reply(to request: ObservedRequest, upstream: String, path: String) -> WireReply? {
    let digests = [request.digest, request.olderDigest]
    return state.withLock { state in
      state.asked += 1
      let equal = state.exchanges.indices.filter { index in
        let exchange = state.exchanges[index]
        // A client that wants a stream can read nothing else, and the other way round.
        return !exchange.isUsed && exchange.wire.streams == request.streams
          && digests.contains { exchange.digest.hasSameUTF8(as: $0) }
          && exchange.wire.upstream.hasSameUTF8(as: upstream)
          && Self.plain(exchange.wire.path).hasSameUTF8(as: path)
      }
      let kept = equal.filter {
        state.exchanges[$0].wire.reply != nil || state.exchanges[$0].wire.isLeft
      }
      guard let place = kept.first else {
        if state.difference == nil {
          let omitted = equal.first.flatMap { state.exchanges[$0].wire.omitted }
          state.difference = Self.difference(request, state, omitted)
        }
        return nil
      }
      // What was tried before and given up is behind.
      for index in equal where index <= place { state.exchanges[index].isUsed = true }
      return state.exchanges[place].wire.reply ?? Self.silence
    }
  }

  /// What whoever waited in vain was told.
  private static let silence = WireReply(status: 0, headers: [], pieces: [], ending: .dropped)

  public func refusal(upstream: String, path: String, bodyDigest: String) -> WireReply? {
    state.withLock { state in
      // The same may have been asked before, and answered.
      state.refused.first {
        $0.before <= state.asked && $0.digest.hasSameUTF8(as: bodyDigest)
          && $0.upstream.hasSameUTF8(as: upstream) && $0.path.hasSameUTF8(as: path)
      }?.reply
    }
  }

  public func reply(
    toForwarded method: String, upstream: String, path: String, bodyDigest: String
  ) -> WireReply? {
    state.withLock { state in
      let equal = state.forwarded.indices.filter { index in
        let request = state.forwarded[index]
        return request.upstream.hasSameUTF8(as: upstream) && request.method.hasSameUTF8(as: method)
          && request.path.hasSameUTF8(as: path) && request.digest.hasSameUTF8(as: bodyDigest)
          && (request.wire.reply != nil || request.wire.isLeft)
      }
      guard let place = equal.first(where: { !state.forwarded[$0].isUsed }) ?? equal.last else {
        if state.difference == nil {
          state.difference = Difference(
            number: state.asked + 1, now: "\(method) \(path)", fields: [], fieldCount: 0,
            reason: "no such request was recorded")
        }
        return nil
      }
      state.forwarded[place].isUsed = true
      return state.forwarded[place].wire.reply ?? Self.silence
    }
  }

  /// The first request that there was no reply to; `nil` while each had one.
  public var difference: Difference? { state.withLock { $0.difference } }

  /// Recorded requests that were answered and that nobody made: the step and event of each.
  public var unasked: [(step: Int, seq: Int)] {
    state.withLock { state in
      state.exchanges.filter { exchange in
        guard let reply = exchange.wire.reply else { return false }
        return !exchange.isUsed && (200..<300).contains(reply.status) && reply.ending == .whole
      }.map { ($0.step, $0.seq) }
    }
  }

  /// How many requests to models were made, and how many the log holds.
  public var counts: (asked: Int, recorded: Int) {
    state.withLock { ($0.asked, $0.exchanges.count) }
  }

  private static func plain(_ path: String) -> String { String(path.prefix { $0 != "?" }) }

  /// The request beside the recorded one that is nearest: of those that are left, the first that differs
  /// least.
  private static func difference(
    _ request: ObservedRequest, _ state: State, _ omitted: String?
  ) -> Difference {
    let now = request.comparable
    var found = Difference(
      number: state.asked,
      now: "\(request.dialect) \(request.model ?? "") with \(request.messages.count) messages",
      fields: [], fieldCount: 0, reason: omitted)
    if omitted != nil { return found }
    let left = state.exchanges.filter { !$0.isUsed }.prefix(50)
    guard let expected = left.first else {
      found.reason = "every recorded reply was given already"
      return found
    }
    // The next one, unless another is plainly what was meant.
    let counts = left.map { exchange in
      var count = 0
      JSONDifferences.visit(exchange.asked, now, pairing: .betweenSameEnds) { _, _, _ in
        count += 1
        return count < 1_000
      }
      return count
    }
    let best = zip(left, counts).min { $0.1 < $1.1 }?.0 ?? expected
    found.seq = best.seq
    found.step = best.step
    JSONDifferences.visit(best.asked, now, pairing: .betweenSameEnds) { pointer, recorded, now in
      found.fieldCount += 1
      if found.fields.count < Divergence.fieldLimit {
        found.fields.append(
          Divergence.Field(
            pointer: pointer, recorded: recorded?.cut(toBytes: Divergence.valueLimitBytes),
            now: now?.cut(toBytes: Divergence.valueLimitBytes)))
      }
      return true
    }
    return found
  }
}

/// A log that cannot be answered from, because no proxy recorded it.
public struct ExchangeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The log, as the caller named it.
  public var path: String

  public var description: String {
    "\(path): the log was not recorded by `record --proxy`, so it holds no replies as they went over the wire. "
      + "Make a run of an agent file again with `replay --reexecute`."
  }
}
