import Glibc

/// Where a member that the file ends in can be gone on with.
///
/// Inflates it block by block of the deflate stream and notes the last sync marker (an empty stored
/// block, `00 00 ff ff` at a byte boundary; zlib.h, Z_SYNC_FLUSH) behind a newline.
struct TornTail {
  /// Bytes of the file up to which it stays as it is: behind the last whole marker that follows a
  /// newline, else behind the member's header, else where the member begins.
  var offset: Int
  /// The whole lines that stand before `offset`.
  var text: [UInt8] = []
  /// Whole lines that could be inflated from the bytes behind `offset`.
  var linesBehind: [UInt8] = []
  /// Whether nothing stands behind `offset`.
  var isWhole: Bool

  init(examining block: BlockReader.Block, of file: LogFile) throws(LogError) {
    let start = block.offset + MemberHeader.length
    guard block.header != nil else {
      (offset, isWhole) = (block.offset, block.length == 0)
      return
    }
    let input = try file.read(at: start, count: block.length - MemberHeader.length)
    guard let inflater = Inflater() else {
      throw LogError(.system(operation: "inflate", errno: ENOMEM), path: file.path)
    }
    var all: [UInt8] = []
    var (read, markerAt, markerText) = (0, 0, 0)
    var blockText = 0
    scanning: while true {
      var piece: (progress: Inflater.Progress, read: Int, written: Int) = (.failed, 0, 0)
      input.withUnsafeBufferPointer { input in
        all.append(addingCapacity: 64 * 1024) { space in
          piece = inflater.inflate(
            UnsafeBufferPointer(rebasing: input[read...]), into: &space, stopsAtBlocks: true)
        }
      }
      read += piece.read
      switch piece.progress {
      case .blockEnd(let isAligned):
        if isAligned, all.count == blockText, all.last == UInt8(ascii: "\n"), read >= 4,
          input[(read - 4)..<read].elementsEqual([0, 0, 255, 255])
        {
          (markerAt, markerText) = (read, all.count)
        }
        blockText = all.count
      case .needsRoom: continue
      case .needsInput where read < input.count && (piece.read > 0 || piece.written > 0): continue
      default: break scanning
      }
    }
    offset = start + markerAt
    isWhole = markerAt == input.count && markerAt > 0
    let lines = all.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    text = Array(all[..<markerText])
    linesBehind = lines > markerText ? Array(all[markerText..<lines]) : []
  }
}
