/// What the viewer file says of the events of a pipeline, in the words of `Timeline`.
enum ViewerPipelines {
  static let script = #"""
        const isPipeline = (d) => isObject(d.inputs?.pipeline);
        const nodeOf = (d) => plain(d.task) + (d.element === undefined ? "" : "[" + plain(d.element) + "]");
        const undoingOf = (d) => numberOf(d.attempt) > 1 ? ", attempt " + plain(d.attempt) : "";
        const recoveryOf = (d) => {
          const recovery = isObject(d.recovery) ? d.recovery : {};
          if (recovery.do === undefined || recovery.do === "fail") return [];
          return [["recovers", "warning", nodeOf(d) + ": " + plain(recovery.do)
            + (recovery.task === undefined ? "" : " " + plain(recovery.task))
            + (recovery.waitMicroseconds === undefined ? "" : " in " + duration(numberOf(recovery.waitMicroseconds)))]];
        };
        Object.assign(tellers, {
          task_started: (d) => [["started", "faint", nodeOf(d)
            + (d.acting === undefined ? "" : " by " + plain(d.acting))
            + (numberOf(d.attempt) > 1 ? ", attempt " + plain(d.attempt) : "")
            + (isObject(d.run) ? ", run " + plain(d.run.runId) : "")]],
          task_output: (d) => [["part", "faint", nodeOf(d) + " " + plain(d.part) + ": " + plain(d.value)]],
          task_failed: (d) => [["failed", "bad", nodeOf(d) + ": " + plain(d.error?.kind)
            + (d.effect === "unknown" ? ", effect unknown" : "") + ": " + plain(d.error?.message)], ...recoveryOf(d)],
          task_finished: (d) => [["done", "good", nodeOf(d) + (d.elements !== undefined
            ? ": " + count(numberOf(d.elements), "element")
            : (d.via === undefined ? "" : " (" + plain(d.via) + ")")
              + (d.output === undefined ? "" : ": " + plain(d.output)))]],
          task_skipped: (d) => [["skipped", "warning", nodeOf(d) + ": " + plain(d.reason)]],
          task_expanded: (d) => [["fan-out", "faint", plain(d.task) + ": " + count(numberOf(d.elements), "element")]],
          task_asked: (d) => [["asks", "heading", nodeOf(d) + ": " + plain(d.question)],
            ...(d.show === undefined ? [] : [["shows", "faint", plain(d.show)]])],
          task_answered: (d) => [["answer", d.word === "denied" ? "bad" : "good", nodeOf(d) + ": " + plain(d.word)
            + " by " + plain(d.by) + (d.data === undefined ? "" : ": " + plain(d.data))
            + (d.reason === undefined ? "" : " (" + plain(d.reason) + ")")]],
          task_resumed: (d) => [["goes on", "faint", nodeOf(d) + ", run " + plain(d.runId)]],
          pause_requested: (d) => [["pausing", "warning", "by " + plain(d.by)]],
          rollback_started: (d) => [["rollback", "heading", "to " + plain(d.checkpoint ?? "start")
            + (d.by === undefined ? "" : " by " + plain(d.by)) + ": "
            + count(numberOf(d.compensations), "effect") + " to undo"],
            ...(Array.isArray(d.left) ? d.left : []).map((name) =>
              ["left", "warning", plain(name) + ": nothing is declared that undoes it"])],
          compensation_started: (d) => [["undoing", "faint", nodeOf(d) + undoingOf(d)]],
          compensation_finished: (d) => d.error === undefined
            ? [["undone", "good", nodeOf(d) + (d.by === undefined ? "" : " by " + plain(d.by))]]
            : [["open", "bad", nodeOf(d) + ": " + plain(d.error)]],
          rolled_back: (d) => [["back", "good", "to " + plain(d.checkpoint ?? "start") + ": "
            + numberOf(d.compensated) + " undone, " + numberOf(d.left) + " left, "
            + count(size(d.tasks), "task") + " to run anew"]],
        });
    """#
}
