#if Live
  import FilePaths
  import Glibc
  import NIOSSL

  /// Authorities whose certificates are trusted, as files hold them.
  enum HTTPAuthorities {
    /// How many files of a folder are looked at.
    private static let fileLimit = 10_000

    /// The certificates of a file in PEM, or of all such files of a folder.
    ///
    /// - Throws: ``HTTPFailure`` where there is none.
    static func certificates(at path: String) throws -> [NIOSSLCertificate] {
      guard let status = fileStatus(path) else {
        throw HTTPFailure(
          .invalidCall, "the authorities of \(path) cannot be read: it is not there")
      }
      guard status.isFolder else {
        guard let found = try? NIOSSLCertificate.fromPEMFile(path), !found.isEmpty else {
          throw HTTPFailure(.invalidCall, "\(path) holds no certificate in PEM")
        }
        return found
      }
      // What else lies there is no certificate.
      let found = names(in: path).flatMap { name in
        (try? NIOSSLCertificate.fromPEMFile("\(path)/\(name)")) ?? []
      }
      guard !found.isEmpty else {
        throw HTTPFailure(.invalidCall, "no file of the folder \(path) holds a certificate in PEM")
      }
      return found
    }

    private static func names(in folder: String) -> [String] {
      guard let stream = opendir(folder) else { return [] }
      defer { closedir(stream) }
      var names: [String] = []
      while names.count < fileLimit, let entry = readdir(stream) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { raw in
          String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
      }
      return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
  }
#endif
