/// Where a reply sends a request on to, and whether it may go there.
///
/// A request carries headers that are meant for one server, keys among them, and its method and body have to
/// arrive as they are. So only a redirect that keeps both (307, 308) is followed, and only to the same host
/// and port, or from http to https of the same host.
enum HTTPRedirect {
  /// How often one request is sent on.
  static let limit = 5

  /// The address that the request goes to next.
  ///
  /// - Returns: `nil` where the reply is no redirect.
  /// - Throws: ``HTTPFailure`` that says where it leads, where it is not followed.
  static func next(
    after status: Int, _ headers: [HTTPHeader], from url: String
  ) throws -> String? {
    guard (300..<400).contains(status), let location = headers["location"] else { return nil }
    guard let from = HTTPAddress(url), let target = absolute(location, from: from),
      let to = HTTPAddress(target)
    else {
      throw HTTPFailure(.invalidCall, "the server sends the request to no address of HTTP")
    }
    guard status == 307 || status == 308 else {
      throw HTTPFailure(
        .invalidCall,
        "the server answers \(status) and sends requests to \(shown(to)): put that into the agent file"
      )
    }
    let isSame = from.scheme == to.scheme && from.port == to.port
    let isUpgrade = from.scheme == "http" && to.scheme == "https"
    guard from.host == to.host, isSame || isUpgrade else {
      throw HTTPFailure(
        .invalidCall,
        "the server sends the request to another one, \(shown(to)), which does not get its headers: put "
          + "that address into the agent file if it is right")
    }
    return target
  }

  /// Without path and query, in which anything may stand.
  private static func shown(_ address: HTTPAddress) -> String {
    "\(address.scheme)://\(address.host):\(address.port)"
  }

  private static func absolute(_ location: String, from: HTTPAddress) -> String? {
    if HTTPAddress(location) != nil { return location }
    let host = from.host.contains(":") ? "[\(from.host)]" : from.host
    let origin = "\(from.scheme)://\(host):\(from.port)"
    if location.hasPrefix("//") { return "\(from.scheme):\(location)" }
    if location.hasPrefix("/") { return origin + location }
    guard !location.contains(":") else { return nil }
    let path = from.target.prefix { $0 != "?" }
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
    return origin + folder + location
  }
}
