import AgentTrace
import FuzzSupport
import TraceImporting
import TraceStorage

private let scratch = Scratch()
private let unpackedLimit = 1 << 20

/// Holds what takes bodies in to what it promises of any body: it is taken or refused in words, the same each time; a
/// piece that came twice says no more than once; what is written of it verifies.
///
/// The first byte chooses where it was posted and as what, the rest is the body.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReceived(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let choice = Int(input.byte())
  let form = Form.all[choice % Form.all.count]
  guard let body = form.isPacked ? unpacked(input.bytes) : input.bytes else { return 0 }
  guard let received = taken(body, form) else { return 0 }
  require(taken(body, form) == received, "taking a body again says something else")
  scratch.clear()
  for piece in received.pieces { check(piece) }
  return 0
}

/// Where a body was posted, and as what.
private struct Form {
  var route: ReceivedRoute
  var path: String
  var type: String
  var isPacked = false

  static let protobuf = "application/x-protobuf"
  static let json = "application/json"
  static let all = [
    Form(route: .traces, path: "/v1/traces", type: protobuf),
    Form(route: .traces, path: "/v1/traces", type: json),
    Form(route: .traces, path: "/v1/traces", type: protobuf, isPacked: true),
    Form(route: .logs, path: "/v1/logs", type: protobuf),
    Form(route: .logs, path: "/v1/logs", type: json),
    Form(route: .openAIAgents, path: "/v1/traces/ingest", type: json),
    Form(route: .langSmith(patched: nil), path: "/runs/batch", type: json),
    Form(
      route: .langSmith(patched: nil), path: "/runs/multipart",
      type: "multipart/form-data; boundary=b"),
    Form(route: .langSmith(patched: "r"), path: "/runs/r", type: json),
  ]
}

/// What a body of gzip holds; `nil` where it is refused.
private func unpacked(_ bytes: [UInt8]) -> [UInt8]? {
  do throws(ForeignCompression.Problem) {
    let plain = try ForeignCompression.gunzip(bytes, limitBytes: unpackedLimit)
    require(plain.count <= unpackedLimit, "more was unpacked than the limit")
    return plain
  } catch {
    explain("not unpacked: \(error)")
    return nil
  }
}

private struct Taken: Equatable {
  var pieces: [ReceivedPiece]
  var rejected: Int
}

private func taken(_ bytes: [UInt8], _ form: Form) -> Taken? {
  do throws(ImportError) {
    let body = try ReceivedBody(
      bytes, route: form.route, path: form.path, contentType: form.type)
    return Taken(pieces: body.pieces, rejected: body.rejected)
  } catch {
    require(!error.description.isEmpty, "a refusal without words")
    explain("\(error)")
    return nil
  }
}

private func check(_ piece: ReceivedPiece) {
  require(!piece.keys.isEmpty && piece.spans > 0, "a piece of nothing")
  require(Set(piece.keys).count == piece.keys.count, "a key of a piece stands there twice")
  let once = logs([piece.payload], piece.format, into: "once")
  let twice = logs([piece.payload, piece.payload], piece.format, into: "twice")
  require(once == twice, "a piece that came twice says something else")
}

/// The logs that pieces come to.
private func logs(_ payloads: [[UInt8]], _ format: ImportFormat, into folder: String) -> [[UInt8]] {
  do throws(ImportError) {
    let runs = try ReceivedRuns(payloads, format: format)
    var written: [[UInt8]] = []
    for (index, run) in runs.runs.enumerated() {
      let name = "\(folder)-\(index).jsonl.gz"
      guard write(run, of: runs, to: name, named: "r\(index)") else { continue }
      written.append(scratch.read(name) ?? [])
      let verified = LogVerifier.verify(path: scratch.file(name))
      require(
        verified.status == .whole,
        "a log is \(verified.status): \(verified.findings.first?.description ?? "")")
    }
    explain("\(runs.runs.count) runs, \(runs.leftOver) left over")
    return written
  } catch {
    require(!error.description.isEmpty, "an error without words")
    explain("\(error)")
    return []
  }
}

private func write(
  _ run: ReceivedRuns.Run, of runs: ReceivedRuns, to name: String, named id: String
) -> Bool {
  do throws(ImportError) {
    _ = try runs.write(run, to: scratch.file(name), named: id)
    return true
  } catch {
    if case .unwritable(_, let reason) = error.code { violated("unwritable: \(reason)") }
    explain("\(error)")
    return false
  }
}
