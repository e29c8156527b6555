public import AgentTrace
import Synchronization

/// Keeps notes that outlive a run: of an agent, or of the actor that runs act for.
///
/// A store never sees notes of the scope `run`: those live in the run's own events.
public protocol MemoryStore: Sendable {
  /// The note at an address, whether or not it has run out; `nil` where there is none.
  ///
  /// - Throws: an error in words where the store cannot be read.
  func note(at address: MemoryAddress) throws -> KeptNote?

  /// The notes that are looked for, newest first, equal ones by key.
  ///
  /// - Throws: an error in words where the store cannot be read.
  func notes(for search: MemorySearch) throws -> [KeptNote]

  /// Keeps a note, or takes it away. What was written for the same event of the same run, or for a later
  /// one, is not written again: a run that goes on may say anew what it said last.
  ///
  /// - Throws: an error in words where nothing was kept.
  func write(_ writing: MemoryWriting) throws
}

extension MemoryStore {
  /// The note at an address alone, whether or not it has run out; `nil` where there is none.
  ///
  /// - Throws: an error in words where the store cannot be read.
  public func value(at address: MemoryAddress) throws -> JSONValue? {
    try note(at: address)?.value
  }
}

/// Where a note is kept.
public struct MemoryAddress: Sendable, Hashable {
  /// Whose notes outlive a run.
  public enum Scope: String, Sendable, Hashable, CaseIterable {
    /// Those of the agent, whoever it acts for.
    case agent
    /// Those of the actor, whichever agent acts for it.
    case actor
    /// Those of the tenant, whichever agent acts for whomever of it.
    case tenant
  }

  /// Whose note it is, in kind.
  public var scope: Scope
  /// Whose note it is: the agent's name, canonical `[tenantId,actorId]`, or the tenant's id.
  public var owner: String
  /// What it is found by among the owner's notes.
  public var key: String

  /// Whether a note is kept there is for the store to say.
  public init(scope: Scope, owner: String, key: String) {
    self.scope = scope
    self.owner = owner
    self.key = key
  }

  // Equal UTF-8 implies equal `String` hashes, so that the made hash is sound.
  public static func == (left: MemoryAddress, right: MemoryAddress) -> Bool {
    left.scope == right.scope && left.owner.hasSameUTF8(as: right.owner)
      && left.key.hasSameUTF8(as: right.key)
  }
}

/// A note that is to be kept, or taken away.
public struct MemoryWriting: Sendable, Hashable {
  /// Where.
  public var address: MemoryAddress
  /// The note; `nil` takes it away.
  public var value: JSONValue?
  /// The run that says so.
  public var runId: String
  /// The number of the event in which it says so.
  public var seq: Int
  /// Words that it is found by besides its text.
  public var tags: [String] = []
  /// From when on it counts as not kept, in UTC; `nil` for never.
  public var expires: String?
  /// When the run says so, in UTC; `nil` where that is not known.
  public var time: String?

  /// What the event `seq` of a run says of a note.
  public init(address: MemoryAddress, value: JSONValue?, runId: String, seq: Int) {
    self.address = address
    self.value = value
    self.runId = runId
    self.seq = seq
  }
}

extension MemoryWriting {
  /// The note that is to be kept; `nil` where one is taken away.
  public var note: KeptNote? {
    value.map {
      KeptNote(
        address: address, value: $0, tags: tags, expires: expires, keptAt: time, runId: runId,
        seq: seq)
    }
  }
}

/// How large notes may be, and how many.
public enum MemoryLimits {
  /// Bytes of the canonical form of a note's value.
  public static let valueBytes = 1 << 16
  /// Bytes of a note's key.
  public static let keyBytes = 512
  /// Tags of a note.
  public static let tags = 16
  /// Bytes of a tag.
  public static let tagBytes = 64
  /// Notes of one owner in one scope.
  public static let notes = 1_000
}

/// Why a note was not kept.
public struct MemoryFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// In words.
  public var description: String

  /// Why, in words for a person.
  public init(_ description: String) { self.description = description }

  /// An owner who has as many notes as are kept.
  public static let full = MemoryFault(
    "there are \(MemoryLimits.notes) notes of this owner already; take one away first")
}

/// A store in memory, for tests and for runs whose notes are not to outlive them.
public final class InMemoryStore: MemoryStore {
  private struct State {
    var notes: [MemoryAddress: KeptNote] = [:]
    var written: [String: Int] = [:]
  }

  private let state = Mutex(State())

  /// Without a note.
  public init() {}

  public func note(at address: MemoryAddress) -> KeptNote? {
    state.withLock { $0.notes[address] }
  }

  public func notes(for search: MemorySearch) -> [KeptNote] {
    let found = state.withLock { state in state.notes.values.filter(search.fits) }
    return Array(found.sorted(by: MemorySearch.precedes).prefix(max(0, search.limit)))
  }

  public func write(_ writing: MemoryWriting) throws {
    try state.withLock { state in
      guard state.written[writing.runId, default: -1] < writing.seq else { return }
      let address = writing.address
      if writing.value != nil, state.notes[address] == nil {
        func isOfOwner(_ place: MemoryAddress) -> Bool {
          place.scope == address.scope && place.owner.hasSameUTF8(as: address.owner)
        }
        var count = state.notes.keys.count(where: isOfOwner)
        if count >= MemoryLimits.notes {
          state.notes = state.notes.filter { place, note in
            !isOfOwner(place) || !note.hasRunOut(at: writing.time)
          }
          count = state.notes.keys.count(where: isOfOwner)
        }
        guard count < MemoryLimits.notes else { throw MemoryFault.full }
      }
      state.notes[address] = writing.note
      state.written[writing.runId] = writing.seq
    }
  }
}
