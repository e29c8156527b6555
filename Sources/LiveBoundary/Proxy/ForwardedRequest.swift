/// What is known of requests that ask no model for a reply.
enum ForwardedRequest {
  /// Why nobody can say that no model was asked; `nil` where that is plain: such a request is known, or it was
  /// refused.
  ///
  /// - Parameter path: behind the base URL, with the query.
  static func unknown(_ method: String, _ path: String, status: Int?) -> String? {
    guard let status, status < 400 else { return nil }
    if status < 200 {
      return "\(method) \(path) went on in another protocol (status \(status)), which is not read"
    }
    if status >= 300 {
      return "\(method) \(path) was sent elsewhere, past the proxy (status \(status))"
    }
    if ["HEAD", "OPTIONS"].contains(method) || isKnown(method, path) { return nil }
    return "\(method) \(path) is no request that is known here, and may have asked a model"
  }

  /// What a path is made of, without query and fragment; `nil` where a server may take it for another one.
  static func segments(of path: String) -> [Substring]? {
    let parts = path.prefix { $0 != "?" && $0 != "#" }.split(separator: "/")
    let isPlain = parts.allSatisfy { part in
      let word = part.lowercased().replacing("%2e", with: ".")
      return word != "." && word != ".."
    }
    return isPlain ? parts : nil
  }

  /// Lists, files, embeddings, counts of tokens and the like: no model says anything that is acted on.
  private static func isKnown(_ method: String, _ path: String) -> Bool {
    guard let parts = segments(of: path) else { return false }
    guard let last = parts.last else { return method == "GET" }
    if method == "GET" || method == "DELETE" {
      let readable = [
        "models", "files", "health", "version", "tags", "ps", "props", "vector_stores", "uploads",
      ]
      return parts.contains { part in readable.contains { $0 == part } } || last == "ping"
    }
    let actions = [
      "countTokens", "batchEmbedContents", "embedContent", "asyncBatchEmbedContent",
    ]
    if actions.contains(where: { last.hasSuffix(":\($0)") }) { return true }
    let known = [
      "apply-template", "count_tokens", "detokenize", "embed", "embeddings", "files",
      "input_tokens",
      "moderations", "rerank", "show", "speech", "tokenize", "transcriptions", "translations",
    ]
    return known.contains { $0 == last }
  }
}
