import AgentRuntime
import AgentTrace
import Foundation
import LiveBoundary
import Synchronization
import TestSupport
import Testing

#if Live
  @Suite("Conversations side by side", .serialized)
  struct ConversationTests {
    private static let tool =
      #","tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]"#

    private static func quoted(_ text: String) -> String {
      CanonicalJSON.string(.string(text), form: .plain)
    }

    /// Asks, has the tool called that the reply names, and tells what came of it under the reply's own id.
    private static func converse(
      _ system: String, _ user: String, tools: String = tool, port: Int
    ) -> String {
      var messages = [
        #"{"role":"system","content":\#(quoted(system))}"#,
        #"{"role":"user","content":\#(quoted(user))}"#,
      ]
      for _ in 0..<4 {
        let reply = ask(messages, tools: tools, port: port)
        guard let message = reply["choices"]?[0]?["message"],
          let call = message["tool_calls"]?[0], let id = call["id"]?.stringValue
        else { return reply["choices"]?[0]?["message"]?["content"]?.stringValue ?? "nothing" }
        messages.append(CanonicalJSON.string(message, form: .plain))
        messages.append(#"{"role":"tool","tool_call_id":"\#(id)","content":"result of \#(id)"}"#)
      }
      return "never"
    }

    private static func ask(_ messages: [String], tools: String, port: Int) -> JSONValue {
      let client = RawClient(port: port)
      client.send(
        ProxyTests.post(
          ProxyTests.path,
          ProxyTests.chat("[\(messages.joined(separator: ","))]", more: tools),
          headers: "Connection: close\r\n", port: port))
      let all = client.receiveAll()
      guard let end = all.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return .null }
      return (try? JSONValue(parsing: Array(all[end...]))) ?? .null
    }

    /// Each conversation gets a call with an id of its own, then an answer that names what it was told.
    ///
    /// - Parameters:
    ///   - count: how many have to have begun before the first of them goes on.
    ///   - id: of every call; `nil` for one of its own each.
    private static func server(atOnce count: Int = 0, id: String? = nil) throws -> FakeServer {
      let begun = Mutex(0)
      return try FakeServer { request, reply in
        if !request.text.contains("\"tool\"") { begun.withLock { $0 += 1 } }
        for _ in 0..<500 where begun.withLock({ $0 }) < count {
          Thread.sleep(forTimeInterval: 0.01)
        }
        Thread.sleep(forTimeInterval: 0.01 * Double(request.number % 3))
        guard let body = try? JSONValue(parsing: request.body),
          let last = body["messages"]?.arrayValue?.last
        else {
          _ = reply.finish(400, body: "{}")
          return
        }
        if last["role"] == "tool" {
          reply.finish(body: ProxyTests.answer(last["content"]?.stringValue ?? ""))
        } else {
          reply.finish(body: ProxyTests.call("look", "{}", id: id ?? "call_\(request.number)"))
        }
      }
    }

    private static func atOnce(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
      let group = DispatchGroup()
      for index in 0..<count {
        let thread = Thread {
          work(index)
          group.leave()
        }
        group.enter()
        thread.start()
      }
      group.wait()
      // The last replies are recorded behind their last bytes.
      Thread.sleep(forTimeInterval: 0.2)
    }

    @Test("five equal conversations at once are five whole ones")
    func equal() async throws {
      let store = try await ProxyTests().recording(try Self.server(atOnce: 5)) { port in
        Self.atOnce(5) { _ in
          let answer = Self.converse("Be brief.", "What colour?", port: port)
          if !answer.hasPrefix("result of call_") { Issue.record("\(answer)") }
        }
      }
      try Self.checkWhole(store, count: 5)
    }

    @Test(
      "sixty different ones at once are sixty, whatever order they come in, each by its own name",
      arguments: [nil, "call_0"])
    func different(id: String?) async throws {
      var names: [[String: String]] = []
      for round in 0..<2 {
        let store = try await ProxyTests().recording(try Self.server(id: id)) { port in
          Self.atOnce(60) { index in
            // The other way round the second time.
            let number = round == 0 ? index : 59 - index
            _ = Self.converse("You are number \(number).", "Go \(number)", port: port)
          }
        }
        try Self.checkWhole(store, count: 60)
        names.append(Self.names(store))
      }
      // But for the agent itself, which is the first to come.
      let common = names[0].filter { $0.value != "agent" && names[1][$0.key] != "agent" }
      #expect(common.count >= 58)
      for (goal, name) in common { #expect(names[1][goal] == name) }
    }

    /// Who was asked what, each in all of its steps.
    private static func names(_ store: ProxyTests.EventStore) -> [String: String] {
      var names: [String: String] = [:]
      var goals: [Int: String] = [:]
      for event in store.all {
        if event.type == .contextBuilt { goals[event.step] = event.data["goal"]?.stringValue }
        if event.type == .decision, let goal = goals[event.step] {
          let name = event.data["caller"]?.stringValue ?? "agent"
          #expect(names[goal] ?? name == name)
          names[goal] = name
        }
      }
      return names
    }

    /// Each conversation has one call, its result and an answer that tells of it, under one name.
    private static func checkWhole(_ store: ProxyTests.EventStore, count: Int) throws {
      let decisions = store.of(.decision)
      #expect(decisions.count == 2 * count)
      let callers = Set(decisions.map { $0["caller"]?.stringValue ?? "agent" })
      #expect(callers.count == count, "\(callers)")
      for caller in callers {
        let own = decisions.filter { ($0["caller"]?.stringValue ?? "agent") == caller }
        #expect(own.map { $0["kind"] } == ["tool", "answer"])
        let id = own[0]["calls"]?[0]?["providerCallId"]?.stringValue ?? ""
        #expect(own[1]["text"] == .string("result of \(id)"))
      }
      let results = store.of(.toolResult)
      #expect(results.count == count)
      let stop = try #require(store.of(.stop).first)
      #expect(stop["totals"]?["toolCalls"]?.intValue == count)
      #expect(stop["totals"]?["modelCalls"]?.intValue == 2 * count)
      #expect(stop["answer"]?.stringValue?.hasPrefix("result of call_") == true)
      // A folding reader of the log comes to the same.
      let run = Trajectory(of: store.all)
      #expect(run.calls.count == count && run.calls.allSatisfy { $0.status == .ok })
    }

    @Test("a request for a title is not the agent, whether it comes first or last")
    func title() async throws {
      for isFirst in [true, false] {
        let server = try FakeServer { request, reply in
          if request.text.contains("title") {
            reply.finish(body: ProxyTests.answer("A title"))
          } else if request.text.contains("\"tool\"") {
            reply.finish(body: ProxyTests.answer("It is blue."))
          } else {
            reply.finish(body: ProxyTests.call("look", "{}", id: "c1"))
          }
        }
        let store = try await ProxyTests().recording(server) { port in
          func title() {
            _ = Self.ask(
              [#"{"role":"user","content":"Write a title for: What colour?"}"#], tools: "",
              port: port)
          }
          if isFirst { title() }
          _ = Self.converse("Be brief.", "What colour?", port: port)
          if !isFirst { title() }
          Thread.sleep(forTimeInterval: 0.1)
        }
        #expect(store.of(.runStarted).first?["goal"] == "What colour?")
        #expect(store.of(.stop).first?["answer"] == "It is blue.")
        #expect(Trajectory(of: store.all).answer?.text == "It is blue.")
        let titled = try #require(store.of(.decision).first { $0["text"] == "A title" })
        #expect(titled["caller"]?.stringValue?.hasPrefix("agent-") == true)
      }
    }

    @Test("callers and the agent's own conversation are named by what they ask")
    func named() async throws {
      let start: (inout ExchangeRecorder.Start) -> Void = {
        $0.callers = [CallerName("searcher=You search")].compactMap { $0 }
        $0.main = CallerMatcher("You decide")
      }
      let store = try await ProxyTests().recording(try Self.server(), start: start) { port in
        _ = Self.converse("You search.", "Find it", port: port)
        _ = Self.converse("You decide.", "What now?", port: port)
        Thread.sleep(forTimeInterval: 0.1)
      }
      #expect(
        store.of(.decision).map { $0["caller"]?.stringValue } == ["searcher", "searcher", nil, nil])
      #expect(store.of(.runStarted).first?["goal"] == "What now?")
      #expect(store.of(.toolsListed).map { $0["source"] } == ["searcher", "agent"])
    }

    @Test("a conversation that is handed over is the other one's, and its answer the run's")
    func handOff() async throws {
      let server = try FakeServer { request, reply in
        if request.text.contains("You refund.") {
          reply.finish(body: ProxyTests.answer("Refunded."))
        } else {
          reply.finish(body: ProxyTests.call("transfer_to_refunds", "{}", id: "t1"))
        }
      }
      let store = try await ProxyTests().recording(server) { port in
        let asked = #"{"role":"user","content":"Money back!"}"#
        func tools(_ name: String) -> String { Self.tool.replacing("look", with: name) }
        _ = Self.ask(
          [#"{"role":"system","content":"You sort."}"#, asked], tools: tools("transfer_to_refunds"),
          port: port)
        _ = Self.ask(
          [
            #"{"role":"system","content":"You refund."}"#, asked,
            #"{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"transfer_to_refunds","arguments":"{}"}}]}"#,
            #"{"role":"tool","tool_call_id":"t1","content":"refunds"}"#,
          ], tools: tools("refund"), port: port)
        Thread.sleep(forTimeInterval: 0.1)
      }
      let decisions = store.of(.decision)
      #expect(decisions.count == 2 && decisions[0]["caller"] == nil)
      #expect(decisions[1]["caller"]?.stringValue?.hasPrefix("agent-") == true)
      #expect(decisions[1]["ofAgent"] == true)
      #expect(store.of(.stop).first?["answer"] == "Refunded.")
      #expect(Trajectory(of: store.all).answer?.text == "Refunded.")
    }

    @Test("an agent that answers by a call answers by it")
    func answerByCall() async throws {
      let server = try FakeServer { _, reply in
        reply.finish(body: ProxyTests.call("final_answer", #"{"answer":"blue"}"#, id: "f"))
      }
      let start: (inout ExchangeRecorder.Start) -> Void = {
        $0.answerFrom = CommandAgent.AnswerCall("final_answer/answer")
      }
      let store = try await ProxyTests().recording(server, start: start) { port in
        _ = Self.ask([#"{"role":"user","content":"What colour?"}"#], tools: Self.tool, port: port)
        Thread.sleep(forTimeInterval: 0.1)
      }
      #expect(store.of(.stop).first?["answer"] == "blue")
      #expect(Trajectory(of: store.all).answer?.text == "blue")
    }

    @Test("what came of a call is found where it is told in words")
    func toldInWords() async throws {
      let server = try FakeServer { request, reply in
        reply.finish(
          body: request.text.contains("Observation")
            ? ProxyTests.answer("blue") : ProxyTests.call("look", "{}", id: "c7"))
      }
      let store = try await ProxyTests().recording(server) { port in
        let asked = #"{"role":"user","content":"What colour?"}"#
        _ = Self.ask([asked], tools: Self.tool, port: port)
        _ = Self.ask(
          [
            asked,
            #"{"role":"assistant","content":"Calling tools: [{'id': 'c7', 'function': {'name': 'look'}}]"}"#,
            #"{"role":"user","content":"Observation:\nblue"}"#,
          ], tools: Self.tool, port: port)
        Thread.sleep(forTimeInterval: 0.1)
      }
      let result = try #require(store.of(.toolResult).first)
      #expect(result["status"] == "returned" && result["data"] == "Observation:\nblue")
      #expect(store.of(.humanReplied).isEmpty)
      #expect(Set(store.of(.decision).map { $0["caller"]?.stringValue }) == [nil])
    }

    @Test(
      "a call that a request tells of and no reply held was made past the proxy, and is told once")
    func unheldCalls() async throws {
      func made(_ id: String, _ name: String) -> [String] {
        [
          #"{"role":"assistant","content":null,"tool_calls":[{"id":"\#(id)","type":"function","function":{"name":"\#(name)","arguments":"{}"}}]}"#,
          #"{"role":"tool","tool_call_id":"\#(id)","content":"done"}"#,
        ]
      }
      let asked = #"{"role":"user","content":"What colour?"}"#
      let (look, wipe) = (made("c1", "look"), made("x", "wipe"))
      let lookAndWipe: [String] = look + wipe
      let lookTwice: [String] = look + made("c2", "look")
      // Ids of one's own are nothing new, nor is what a conversation begins with.
      let scenes: [(first: [String], others: [[String]], reason: String?)] = [
        ([], [look], nil), ([], [made("own", "look")], nil), (wipe, [wipe], nil),
        ([], [look, lookAndWipe], "(wipe)"), ([], [lookTwice], "(look)"),
      ]
      for (first, others, reason) in scenes {
        let server = try FakeServer { request, reply in
          reply.finish(
            body: request.text.contains("\"tool\"")
              ? ProxyTests.answer("blue") : ProxyTests.call("look", "{}", id: "c1"))
        }
        let store = try await ProxyTests().recording(server) { port in
          _ = Self.ask([asked] + first, tools: Self.tool, port: port)
          for other in others + others.suffix(1) {
            _ = Self.ask([asked] + other, tools: Self.tool, port: port)
          }
          Thread.sleep(forTimeInterval: 0.1)
        }
        let unseen = store.of(.unseen)
        #expect(unseen.count == (reason == nil ? 0 : 1))
        #expect(reason.map { unseen.first?["reason"]?.stringValue?.contains($0) == true } ?? true)
      }
    }

    // MARK: Quick clients

    /// A call in pieces, whose stream stays open for a while when all of it was said.
    ///
    /// - Parameter count: how many clients have asked before the first of them is told anything, so that none
    ///   begins when another is done, as which it would be taken.
    private static func lingering(count: Int) throws -> FakeServer {
      let haveCome = DispatchGroup()
      for _ in 0..<count { haveCome.enter() }
      return try FakeServer { request, reply in
        reply.beginChunks()
        if !request.text.contains("\"tool\"") {
          haveCome.leave()
          _ = haveCome.wait(timeout: .now() + 20)
        }
        if request.text.contains("\"tool\"") {
          reply.chunk(#"data: {"choices":[{"index":0,"delta":{"content":"blue"}}]}"# + "\n\n")
          reply.chunk(
            #"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"# + "\n\n")
        } else {
          reply.chunk(
            #"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c\#(request.number)","type":"function","function":{"name":"look","arguments":"{}"}}]}}]}"#
              + "\n\n")
          reply.chunk(
            #"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"# + "\n\n")
        }
        reply.chunk("data: [DONE]\n\n")
        Thread.sleep(forTimeInterval: 0.2)
        reply.endChunks()
      }
    }

    @Test(
      "a client that asks on at the last word of a stream goes on with its conversation",
      arguments: [1, 8])
    func quick(count: Int) async throws {
      let store = try await ProxyTests().recording(try Self.lingering(count: count)) { port in
        Self.atOnce(count) { _ in
          let asked = #"{"role":"user","content":"What colour?"}"#
          let first = RawClient(port: port)
          first.send(
            ProxyTests.post(
              ProxyTests.path, ProxyTests.chat("[\(asked)]", stream: true, more: Self.tool),
              port: port))
          let said = first.receive(until: "[DONE]")
          let id = said.split(separator: "\"id\":\"").dropFirst().first?.prefix { $0 != "\"" } ?? ""
          // On another connection, while the first is still open.
          let second = RawClient(port: port)
          second.send(
            ProxyTests.post(
              ProxyTests.path,
              ProxyTests.chat(
                "[\(asked),"
                  + #"{"role":"assistant","content":null,"tool_calls":[{"id":"\#(id)","type":"function","function":{"name":"look","arguments":"{}"}}]},"#
                  + #"{"role":"tool","tool_call_id":"\#(id)","content":"result of \#(id)"}]"#,
                stream: true, more: Self.tool), port: port))
          _ = second.receive(until: "[DONE]")
          // Whoever has all of it goes.
          second.close()
          first.close()
        }
        Thread.sleep(forTimeInterval: 0.3)
      }
      let decisions = store.of(.decision)
      #expect(decisions.count == 2 * count)
      let callers = Set(decisions.map { $0["caller"]?.stringValue ?? "agent" })
      #expect(callers.count == count, "\(callers)")
      for caller in callers {
        let own = decisions.filter { ($0["caller"]?.stringValue ?? "agent") == caller }
        #expect(own.map { $0["kind"] } == ["tool", "answer"])
      }
      #expect(store.of(.toolResult).count == count)
      #expect(store.of(.stop).first?["totals"]?["toolCalls"]?.intValue == count)
    }

    @Test("a client that asks the same again at the last word of a stream is the same one")
    func again() async throws {
      let server = try FakeServer { _, reply in
        reply.beginChunks()
        reply.chunk(
          "data: "
            + #"{"id":"r","model":"m","choices":[{"index":0,"delta":{"content":"Blue."},"finish_reason":"stop"}]}"#
            + "\n\ndata: [DO")
        reply.chunk("NE]\n\n")
        Thread.sleep(forTimeInterval: 0.2)
        reply.endChunks()
      }
      let store = try await ProxyTests().recording(server) { port in
        // Each on a connection of its own, while those before are still open.
        var clients: [RawClient] = []
        for _ in 0..<4 {
          let client = RawClient(port: port)
          client.send(
            ProxyTests.post(
              ProxyTests.path,
              ProxyTests.chat(#"[{"role":"user","content":"What colour?"}]"#, stream: true),
              port: port))
          // The two halves of the word come as they were sent, each in a chunk of its own.
          _ = client.receive(until: "NE]")
          clients.append(client)
        }
        for client in clients { client.close() }
        Thread.sleep(forTimeInterval: 0.3)
      }
      let decisions = store.of(.decision)
      #expect(decisions.count == 4)
      #expect(Set(decisions.map { $0["caller"] }) == [nil])
      #expect(Set(decisions.map { $0["conversation"] }).count == 1)
    }

    @Test("a client that tries again at once is taken for one that tries again")
    func retrying() async throws {
      let server = try FakeServer { request, reply in
        if request.number % 4 == 3 {
          reply.finish(body: ProxyTests.answer("done"))
        } else {
          reply.finish(503, body: #"{"error":{"message":"busy"}}"#)
        }
      }
      let store = try await ProxyTests().recording(server) { port in
        for round in 0..<20 {
          for _ in 0..<4 {
            // Each time on a connection of its own.
            let client = RawClient(port: port)
            client.send(
              ProxyTests.post(
                ProxyTests.path,
                ProxyTests.chat(#"[{"role":"user","content":"Go \#(round)"}]"#), port: port))
            _ = client.receive(until: "}}")
          }
        }
      }
      #expect(store.of(.decision).count == 20)
      #expect(
        store.of(.modelResult).map { $0["attempt"]?.intValue }
          == (0..<20).flatMap { _ in [1, 2, 3, 4] })
    }

    @Test("whoever has a choice of tools is the agent, not who has to answer by one before it")
    func classifier() async throws {
      let store = try await ProxyTests().recording(try Self.server()) { port in
        let kind =
          Self.tool.replacing("look", with: "class")
          + #","tool_choice":{"type":"function","function":{"name":"class"}}"#
        _ = Self.ask([#"{"role":"user","content":"What kind is it?"}"#], tools: kind, port: port)
        _ = Self.converse("Be brief.", "What colour?", port: port)
        Thread.sleep(forTimeInterval: 0.1)
      }
      #expect(store.of(.runStarted).first?["goal"] == "What colour?")
      #expect(Trajectory(of: store.all).answer?.text.hasPrefix("result of") == true)
      let first = try #require(store.of(.decision).first)
      #expect(first["caller"]?.stringValue?.hasPrefix("agent-") == true)
    }

    @Test("names are the same whatever the order in which conversations begin")
    func shuffled() async throws {
      var generator = SeededGenerator(seed: 7)
      var first: [String: String]?
      for _ in 0..<6 {
        let order = Array(0..<12).shuffled(using: &generator)
        let start: (inout ExchangeRecorder.Start) -> Void = {
          $0.main = CallerMatcher("number 0.")
        }
        let store = try await ProxyTests().recording(try Self.server(), start: start) { port in
          for number in order {
            _ = Self.converse("You are number \(number).", "Go \(number % 5)", port: port)
          }
          Thread.sleep(forTimeInterval: 0.1)
        }
        let names = Self.systems(store)
        #expect(names.count == 12 && Set(names.values).count == 12)
        if let first { #expect(names == first) } else { first = names }
      }
    }

    /// The name of whoever speaks, by what was said first.
    private static func systems(_ store: ProxyTests.EventStore) -> [String: String] {
      var (names, systems): ([String: String], [Int: String]) = ([:], [:])
      for event in store.all {
        if event.type == .contextBuilt {
          systems[event.step] =
            event.data["prompt"]?["messages"]?[0]?["content"]?[0]?["text"]?.stringValue
        }
        if event.type == .decision, let system = systems[event.step] {
          names[system] = event.data["caller"]?.stringValue ?? "agent"
        }
      }
      return names
    }
  }
#endif
