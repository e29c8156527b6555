import AgentTrace
import FuzzSupport
import TraceStorage

let scratch = Scratch()

/// Holds reader, verifier and writer of run logs to each other.
///
/// An input is five bytes and a text. The first byte says what the text is: `r` the bytes of a file,
/// `m` lines that are put into members whose checksums are right, `w` events for the product's own
/// writer. The second holds flags, the others two numbers of 16 and 8 bits.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLog(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let kind = input.byte()
  let flags = input.byte()
  let number = input.number()
  let small = Int(input.byte())
  func has(_ bit: UInt8) -> Bool { flags >> bit & 1 == 1 }
  scratch.clear()
  var bytes: [UInt8]
  switch kind % 3 {
  case 0:  // r
    bytes = input.bytes
  case 1:  // m
    bytes = LogText.bytes(
      of: input.bytes,
      .init(renumbers: has(0), isClosed: has(1), isFlushed: has(5), leavesOpen: has(6)))
  default:  // w
    write(input.bytes, number, small, isLeftOpen: has(2))
    bytes = scratch.read("written.jsonl.gz") ?? scratch.read("written.jsonl.gz.open") ?? []
  }
  if has(3), !bytes.isEmpty { bytes.removeLast(number % bytes.count) }
  if has(4), !bytes.isEmpty { bytes[number % bytes.count] ^= 1 << UInt8(small % 8) }
  let name = has(2) ? "log.jsonl.gz.open" : "log.jsonl.gz"
  scratch.write(bytes, to: name)
  let laws = LogLaws(scratch.file(name), size: bytes.count)
  explain(
    "\(laws.report.status), \(laws.report.events) events, \(laws.report.blocks) blocks: "
      + "\(laws.report.findings.map(\.description)), \(laws.plain.fault?.description ?? "readable")"
  )
  laws.check()
  Writing.repair(laws, bytes: bytes, name: name)
  Writing.reopen(laws, bytes: bytes, name: name)
  return 0
}

private func write(_ text: [UInt8], _ number: Int, _ small: Int, isLeftOpen: Bool) {
  let options = LogWriter.Options(
    level: small % 10, blockBytes: number + 1, checkpointBytes: small * 64 + 1, durability: .none)
  let events = Writing.events(of: text)
  guard isLeftOpen else {
    _ = Writing.log(events, options)
    return
  }
  do {
    let writer = try LogWriter(creating: scratch.file("written.jsonl.gz"), options: options)
    for event in events { try writer.append(event, isEffectAhead: false) }
  } catch {
    violated("events cannot be written: \(error)")
  }
}
