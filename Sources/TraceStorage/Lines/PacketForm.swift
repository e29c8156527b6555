/// Whether the line of a packet says what a packet must, told from its text.
///
/// Why: a packet's line says little that is new, and of what it says a check needs no more than that each key has
/// what belongs there; making values of it was an eighth of the time of `verify`. `PacketFormTests` holds it against
/// reading the packet.
enum PacketForm {
  /// Whether every key of the packet's data is known and has what belongs there. False says nothing against the
  /// packet: then it has to be read.
  ///
  /// - Parameter line: an event's line in canonical form, which was folded in from its text.
  static func isSound(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
    guard var scanner = LineScanner(line), Envelope(&scanner) != nil else { return false }
    var namesRun = false
    let isKnown = scanner.members { scanner, key in
      switch scanner.bytes(key) {
      case "evidenceRefs", "memoryRefs", "toolsDisclosed":
        return scanner.list { $0.skipQuoted() }
      case "goal": return scanner.skipValue()
      case "included", "omittedRefs": return scanner.list { $0.contextItem() }
      case "observations": return scanner.list { $0.skipValue() }
      case "prompt":
        return scanner.skip("{\"messages\":") && scanner.list { $0.skipValue() }
          && scanner.skip(UInt8(ascii: "}"))
      case "runId":
        namesRun = true
        return scanner.skipQuoted()
      case "stateSummary": return scanner.skipObject()
      case "tokens": return scanner.tokens()
      default: return false
      }
    }
    return isKnown && namesRun
  }
}

extension LineScanner {
  /// Steps over a list of a packet; `item` steps over each item that stands in it.
  fileprivate mutating func list(_ item: (inout LineScanner) -> Bool) -> Bool {
    guard skip("{\"$list\":") else { return false }
    let isList = elements { scanner in
      // Items that stood before.
      scanner.byte == UInt8(ascii: "[") ? scanner.skipValue() : item(&scanner)
    }
    return isList && skip(UInt8(ascii: "}"))
  }

  fileprivate mutating func skipQuoted() -> Bool { byte == UInt8(ascii: "\"") && skipValue() }

  fileprivate mutating func skipObject() -> Bool {
    byte == UInt8(ascii: "{") && !isAtForm && skipValue()
  }

  /// Steps over `{"reason":"…","ref":"…"}`.
  fileprivate mutating func contextItem() -> Bool {
    skip("{\"reason\":") && skipQuoted() && skip(",\"ref\":") && skipQuoted()
      && skip(UInt8(ascii: "}"))
  }

  /// Steps over `{"budget":…,"estimate":…}`, each of them or none.
  fileprivate mutating func tokens() -> Bool {
    members { scanner, key in
      switch scanner.bytes(key) {
      case "budget", "estimate": return scanner.number() != nil
      default: return false
      }
    }
  }
}
