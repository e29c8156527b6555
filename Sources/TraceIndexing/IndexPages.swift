import CSQLite
import SQLite

/// A sum at the end of each page of an index, made with every write of the page, so that a flipped bit
/// is seen before a row is shown.
///
/// SQLite leaves as many bytes at the end of each page alone as its header says
/// (https://sqlite.org/fileformat.html, offset 20). The sum is put there on the way to the file, as SQLite's
/// own checksum VFS does (https://sqlite.org/cksumvfs.html), so that it is part of the same transaction.
enum IndexPages {
  /// Bytes that are kept free at the end of each page.
  private static let sumBytes = 8
  /// Pages that are looked at with one read.
  private static let pagesAtOnce = 64

  /// Makes a connection put sums into the pages that it writes, if its file is empty or has them.
  /// Does nothing for an index in memory, and nothing to a file that is none of ours.
  static func keepSums(_ connection: Connection) {
    guard let file = file(of: connection), let methods = file.pointee.pMethods,
      let size = size(of: file, methods)
    else { return }
    if size == 0 {
      var count = Int32(sumBytes)
      _ = connection.withHandle {
        sqlite3_file_control($0, "main", SQLITE_FCNTL_RESERVE_BYTES, &count)
      }
    } else {
      var header = [UInt8](repeating: 0, count: headerBytes)
      guard methods.pointee.xRead?(file, &header, Int32(headerBytes), 0) == SQLITE_OK,
        keepsSums(header)
      else { return }
    }
    let table = UnsafeMutablePointer<SummingMethods>.allocate(capacity: 1)
    table.initialize(to: SummingMethods(over: methods))
    file.pointee.pMethods = UnsafeRawPointer(table).assumingMemoryBound(to: sqlite3_io_methods.self)
  }

  /// Whether every page of the file fits its sum; true for an index in memory. To be asked within a
  /// transaction that has read something, so that nobody writes meanwhile.
  ///
  /// - Complexity: reads the whole file once, a few pages at a time.
  static func areWhole(_ connection: Connection) -> Bool {
    guard let file = file(of: connection), let methods = file.pointee.pMethods else { return true }
    guard let read = methods.pointee.xRead, let size = size(of: file, methods) else { return false }
    var header = [UInt8](repeating: 0, count: headerBytes)
    guard size >= headerBytes, read(file, &header, Int32(headerBytes), 0) == SQLITE_OK,
      keepsSums(header)
    else { return false }
    let pageBytes = pageBytes(header)
    guard isPageSize(pageBytes), size % pageBytes == 0, size / pageBytes >= pageCount(header) else {
      return false
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: pageBytes * pagesAtOnce, alignment: 16)
    defer { buffer.deallocate() }
    var offset = 0
    while offset < size {
      let count = min(buffer.count, size - offset)
      guard let start = buffer.baseAddress,
        read(file, start, Int32(count), sqlite3_int64(offset)) == SQLITE_OK
      else { return false }
      for place in stride(from: 0, to: count, by: pageBytes) {
        let page = UnsafeRawBufferPointer(rebasing: buffer[place..<(place + pageBytes)])
        let kept = page.load(fromByteOffset: pageBytes - sumBytes, as: UInt64.self)
        if kept == sum(of: page, at: offset + place) { continue }
        // A page that no transaction has ever filled.
        guard kept == 0, page.allSatisfy({ $0 == 0 }) else { return false }
      }
      offset += count
    }
    return true
  }

  // MARK: The header of the file

  private static let headerBytes = 100

  private static func keepsSums(_ header: [UInt8]) -> Bool {
    header.starts(with: Array("SQLite format 3\0".utf8)) && Int(header[20]) == sumBytes
  }

  private static func pageBytes(_ header: [UInt8]) -> Int {
    let bytes = Int(header[16]) << 8 | Int(header[17])
    return bytes == 1 ? 65_536 : bytes
  }

  private static func pageCount(_ header: [UInt8]) -> Int {
    header[28..<32].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func isPageSize(_ bytes: Int) -> Bool {
    (512...65_536).contains(bytes) && bytes & (bytes - 1) == 0
  }

  // MARK: Sums

  /// The sum of a page without its own place, and of where the page stands. Both halves depend on every
  /// word before, in a way that can be undone: no change of one word leaves them as they were.
  private static func sum(of page: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
    var first = UInt32(truncatingIfNeeded: offset >> 9) &+ 1
    var second = UInt32(IndexSchema.applicationID)
    for place in stride(from: 0, to: page.count - sumBytes, by: 8) {
      first = first &+ page.load(fromByteOffset: place, as: UInt32.self) &+ second
      second = second &+ page.load(fromByteOffset: place + 4, as: UInt32.self) &+ first
    }
    return UInt64(first) << 32 | UInt64(second)
  }

  /// Writes a page with its sum. SQLite writes whole pages to a database, from room of its own.
  fileprivate static func write(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32,
    _ offset: sqlite3_int64
  ) -> Int32 {
    guard let file, let bytes, let original = SummingMethods.original(of: file),
      let write = original.pointee.xWrite
    else { return SQLITE_IOERR }
    let size = Int(count)
    if isPageSize(size), Int(offset) % size == 0 {
      let page = UnsafeMutableRawBufferPointer(
        start: UnsafeMutableRawPointer(mutating: bytes), count: size)
      let sum = sum(of: UnsafeRawBufferPointer(page), at: Int(offset))
      page.storeBytes(of: sum, toByteOffset: size - sumBytes, as: UInt64.self)
    }
    return write(file, bytes, count, offset)
  }

  /// Closes a file as it was opened.
  fileprivate static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
    guard let file, let original = SummingMethods.original(of: file) else { return SQLITE_OK }
    let table = file.pointee.pMethods.map { UnsafeMutableRawPointer(mutating: $0) }
    file.pointee.pMethods = original
    table?.deallocate()
    return original.pointee.xClose?(file) ?? SQLITE_OK
  }

  // MARK: The file of a connection

  /// `nil` for a database in memory.
  private static func file(of connection: Connection) -> UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = connection.withHandle {
      sqlite3_file_control($0, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    }
    guard code == SQLITE_OK, file?.pointee.pMethods != nil else { return nil }
    return file
  }

  private static func size(
    of file: UnsafeMutablePointer<sqlite3_file>, _ methods: UnsafePointer<sqlite3_io_methods>
  ) -> Int? {
    var size: sqlite3_int64 = 0
    guard methods.pointee.xFileSize?(file, &size) == SQLITE_OK else { return nil }
    return Int(size)
  }
}

/// What SQLite calls for a file, with what it would have called; that stands first, for SQLite knows
/// nothing of the rest.
private struct SummingMethods {
  var methods: sqlite3_io_methods
  let original: UnsafePointer<sqlite3_io_methods>

  init(over original: UnsafePointer<sqlite3_io_methods>) {
    self.original = original
    methods = original.pointee
    // Neither a write-ahead log nor a mapped file, which would go past the sums.
    methods.iVersion = 1
    methods.xClose = { file in IndexPages.close(file) }
    methods.xWrite = { file, bytes, count, offset in
      IndexPages.write(file, bytes, count, offset)
    }
  }

  /// What the methods of a file were before.
  static func original(
    of file: UnsafeMutablePointer<sqlite3_file>
  ) -> UnsafePointer<sqlite3_io_methods>? {
    file.pointee.pMethods.map {
      UnsafeRawPointer($0).assumingMemoryBound(to: SummingMethods.self).pointee.original
    }
  }
}
