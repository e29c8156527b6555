import AgentTrace
import TestSupport
import Testing

@testable import TraceStorage

@Suite("Lists that go on from one another are digested by what is new")
struct DigestedListsTests {
  /// Lists of packets as they grow, lose their beginning or their middle, or begin anew.
  private struct Conversation {
    var items: [JSONValue] = []
    var numbers: [Int] = []

    mutating func change(
      _ generator: inout Seeded, all: inout [JSONValue], mostSaid: Int
    ) {
      switch Int.random(in: 0..<12, using: &generator) {
      case 0:
        let count = min(items.count, .random(in: 0...40, using: &generator))
        items.removeFirst(count)
        numbers.removeFirst(count)
      case 1 where items.count > 4:
        // What stands first stays, and what follows goes: a window that slides.
        let end = Int.random(in: 2..<items.count, using: &generator)
        items.removeSubrange(2..<end)
        numbers.removeSubrange(2..<end)
      case 2: (items, numbers) = ([], [])
      case 3:
        let count = min(items.count, 3)
        items.removeLast(count)
        numbers.removeLast(count)
      default: break
      }
      for _ in 0..<Int.random(in: 0...mostSaid, using: &generator) {
        let item: JSONValue = ["number": JSONValue(all.count % 97)]
        numbers.append(all.count)
        items.append(item)
        all.append(item)
      }
    }

    var runs: [ItemRun] {
      var runs: [ItemRun] = []
      for number in numbers { runs.add(ItemRun(first: number, count: 1)) }
      return runs
    }
  }

  @Test(
    "values and numbers give the digest of the whole list, also from a checkpoint on",
    arguments: 0..<8)
  func same(seed: UInt64) throws {
    var generator = Seeded(seed: 4_100 + seed)
    var all: [JSONValue] = []
    var conversations = Array(repeating: Conversation(), count: Int(1 + seed % 4))
    var lists = DigestedLists()
    var caches = Array(repeating: ListDigestCache(), count: conversations.count)
    var hashed = 0
    for packet in 0..<(isLongRun ? 4_000 : 400) {
      let turn = packet % conversations.count
      conversations[turn].change(&generator, all: &all, mostSaid: packet < 20 ? 200 : 6)
      let (items, runs) = (conversations[turn].items, conversations[turn].runs)
      let plain = ListDigest(of: items)
      #expect(caches[turn].digest(of: items) == plain)
      let list = try #require(lists.digested(runs, inList: 3) { Digest(of: all[$1]) })
      #expect(list.digest == plain, "packet \(packet)")
      hashed += list.hashes
      lists.keep(list, inList: 3)
      guard packet % 37 == 0 else { continue }
      // Who begins here knows no more items than the checkpoint says.
      var known: [Int: Digest] = [:]
      let checkpoint = lists.encoded { Digest(of: all[$1]) }
      let later = try #require(
        DigestedLists(decoding: checkpoint) { list, number, digest in
          #expect(list == 3)
          known[number] = digest
        })
      #expect(later.encoded { known[$1] } == checkpoint)
      let again = try #require(later.digested(runs, inList: 3) { known[$1] })
      #expect(again.digest == plain)
      let next = runs + [ItemRun(first: all.count + 1, count: 1)]
      let grown = later.digested(next, inList: 3) {
        $1 > all.count ? Digest(of: "new") : known[$1]
      }
      #expect(grown?.digest == ListDigest(of: items + ["new"]))
    }
    #expect(hashed > 0)
  }

  @Test("a window that slides costs a few dozen hashes a packet, whatever its length")
  func sliding() throws {
    let items = (0..<6_000).map { Digest(of: JSONValue($0)) }
    var lists = DigestedLists()
    var hashed = 0
    for first in stride(from: 2, to: 2_000, by: 2) {
      let runs = [ItemRun(first: 0, count: 2), ItemRun(first: first, count: 4_000)]
      let list = try #require(lists.digested(runs, inList: 5) { items[$1] })
      if first > 2 { hashed += list.hashes }
      lists.keep(list, inList: 5)
    }
    // 4,000 items are 125 pieces, and the ends of the window some dozens of items.
    #expect(hashed / 998 < 300)
  }
}
