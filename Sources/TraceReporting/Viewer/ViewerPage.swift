import AgentTrace

/// One run as one HTML page that needs nothing else: its log's bytes, and a script that checks them and
/// shows the run as a debugger would.
///
/// The page reaches no network. Its policy allows its own style and its own script, by their digests,
/// and nothing besides; and nothing may turn a text into markup (Trusted Types). The log stands in it
/// byte for byte as base64, which has no character that HTML knows, so that nothing of a trace is markup
/// anywhere.
public struct ViewerPage: Sendable {
  /// The most bytes of a log that a page holds.
  public static let limitBytes = 32 << 20
  /// The most events of one.
  public static let limitEvents = 200_000

  private let name: String
  private let version: String
  private let isOpen: Bool
  private let links: [Link]

  /// Another page beside this one: of the run that called this one, or of one that it called.
  public struct Link: Sendable, Hashable {
    /// What is said of it: the tool, and the call.
    public var text: String
    /// The name of its file.
    public var file: String

    /// A page in the same folder, whatever its name holds.
    public init(_ text: String, file: String) {
      self.text = text
      self.file = file
    }
  }

  /// - Parameters:
  ///   - name: what the page is called: the log's file name.
  ///   - version: of this program.
  ///   - isOpen: whether a writer holds the log, or left it behind: it may end anywhere then.
  ///   - links: pages of other runs of its tree, in the order in which they are shown.
  public init(name: String, version: String, isOpen: Bool = false, links: [Link] = []) {
    self.name = name
    self.version = version
    self.isOpen = isOpen
    self.links = links
  }

  /// The page of a log, whole or damaged: what cannot be read the page says itself.
  ///
  /// - Parameter log: the bytes of the file.
  public func bytes(ofLog log: [UInt8]) -> [UInt8] {
    let (head, tail) = frame
    var page = Array(head.utf8)
    page.reserveCapacity(head.utf8.count + tail.utf8.count + log.count / 3 * 4 + 8)
    Base64.append(log, to: &page)
    page += Array(tail.utf8)
    return page
  }

  /// Only what the page itself brings along; no address of any kind.
  static var policy: String {
    "default-src 'none'; style-src '\(HTML.source(style))'; script-src '\(HTML.source(script))'; "
      + "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
      + "trusted-types 'none'"
  }

  static let script =
    ViewerBytes.script + ViewerLog.script + ViewerTimeline.script + ViewerScreen.script
  static let style = ViewerStyle.style

  private var frame: (head: String, tail: String) {
    let head = """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" content="\(Self.policy)">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="referrer" content="no-referrer">
      <title>\(HTML.line(name, width: 200))</title>
      <style>\(Self.style)</style>
      </head>
      <body data-state="reading">
      <header>
      <div id="names"><h1 id="run">\(HTML.line(name, width: 200))</h1><p id="goal"></p></div>
      <span id="said" role="status">reading …</span>
      <button id="seals" type="button" title="What was checked">checking …</button>
      <input id="search" type="search" placeholder="Search ( / )" aria-label="Search">
      <button id="theme" type="button" title="Light or dark (m)" aria-label="Light or dark">◐</button>
      <button id="ask" type="button" title="Keys (?)" aria-label="Keys">?</button>
      </header>
      \(linked)<div id="band">
      <canvas id="chart" role="img" aria-label="What each step used"></canvas>
      <div id="measures">
      <button type="button" data-measure="tokens" aria-pressed="true">tokens</button>
      <button type="button" data-measure="cost" aria-pressed="false">cost</button>
      <button type="button" data-measure="time" aria-pressed="false">time</button>
      </div>
      </div>
      <main>
      <div id="list" role="listbox" aria-label="Timeline" tabindex="0"><div id="space"></div></div>
      <article id="event" aria-live="off"></article>
      </main>
      <footer id="state" aria-label="State and budget"></footer>
      <dialog id="help">
      <h2>Keys</h2>
      <table>
      \(Self.keys.map { "<tr><td>\($0)</td><td>\($1)</td></tr>" }.joined(separator: "\n"))
      </table>
      <form method="dialog"><button>close</button></form>
      <p class="faint">agent-eval \(HTML.line(version))</p>
      </dialog>
      <dialog id="checked">
      <h2>What was checked</h2>
      <div id="findings"></div>
      <form method="dialog"><button>close</button></form>
      </dialog>
      <noscript><p>This page reads its log with a script of its own; without scripts it shows nothing.
      <code>agent-eval show</code> prints the same run.</p></noscript>
      <script type="application/octet-stream" data-open="\(isOpen)" id="log">
      """
    return (head, "</script>\n<script>\(Self.script)</script>\n</body>\n</html>\n")
  }

  private var linked: String {
    guard !links.isEmpty else { return "" }
    let anchors = links.map { link in
      // A dot and a slash before it: no name is an address.
      "<a href=\"./\(Markup.uri(link.file, keepsSlashes: false))\">\(HTML.line(link.text, width: 120))</a>"
    }
    return
      "<nav id=\"tree\" aria-label=\"Runs of the tree\">\(anchors.joined(separator: "\n"))</nav>\n"
  }

  private static let keys: [(String, String)] = [
    ("j k ↓ ↑", "next and previous event"), ("J K } { → ←", "next and previous step"),
    ("g G", "first and last event"), ("c r", "next and previous denial, question, error or stop"),
    ("/ then n N", "search all that the events say; next and previous match"),
    ("space, Enter", "fold the step, or open it"), ("z", "fold all steps, or open them"),
    ("f", "all that the model saw, or only what is new"),
    ("Page Down, Page Up", "scroll the event"), ("y", "copy the event as JSON"),
    ("m", "light or dark"), ("? h", "these keys"),
  ]
}
