import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@testable import TraceReporting

/// A browser without a window, where the machine has one: Debian's `chromium`, or what
/// `AGENT_EVAL_CHROMIUM` names.
enum Chromium {
  static let path: String? = {
    let environment = ProcessInfo.processInfo.environment
    let folders = (environment["PATH"] ?? "").split(separator: ":")
    let names = ["chromium", "chromium-browser", "google-chrome"]
    let found = names.lazy.flatMap { name in folders.map { "\($0)/\(name)" } }
      .first(where: FileManager.default.isExecutableFile(atPath:))
    return environment["AGENT_EVAL_CHROMIUM"] ?? found
  }()

  /// The document as it is once the page's scripts have run.
  static func document(of page: [UInt8], fragment: String = "") async throws -> String {
    let folder = try TemporaryFolder()
    let file = try folder.write("page.html", page)
    let outcome = try await Command(
      program: path ?? "",
      arguments: [
        "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(folder.path("data"))",
        "--virtual-time-budget=60000", "--window-size=1280,800", "--dump-dom",
        "file://\(file)\(fragment)",
      ], timeoutSeconds: 110
    ).run()
    return outcome.output
  }
}

extension String {
  /// The value of an attribute of the document's body.
  fileprivate func bodyAttribute(_ name: String) -> String? {
    guard let start = range(of: "<body"),
      let end = range(of: ">", range: start.upperBound..<endIndex)
    else { return nil }
    let tag = self[start.upperBound..<end.lowerBound]
    guard let value = tag.range(of: " \(name)=\"") else { return nil }
    return String(tag[value.upperBound...].prefix { $0 != "\"" })
  }
}

/// Texts that would act if they became markup, a script, or a part of another text.
private let hostileTexts = [
  "</script><script>document.body.dataset.owned = 1</script>",
  "<img src=x onerror=\"document.body.dataset.owned = 2\">", "<!--", "]]>", "\u{202e}evil\u{2066}",
  "\u{0}\u{1b}[2J\u{9b}\r\n\t\u{7f}\u{200b}", "javascript:document.body.dataset.owned=3",
  "${document.body.dataset.owned = 4}", "'\"`\\", "__proto__", "constructor",
]

/// A run in which every text is hostile, also names and keys.
///
/// - Parameter length: that of its longest word.
private func hostileEvents(longest length: Int = 1 << 19) -> [Event] {
  let hostileTexts = hostileTexts + [String(repeating: "w", count: length)]
  var events = [
    Event(
      seq: 0, step: 0, type: .runStarted, runId: hostileTexts[0],
      data: [
        "formatVersion": 2, "agent": ["name": .string(hostileTexts[1])],
        "goal": .string(hostileTexts[0]),
      ])
  ]
  func add(_ step: Int, _ type: EventType, _ data: JSONObject) {
    events.append(
      Event(
        seq: events.count, step: step, type: type, runId: hostileTexts[0], time: hostileTexts[1],
        t: events.count, data: data))
  }
  for (number, text) in hostileTexts.enumerated() {
    let (step, hostile) = (number + 1, JSONValue.string(text))
    let message: JSONValue = ["role": hostile, "content": [["type": "text", "text": hostile]]]
    add(
      step, .contextBuilt,
      [
        "runId": "r", "goal": hostile, "prompt": ["messages": [message, message]],
        "included": [["ref": hostile, "reason": hostile]], "toolsDisclosed": [hostile],
      ])
    let call: JSONValue = ["callId": hostile, "name": hostile, "input": [text: [hostile, 59.90]]]
    add(step, .decision, ["kind": "tool", "calls": [call], "caller": hostile])
    add(
      step, .policyDecision,
      ["callId": hostile, "tool": hostile, "status": "deny", "reason": hostile, "ruleId": hostile])
    add(
      step, .toolResult,
      ["callId": hostile, "tool": hostile, "status": "ok", "data": [text: .bytes([0xff, 0x3c])]])
    add(step, EventType(rawValue: text.prefix(40) + "x"), [text: hostile])
  }
  return events
}

private func log(of events: [Event], in folder: TemporaryFolder, blockBytes: Int = 4_096) throws
  -> String
{
  let writer = try LogWriter(
    creating: folder.path("run.jsonl.gz"), options: .init(blockBytes: blockBytes))
  for event in events { try writer.append(event, isEffectAhead: false) }
  return try writer.close().path
}

@Suite("The viewer file, byte by byte")
struct ViewerPageTests {
  private static let page = ViewerPage(name: "a<b>\u{202e}&\"'.jsonl.gz", version: "1")

  @Test("of a log nothing is in the page but base64, and of its name only text")
  func bytes() throws {
    let folder = try TemporaryFolder()
    let bytes = [UInt8](
      try Data(contentsOf: URL(fileURLWithPath: try log(of: hostileEvents(), in: folder))))
    let page = String(decoding: Self.page.bytes(ofLog: bytes), as: UTF8.self)
    let parts = page.components(separatedBy: "id=\"log\">")
    #expect(parts.count == 2)
    let block = parts[1].prefix { $0 != "<" }
    #expect(Base64.decode(String(block)) == bytes)
    let rest = parts[0] + parts[1].dropFirst(block.count)
    for word in ["owned", "evil", "onerror", "\u{202e}", "a<b>"] { #expect(!rest.contains(word)) }
    #expect(rest.components(separatedBy: "<script").count == 3)
    #expect(rest.components(separatedBy: "</script").count == 3)
    #expect(rest.contains("<title>a&lt;b&gt;\\u{202e}&amp;&quot;&#39;.jsonl.gz</title>"))
  }

  @Test("the policy allows the page's own style and script and nothing else")
  func policy() {
    let policy = ViewerPage.policy
    #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
    for word in ["http", "unsafe", "data:", "blob:", "*"] { #expect(!policy.contains(word)) }
    #expect(policy.components(separatedBy: "sha256-").count == 3)
    let page = String(decoding: Self.page.bytes(ofLog: []), as: UTF8.self)
    #expect(page.contains("<script>\(ViewerPage.script)</script>"))
    #expect(page.contains("<style>\(ViewerPage.style)</style>"))
    for word in ["http:", "https:", "//cdn", "@import", "url("] { #expect(!page.contains(word)) }
  }

  @Test(
    "no line of the script makes markup, an address, or runs a text",
    arguments: [
      "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", ".href",
      ".src", "fetch(", "XMLHttp", "import(", "setAttribute(\"on", "localStorage", "WebSocket",
    ])
  func sinks(word: String) {
    #expect(!ViewerPage.script.contains(word))
  }
}

@Suite(
  "The viewer file in a browser",
  .enabled(if: Chromium.path != nil, "skipped: there is no Chromium on this machine"), .serialized)
struct ViewerBrowserTests {
  private static func page(of path: String) throws -> [UInt8] {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    return ViewerPage(name: "run", version: "1").bytes(ofLog: bytes)
  }

  /// A page that only prints what the viewer's script reads of logs: each event's data as hexadecimal
  /// text, logs apart by a bar, and what it found wrong.
  private static func reading(
    of paths: [String], each: String = "", then more: String = ""
  ) throws -> [UInt8] {
    let texts = try paths.map { path in
      var text: [UInt8] = []
      Base64.append([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))), to: &text)
      return "\"\(String(decoding: text, as: UTF8.self))\""
    }
    return Array(
      """
      <!DOCTYPE html><body><script>
      \(ViewerBytes.script)\(ViewerLog.script)\(ViewerTimeline.script)
      const hex = (text) => Array.from(encoder.encode(text), (byte) =>
        byte.toString(16).padStart(2, "0")).join("");
      (async () => {
        const [read, checks, rows] = [[], [], []];
        let log;
        for (const text of [\(texts.joined(separator: ","))]) {
          log = new Log(decodeBase64(text), true);
          await log.read((index) => {
            const line = log.raw(index, false);
            if (line.type === "context_built") log.addItems(index, line.data);
          }, async () => {});
          read.push(log.lines.map((_, index) => hex(compact(log.data(index, true)))).join(" "));
          checks.push(log.check);
          \(each)
        }
        document.body.dataset.checks = hex(JSON.stringify(checks));
        \(more)
        document.body.textContent = read.join("|");
      })();
      </script></body>
      """.utf8)
  }

  private static func value(ofHex text: some StringProtocol) throws -> JSONValue {
    let digits = Array(text.utf8)
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { index in
      UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16) ?? 0
    }
    return try JSONValue(parsing: bytes)
  }

  /// What the script reads must be what the reader of logs reads.
  private static func compare(_ paths: [String]) async throws {
    let document = try await Chromium.document(of: try reading(of: paths))
    let body = document.components(separatedBy: "<body").last ?? ""
    let text = body.prefix { $0 != "<" }.drop { $0 != ">" }.dropFirst()
    let logs = text.split(separator: "|", omittingEmptySubsequences: false)
    let checks = try value(ofHex: document.bodyAttribute("data-checks") ?? "").arrayValue ?? []
    try #require(logs.count == paths.count && checks.count == paths.count)
    for (index, path) in paths.enumerated() {
      let read = try logs[index].split { " \n".contains($0) }.map { try value(ofHex: $0) }
      var reader = try LogReader(path: path)
      var expected: [JSONValue] = []
      while let event = try reader.next() {
        expected.append(
          try JSONValue(parsing: CanonicalJSON.encode(.object(event.data), form: .plain)))
      }
      #expect(read.count == expected.count, "\(path)")
      for (seq, pair) in zip(read, expected).enumerated() where pair.0 != pair.1 {
        Issue.record(
          "\(path), event \(seq): \(pair.0.description.prefix(300)) is not \(pair.1.description.prefix(300))"
        )
      }
      #expect(checks[index]["problem"] == .null, "\(path)")
      #expect(checks[index]["ending"] == (reader.ending == .closed ? "closed" : "torn"))
    }
  }

  @Test("the page reads every recorded run as the reader of logs does")
  func fixtures() async throws {
    let files =
      Project.files(below: "Fixtures/runs", ending: ".jsonl.gz")
      + Project.files(below: "Fixtures/torn")
    try await Self.compare(files.map(Project.path))
  }

  @Test("so it does a hostile run, and one that repeats itself")
  func references() async throws {
    let folder = try TemporaryFolder()
    var events = hostileEvents(longest: 5_000)
    let long = String(repeating: "said before, ", count: 40)
    for number in 0..<25 {
      let data: JSONObject = [
        "text": .string(long),
        "more": ["$same": "1/x", "$list": [1], "n": 59.90, "long": .string(long)],
        "keys": ["2": 1, "1": 2, "$$bytes": "x"], "big": .array([.string(long + "\(number % 7)")]),
      ]
      events.append(
        Event(seq: events.count, step: 99, type: .modelResult, runId: "r", data: data))
      events.append(
        Event(
          seq: events.count, step: 99, type: .contextBuilt, runId: "r",
          data: [
            "runId": "r",
            "prompt": [
              "messages": .array(
                (0...number).map {
                  [.string(long), JSONValue($0)] == []
                    ? .null : ["role": "user", "n": JSONValue($0), "text": .string(long)]
                })
            ],
            "toolsDisclosed": ["a", "b"],
            "evidenceRefs": .array((0..<(number % 9)).map { .string("e\($0)") }),
          ]))
    }
    let other = try TemporaryFolder()
    try await Self.compare([
      try log(of: hostileEvents(longest: 5_000), in: folder), try log(of: events, in: other),
    ])
  }

  @Test("its timeline says what the terminal's says")
  func timeline() async throws {
    let files = Project.files(below: "Fixtures/runs", ending: ".jsonl.gz").map(Project.path)
    let document = try await Chromium.document(
      of: try Self.reading(
        of: files,
        each: """
          rows.push(log.lines.map((_, index) => {
            const line = log.raw(index, false);
            return tell(line.type, log.asTold(index, line.type, log.data(index, false)), line);
          }));
          """, then: "document.body.dataset.rows = hex(JSON.stringify(rows));"))
    let runs = try Self.value(ofHex: document.bodyAttribute("data-rows") ?? "").arrayValue ?? []
    try #require(runs.count == files.count)
    let teller = Timeline(painter: plain)
    for (run, path) in zip(runs, files) {
      var reader = try LogReader(path: path)
      while let event = try reader.next() {
        let told = teller.tell(event).map { entry in
          [entry.label, HTML.role(entry.role), String(entry.text.prefix(300))]
        }
        // What the terminal tells by another line has one of its own here.
        guard !told.isEmpty else { continue }
        let rows = (run[event.seq]?.arrayValue ?? []).map { row in
          (0..<3).map { String((row[$0]?.stringValue ?? "").prefix(300)) }
        }
        #expect(rows == told, "\(path), event \(event.seq)")
      }
    }
  }

  @Test("a changed byte of a line breaks its seal, wherever it stands")
  func forgery() async throws {
    let path = Project.path("Fixtures/runs/refund-approved.jsonl.gz")
    let document = try await Chromium.document(
      of: try Self.reading(
        of: [path],
        then: """
          let [tried, found] = [0, 0];
          const none = { digest: ZEROS, line: new Uint8Array(0) };
          const whole = log.blocks[0];
          const take = (text) => new Log(bytesOfNothing).take(text, false, 0, 0, none, () => {});
          const bytesOfNothing = new Uint8Array(0);
          document.body.dataset.untouched = take(whole.slice()).reason === undefined;
          for (let at = 7; at < whole.length; at += 37) {
            const text = whole.slice();
            text[at] ^= 1;
            tried += 1;
            if (take(text).reason !== undefined) found += 1;
          }
          document.body.dataset.tried = tried;
          document.body.dataset.found = found;
          """))
    #expect(document.bodyAttribute("data-untouched") == "true")
    let tried = try #require(Int(document.bodyAttribute("data-tried") ?? ""))
    #expect(tried > 100 && document.bodyAttribute("data-found") == "\(tried)")
  }

  @Test("damage is found and named, and the events before it are shown")
  func damage() async throws {
    let path = Project.path("Fixtures/runs/hundred-steps.jsonl.gz")
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let places = [bytes.count / 2, 20, 100, bytes.count - 100, bytes.count - 3]
    for at in places.prefix(TestRun.count(2, long: 5)) {
      var broken = bytes
      broken[at] ^= 0x10
      let page = ViewerPage(name: "run", version: "1").bytes(ofLog: broken)
      let document = try await Chromium.document(of: page)
      #expect(document.bodyAttribute("data-seals") == "broken", "byte \(at)")
      #expect(document.contains("broken at block"), "byte \(at)")
      #expect(document.bodyAttribute("data-state") == "ready")
    }
  }

  @Test(
    "hostile texts are shown and nothing more: no script of theirs runs, no mark of theirs acts")
  func hostile() async throws {
    let folder = try TemporaryFolder()
    let events = hostileEvents()
    let page = try Self.page(of: try log(of: events, in: folder))
    for fragment in ["", "#e1", "#e2", "#e3", "#e4", "#e5", "#e56", "#e57", "#e58", "#e59", "#e60"]
    {
      let document = try await Chromium.document(of: page, fragment: fragment)
      #expect(document.bodyAttribute("data-state") == "ready", "\(fragment)")
      #expect(document.bodyAttribute("data-seals") == "whole")
      #expect(document.bodyAttribute("data-events") == "\(events.count)")
      #expect(document.bodyAttribute("data-owned") == nil)
      #expect(!document.contains("<img") && !document.contains("\u{202e}"))
      #expect(document.components(separatedBy: "<script").count == 2)
    }
  }

  @Test("keys lead through the run")
  func keys() async throws {
    let path = Project.path("Fixtures/runs/refund-approved.jsonl.gz")
    let given = String(decoding: try Self.page(of: path), as: UTF8.self)
    // The policy would not let this test's own script run.
    let policy = try #require(
      given.range(of: "<meta http-equiv[^>]*>", options: .regularExpression))
    let keys = [
      "j", "j", "k", "J", "J", "K", "G", "g", "c", "c", "r", "z", "j", "z", "f", "m", "?",
    ]
    let script = """
      <script>
      const led = [];
      const press = (key) => {
        document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        led.push(document.body.dataset.seq);
      };
      const wait = setInterval(() => {
        if (document.body.dataset.state !== "ready") return;
        clearInterval(wait);
        for (const key of \(JSONValue(keys).description)) press(key);
        document.body.dataset.led = led.join(" ");
        document.body.dataset.theme = document.documentElement.dataset.theme;
        document.body.dataset.help = document.getElementById("help").open;
        document.getElementById("help").close();
        const search = document.getElementById("search");
        search.value = "GOODS came";
        search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        setTimeout(() => { document.body.dataset.found = document.body.dataset.seq; }, 100);
      }, 10);
      </script></body>
      """
    let page = given.replacingCharacters(in: policy, with: "")
      .replacingOccurrences(of: "</body>", with: script)
    let document = try await Chromium.document(of: Array(page.utf8))
    #expect(
      document.bodyAttribute("data-led") == "1 2 1 7 15 7 18 0 10 18 10 10 15 15 15 15 15")
    #expect(document.bodyAttribute("data-help") == "true")
    #expect(["light", "dark"].contains(document.bodyAttribute("data-theme") ?? ""))
    #expect(document.bodyAttribute("data-found") == "11")
  }

  @Test("a run of 10,000 events opens with no more rows than are seen")
  func many() async throws {
    let folder = try TemporaryFolder()
    let long = String(repeating: "word ", count: 100)
    let events = (0..<10_000).map { seq -> Event in
      let step = seq / 4 + 1
      let id = JSONValue.string("\(step).1.0")
      let data: JSONObject
      let type: EventType
      switch seq % 4 {
      case 0 where seq == 0:
        (type, data) = (.runStarted, ["formatVersion": 2, "goal": "much", "agent": ["name": "a"]])
      case 0:
        (type, data) = (
          .contextBuilt,
          [
            "runId": "r",
            "prompt": [
              "messages": .array(
                (0..<(step % 40)).map {
                  ["role": "user", "content": [["type": "text", "text": .string("\($0)" + long)]]]
                })
            ],
          ]
        )
      case 1:
        (type, data) = (
          .modelResult,
          [
            "purpose": "decide", "attempt": 1,
            "usage": ["inputTokens": JSONValue(step), "outputTokens": 3],
          ]
        )
      case 2:
        (type, data) = (
          .decision,
          [
            "kind": "tool",
            "calls": [["callId": id, "name": "look", "input": ["n": JSONValue(seq)]]],
          ]
        )
      default:
        (type, data) = (
          .toolResult,
          ["callId": id, "tool": "look", "status": "ok", "data": .string("\(seq)" + long)]
        )
      }
      return Event(
        seq: seq, step: seq == 0 ? 0 : step, type: type, runId: "r", t: seq * 100, data: data)
    }
    let document = try await Chromium.document(
      of: try Self.page(of: try log(of: events, in: folder, blockBytes: 1 << 18)),
      fragment: "#e9000")
    #expect(document.bodyAttribute("data-state") == "ready")
    #expect(document.bodyAttribute("data-events") == "10000")
    #expect(document.bodyAttribute("data-seq") == "9000")
    #expect(document.bodyAttribute("data-seals") == "whole")
    let rows = document.components(separatedBy: "role=\"option\"").count - 1
    #expect((20...80).contains(rows), "\(rows)")
  }
}
