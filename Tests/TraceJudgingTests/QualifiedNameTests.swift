import AgentTrace
import Testing

@testable import TraceJudging

@Suite("Names of tools behind those of plugins and servers")
struct QualifiedNameTests {
  private func outcome(_ expected: JSONValue, _ run: Trajectory) throws -> ExpectationOutcome? {
    Judge.judge(run, against: try Expectations(parsing: expected)).outcomes.first
  }

  @Test(
    "a forbidden name that a called tool's ends with is unverifiable where nobody says which tools there were",
    arguments: [
      ("list", "Plugin-list", .unverifiable), ("list", "mcp__mail__list", .unverifiable),
      ("list", "mail.list", .unverifiable), ("list", "a/list", .unverifiable),
      ("list", "a:list", .unverifiable), ("list", "my_list", .pass), ("list", "checklist", .pass),
      ("list", "list", .fail), ("list", "Plugin-list-all", .pass), ("list", "-list", .pass),
      ("[l]ist", "Plugin-list", .pass), ("*list", "Plugin-list", .fail),
      ("Plugin-list", "Plugin-list", .fail),
    ] as [(String, String, Outcome)])
  func forbidden(name: String, tool: String, outcome expected: Outcome) throws {
    for key in ["toolsNotCalled", "toolsNotProposed"] {
      let run = RecordedRun.whole([[.init("look"), .init(tool)]])
      #expect(try outcome([key: [.string(name)]], run)?.outcome == expected, "\(key)")
    }
  }

  @Test(
    "a forbidden name that a called tool has in other capitals or with other signs between its words is unverifiable",
    arguments: [
      ("get_weather", "Get Weather", .unverifiable), ("read", "Read", .unverifiable),
      ("get-weather", "get.weather", .unverifiable), ("getweather", "get_weather", .pass),
      ("get_weathers", "Get Weather", .pass), ("Get Weather", "Get Weather", .fail),
    ] as [(String, String, Outcome)])
  func spelling(name: String, tool: String, outcome expected: Outcome) throws {
    let told = try outcome(
      ["toolsNotCalled": [.string(name)]], RecordedRun.whole([[.init("look"), .init(tool)]]))
    #expect(told?.outcome == expected)
    if expected == .unverifiable {
      #expect(told?.message.contains("in another spelling; write “\(tool)”") == true)
    }
  }

  @Test("it says which tool may be meant, and how to write it")
  func message() throws {
    let run = RecordedRun.whole([[.init("Plugin-list")]])
    let told = try outcome(["toolsNotCalled": ["list"]], run)
    #expect(told?.message.contains("write “Plugin-list” or “*list”") == true)
  }

  @Test(
    "where a tool of that very name was called, or the run says which tools it had, names are as they are"
  )
  func exact() throws {
    let known = RecordedRun.whole([[.init("Plugin-list")]], tools: ["Plugin-list"])
    #expect(try outcome(["toolsNotCalled": ["list"]], known)?.outcome == .pass)
    let other: JSONValue = ["tool": "list", "input": ["id": 1]]
    let both = RecordedRun.whole([[.init("Plugin-list", ["id": 1]), .init("list", ["id": 2])]])
    #expect(try outcome(["toolsNotCalled": [other]], both)?.outcome == .pass)
    // What the entry asks beside the name holds as well.
    let one = RecordedRun.whole([[.init("Plugin-list", ["id": 2])]])
    #expect(try outcome(["toolsNotCalled": [other]], one)?.outcome == .pass)
  }
}
