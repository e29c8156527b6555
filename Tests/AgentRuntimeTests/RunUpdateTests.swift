import AgentRuntime
import AgentTrace
import Synchronization
import TestSupport
import Testing

@Suite("Live events of a run")
struct RunUpdateTests {
  /// A model that writes its reply in parts.
  private struct Writer: Model {
    var parts: [String]

    func reply(to request: ModelRequest) async -> ModelAnswer {
      for part in parts { RunProgress.report(part) }
      return ModelAnswer(reply: ["text": .string(parts.joined())])
    }
  }

  /// A text in pieces of 1 to 9 characters.
  private static func cut(_ text: String, _ generator: inout Seeded) -> [String] {
    let characters = Array(text)
    var parts: [String] = []
    var start = 0
    while start < characters.count {
      let end = min(characters.count, start + Int.random(in: 1...9, using: &generator))
      parts.append(String(characters[start..<end]))
      start = end
    }
    return parts
  }

  private static func run(
    _ model: some Model, inWords: Bool = false
  ) async throws -> (events: [Event], told: [RunUpdate]) {
    let agent = AgentDefinition.replying(answer("unused"), tools: [])
    let boundary = AssembledBoundary(
      clock: FixedClock(), identifiers: SeededRunIDs(seed: 1), model: model, tools: [:], person: nil
    )
    let runtime = try Runtime(agent: agent, boundary: boundary)
    let sink = InMemoryEventSink()
    let updates = runtime.events(inWords: inWords)
    let listener = Task {
      var told: [RunUpdate] = []
      for await update in updates { told.append(update) }
      return told
    }
    _ = try await runtime.run(.init(goal: "write", runId: boundary.makeRunID()), into: sink)
    return (sink.events, await listener.value)
  }

  @Test("a listener gets every event in order and its end, and progress before what it is part of")
  func order() async throws {
    let (events, told) = try await Self.run(Writer(parts: ["one\ntw", "o\nthree"]))
    #expect(told.compactMap { if case .event(let event) = $0 { event } else { nil } } == events)
    let texts = told.map { update in
      switch update {
      case .event(let event): event.type.rawValue
      case .progress(let progress): progress.text
      }
    }
    #expect(
      texts == [
        "run_started", "context_built", "one", "two", "three", "model_result", "decision", "stop",
      ])
    #expect(
      events.allSatisfy { !String(decoding: $0.encodedLine(), as: UTF8.self).contains("progress") })
  }

  @Test(
    "each listener gets all of it, one that comes later the rest, and one that goes away holds nothing up"
  )
  func listeners() async throws {
    let agent = AgentDefinition.replying(calls("look 1", "look 2"), answer("done"))
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1))
    let runtime = try Runtime(agent: agent, boundary: boundary)
    let (first, second, gone) = (runtime.events, runtime.events, runtime.events)
    Task { for await _ in gone { break } }
    let late = Mutex<AsyncStream<RunUpdate>?>(nil)
    let sink = InMemoryEventSink()
    _ = try await runtime.run(
      .init(goal: "look", runId: "r"), into: sink,
      observe: { event in
        if event.type == .decision, event.step == 2 { late.withLock { $0 = runtime.events } }
      })
    func events(_ stream: AsyncStream<RunUpdate>) async -> [Int] {
      var seqs: [Int] = []
      for await case .event(let event) in stream { seqs.append(event.seq) }
      return seqs
    }
    #expect(await events(first) == sink.events.map(\.seq))
    #expect(await events(second) == sink.events.map(\.seq))
    let rest = try #require(late.withLock { $0 })
    let seqs = await events(rest)
    #expect(seqs == sink.events.map(\.seq).suffix(seqs.count) && !seqs.isEmpty)
  }

  @Test("by the word, the texts are what was said, and each word comes once white space follows it")
  func words() async throws {
    var generator = Seeded(seed: 5)
    let pieces = [
      "one ", "two", " three\n", "it's ", "\"a b c\" ", "'quoted words' ", "x", "\n\n", "é ",
      "`code of it` ",
      "don't ", "end.", String(repeating: "long line of words ", count: 40), "\"never closed ",
    ]
    for seed in 0..<TestRun.count(60, long: 2_000) {
      let said = (0..<(seed % 40)).map { _ in pieces.randomElement(using: &generator) ?? "" }
      let text = said.joined()
      // A reply in which nothing is said is no answer: the model is asked again.
      guard text.isEmpty || !text.allSatisfy(\.isWhitespace) else { continue }
      let parts = Self.cut(text, &generator)
      let (_, told) = try await Self.run(Writer(parts: parts), inWords: true)
      let texts = told.compactMap { update -> String? in
        if case .progress(let progress) = update { progress.text } else { nil }
      }
      #expect(texts.joined() == text, "seed \(seed)")
      for (text, next) in zip(texts, texts.dropFirst()) {
        let opens = next.first.map { "\"'`".contains($0) } ?? false
        #expect(text.last?.isWhitespace == true || opens, "\(text.debugDescription)")
      }
    }
    let (_, told) = try await Self.run(
      Writer(parts: ["one ", "two ", "three", " four "]), inWords: true)
    #expect(
      told.compactMap { if case .progress(let progress) = $0 { progress.text } else { nil } }
        == ["one ", "two ", "three four "])
  }

  @Test(
    "a long text comes whole by the word, in one line and in many, and a quotation mark that nobody closes holds up 8 KiB of it"
  )
  func longWords() async throws {
    var generator = Seeded(seed: 7)
    let words = String(repeating: "some words of it ", count: TestRun.count(800, long: 6_000))
    for text in [
      words, words.replacing("of it ", with: "of it\n"), "he said: \"" + words, "one 'two " + words,
    ] {
      let parts = Self.cut(text, &generator)
      let (_, told) = try await Self.run(Writer(parts: parts), inWords: true)
      let texts = told.compactMap { update -> String? in
        if case .progress(let progress) = update { progress.text } else { nil }
      }
      #expect(texts.joined() == text)
      // Not all at the end.
      #expect(texts.count > 400 && texts.allSatisfy { $0.utf8.count < 16 << 10 })
    }
  }

  @Test("of a key of many lines, longer than what is looked at again, no line is told by the word")
  func longKey() async throws {
    var generator = Seeded(seed: 11)
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    let lines = (0..<160).map { _ in
      String((0..<64).map { _ in letters.randomElement(using: &generator) ?? "A" })
    }
    let text =
      String(repeating: "words before it ", count: 300) + "\n-----BEGIN RSA PRIVATE KEY-----\n"
      + lines.joined(separator: "\n") + "\n-----END RSA PRIVATE KEY-----\nand behind it\n"
    for inWords in [true, false] {
      let parts = Self.cut(text, &generator)
      let (_, told) = try await Self.run(Writer(parts: parts), inWords: inWords)
      var shown = ""
      for case .progress(let progress) in told { shown += progress.text }
      #expect(shown.hasPrefix("words before it words") && shown.contains("and behind it"))
      #expect(!lines.contains { shown.contains($0) }, "in words: \(inWords)")
    }
  }

  @Test("by the word as by the line, a secret is in no progress, wherever its parts are cut")
  func secretsInWords() async throws {
    var generator = Seeded(seed: 3)
    for form in 0..<TestRun.count(70, long: 3_000) {
      let (secret, said) = SeededSecret.make(form, &generator)
      let text = "First line\nthen \(said) and\nmore\n"
      let parts = Self.cut(text, &generator)
      let (_, told) = try await Self.run(Writer(parts: parts), inWords: true)
      var shown = ""
      for case .progress(let progress) in told { shown += progress.text }
      #expect(shown.hasPrefix("First line\n") && shown.hasSuffix("more\n"))
      #expect(!shown.contains(secret), "\(said)")
      // Nor is the beginning of it: what is told of it word by word.
      for word in secret.split(whereSeparator: \.isWhitespace) where word.utf8.count >= 8 {
        #expect(!shown.contains(word), "\(said)")
      }
    }
  }

  @Test("a secret is in no progress, wherever its parts are cut")
  func secrets() async throws {
    var generator = Seeded(seed: 2)
    for form in 0..<TestRun.count(60, long: 2_000) {
      let (secret, said) = SeededSecret.make(form, &generator)
      let text = "First line\nthen \(said) and\nmore\n"
      let parts = Self.cut(text, &generator)
      let (_, told) = try await Self.run(Writer(parts: parts))
      let progress = told.compactMap { update -> String? in
        if case .progress(let progress) = update { progress.text } else { nil }
      }
      #expect(progress.first == "First line" && progress.last == "more")
      #expect(!progress.joined(separator: "\n").contains(secret), "\(said)")
    }
  }

  @Test("who asks for events behind the end of a run gets an end, and those of the next run")
  func behindTheEnd() async throws {
    let agent = AgentDefinition.replying(answer("done"), tools: [])
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1))
    let shared = try Runtime(agent: agent, boundary: boundary)
    // From another task, as only what is Sendable can be used.
    try await Task.detached {
      _ = try await shared.run(goal: "one", into: InMemoryEventSink())
      for await update in shared.events { Issue.record("\(update) behind the end") }
      let next = Mutex<AsyncStream<RunUpdate>?>(nil)
      _ = try await shared.run(
        goal: "two", into: InMemoryEventSink(),
        observe: { _ in next.withLock { $0 = $0 ?? shared.events } })
      var count = 0
      for await _ in try #require(next.withLock { $0 }) { count += 1 }
      #expect(count > 1)
    }.value
  }
}
