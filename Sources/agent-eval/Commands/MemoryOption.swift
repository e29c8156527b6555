import AgentRuntime
import ArgumentParser
import LiveBoundary

/// Where notes of agents and actors are kept.
struct MemoryOption: ParsableArguments {
  @Option(
    help:
      "Where notes of agents and actors are kept: a file, or none for as long as the run. Default: .agent-eval/memory.sqlite.",
    completion: .file()
  )
  var memory: String?

  /// The store of an agent's run. A file is looked at before the run starts, where the agent has to do
  /// with notes at all.
  ///
  /// - Throws: `MemoryStoreError`.
  func store(for agent: AgentDefinition) throws -> any MemoryStore {
    guard memory != "none", agent.readsMemory || agent.writesMemory else { return InMemoryStore() }
    let store = SQLiteMemoryStore(path: memory ?? SQLiteMemoryStore.defaultPath)
    try store.check()
    return store
  }
}
