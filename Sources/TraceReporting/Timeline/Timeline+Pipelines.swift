public import AgentTrace

extension Timeline {
  /// What a pipeline and the runs of its tasks came to.
  public static func used(by pipeline: PipelineState) -> Entry {
    let totals = pipeline.totals
    let ended = pipeline.tasks.count { $0.settled != nil }
    let parts =
      ["\(Figures.count(ended, "task")) ended"]
      + (totals.modelCalls + totals.steps + totals.toolCalls > 0
        ? totals.counts : []) + totals.spent
      + [Figures.duration(microseconds: pipeline.elapsedMicroseconds)]
    return Entry("used", .faint, parts.joined(separator: ", "))
  }
}
