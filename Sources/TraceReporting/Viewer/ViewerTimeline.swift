import AgentTrace

/// What the viewer file says of each event, in the words of `Timeline`, and what it adds up.
///
/// A type without words of its own here is told by its name and its data: the page knows every type that the
/// program knows, by the same list.
enum ViewerTimeline {
  private static let known = CanonicalJSON.string(JSONValue(EventType.known.map(\.rawValue)))

  static let script = #"""
    // Text from a trace on one line: what has no look of its own or changes that of other text is
    // written out.
    const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;
    const NAMED = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
    const visible = (text) =>
      text.replace(HIDDEN, (c) => NAMED[c] ?? "\\u{" + c.codePointAt(0).toString(16) + "}");
    const visibleLines = (text) => text.split("\n").map(visible).join("\n");
    const cut = (text, width) => {
      const head = text.length > 4 * width ? text.slice(0, 4 * width) : text;
      const line = visible(head);
      return line.length > width || head.length < text.length ? line.slice(0, width - 1) + "…" : line;
    };

    const compact = (value) => {
      if (value instanceof Token) return value.text;
      if (Array.isArray(value)) return "[" + value.map(compact).join(",") + "]";
      if (isObject(value)) {
        return "{" + Object.keys(value).map((key) => JSON.stringify(key) + ":" + compact(value[key]))
          .join(",") + "}";
      }
      return JSON.stringify(value) ?? "null";
    };
    const pretty = (value, indent) => {
      const inner = indent + "  ";
      const [open, close, parts] = Array.isArray(value)
        ? ["[", "]", value.map((element) => pretty(element, inner))]
        : isObject(value)
          ? ["{", "}", Object.keys(value).map(
            (key) => JSON.stringify(key) + ": " + pretty(value[key], inner))]
          : ["", "", null];
      if (parts === null) return compact(value);
      if (parts.length === 0) return open + close;
      return open + "\n" + parts.map((part) => inner + part).join(",\n") + "\n" + indent + close;
    };
    const plain = (value) =>
      typeof value === "string" ? value : value === undefined ? "" : compact(value);
    const count = (number, noun) => number + " " + noun + (number === 1 ? "" : "s");
    const duration = (microseconds) => {
      if (microseconds < 1e3) return Math.round(microseconds) + " µs";
      if (microseconds < 1e6) return Math.floor(microseconds / 1e3) + " ms";
      if (microseconds < 6e7) return (Math.floor(microseconds / 1e5) / 10).toFixed(1) + " s";
      const seconds = Math.floor(microseconds / 1e6);
      return Math.floor(seconds / 60) + " min " + (seconds % 60) + " s";
    };
    const money = (cost) => String(Math.round(cost * 1e6) / 1e6);
    const numberOf = (value) => (typeof value === "number" && Number.isFinite(value) ? value : 0);

    // The lines of an event: label, role, text, tail.
    const VERDICTS = { allow: ["allowed", "faint"], deny: ["DENIED", "bad"],
      approval_required: ["ask first", "warning"] };
    const tellers = {
      run_started: (d, e) => {
        if (isPipeline(d)) {
          const run = ["run", "heading", e.runId + "  pipeline " + plain(d.agent?.name)];
          return d.input === undefined ? [run] : [run, ["input", "heading", plain(d.input)]];
        }
        const lines = [["run", "heading", e.runId + "  agent " + plain(d.agent?.name ?? d.source?.format)
          + (d.agent?.version === undefined ? "" : " " + plain(d.agent.version))]];
        if (d.goal !== undefined && d.goal !== null) lines.push(["goal", "heading", plain(d.goal)]);
        if (isObject(d.recorded)) {
          lines.push(["recorded", "warning",
            Object.keys(d.recorded).map((key) => key + " " + plain(d.recorded[key])).join(", ")]);
        }
        const texts = (value) => (Array.isArray(value) ? value : []).filter((text) => typeof text === "string");
        const unread = texts(d.source?.unread);
        if (unread.length > 0) lines.push(["unread", "warning", unread.join(", ")]);
        for (const part of texts(d.source?.missing)) lines.push(["missing", "warning", part]);
        return lines;
      },
      tools_listed: (d) => [["tools", "faint", plain(d.source) + ": " + count(size(d.tools), "tool")]],
      context_built: (d) => {
        const tokens = numberOf(d.tokens?.estimate);
        const [tools, left] = [size(d.toolsDisclosed), size(d.omittedRefs)];
        return [["context", "faint", count(size(d.prompt?.messages), "message")
          + (tokens > 0 ? ", about " + tokens + " tokens" : "")
          + (tools > 0 ? ", " + count(tools, "tool") : "") + (left > 0 ? ", " + left + " left out" : "")]];
      },
      model_result: (d) => {
        if (d.error !== undefined) {
          return [["model", "bad", "try " + plain(d.attempt) + ": " + plain(d.error)]];
        }
        const parts = [];
        if (isObject(d.usage)) {
          parts.push(numberOf(d.usage.inputTokens) + " + " + numberOf(d.usage.outputTokens) + " tokens");
        }
        if (typeof d.cost === "number") parts.push("cost " + money(d.cost));
        if (numberOf(d.elapsedMicroseconds) > 0) parts.push(duration(d.elapsedMicroseconds));
        return [["reply", "faint", parts.join(", ") || plain(d.finishReason) || "received"]];
      },
      decision: (d) => {
        const by = d.caller === undefined ? "" : plain(d.caller) + ": ";
        switch (d.kind) {
          case "answer": return [["answer", "heading", by + plain(d.text)]];
          case "ask_human": return [["asks", "heading", by + plain(d.question)]];
          case "stop": return [["stops", "heading", by + plain(d.reason)]];
          case "invalid": return [["invalid", "bad", by + plain(d.reason)]];
          default: return callsOf(d).map((call) =>
            ["call", "heading", by + plain(call.name) + " " + plain(call.input), plain(call.callId)]);
        }
      },
      policy_decision: (d) => {
        const [label, role] = VERDICTS[d.status] ?? ["unclear", "warning"];
        const rule = d.ruleId === undefined ? "" : " (rule " + plain(d.ruleId) + ")";
        return [[label, role, plain(d.tool) + ": " + plain(d.reason) + rule, plain(d.callId)]];
      },
      tool_started: (d) => [numberOf(d.attempt) > 1
        ? ["retry", "warning", plain(d.tool) + ", attempt " + plain(d.attempt)
          + (d.earlierEffect === "unknown" ? " (nobody knows what an earlier one did)" : ""), plain(d.callId)]
        : ["started", "faint", plain(d.tool), plain(d.callId)]],
      tool_result: (d) => {
        const time = numberOf(d.elapsedMicroseconds);
        const tail = plain(d.callId) + (time > 0 ? " " + duration(time) : "");
        const tool = plain(d.tool);
        if (d.status === "ok") return [["ok", "good", tool + " → " + plain(d.data), tail]];
        if (d.status === "returned") return [["returned", "faint", tool + " → " + plain(d.data), tail]];
        if (d.status === "refused") return [["refused", "warning", tool + ": " + plain(d.reason), tail]];
        const effect = d.effect === "unknown" ? "effect unknown: " : "";
        return [["error", "bad", tool + ": " + effect + plain(d.reason), tail]];
      },
      approval: (d) => [[d.granted === true ? "approved" : "denied", d.granted === true ? "good" : "bad",
        "by " + plain(d.by) + extentOf(d) + (d.reason === undefined ? "" : ": " + plain(d.reason)),
        plain(d.callId)]],
      human_replied: (d) =>
        [["human", "heading", (d.by === undefined ? "" : plain(d.by) + ": ") + plain(d.text)]],
      memory_read: (d) => [["memory", "faint", "read " + noteText(d)]],
      memory_written: (d) => [["memory", "faint", "wrote " + noteText(d)]],
      breaker_changed: (d) => [["breaker", "warning", plain(d.tool) + " is " + plain(d.state)]],
      unseen: (d) => {
        const channels = isObject(d.channels)
          ? Object.keys(d.channels).map((key) => key + " " + plain(d.channels[key])).join(", ") : "";
        return [["unseen", "warning", plain(d.reason) + (channels === "" ? "" : " (" + channels + ")")]];
      },
      run_resumed: (d) => [["resumed", "heading", plain(d.why)]],
      stop: (d, e) => {
        const lines = [["stop", d.reason === "success" ? "good" : "bad", plain(d.reason)
          + (d.detail === undefined ? "" : " (" + plain(d.detail) + ")")
          + (d.final === false ? "; may go on" : "")]];
        if (isObject(d.totals)) {
          const t = d.totals;
          const parts = [count(numberOf(t.steps), "step"), count(numberOf(t.toolCalls), "call"),
            count(numberOf(t.modelCalls), "model call")];
          if (numberOf(t.inputTokens) + numberOf(t.outputTokens) > 0) {
            parts.push(numberOf(t.inputTokens) + " + " + numberOf(t.outputTokens) + " tokens");
          }
          if (typeof t.cost === "number") parts.push("cost " + money(t.cost));
          parts.push(duration(numberOf(e.t)));
          lines.push(["used", "faint", parts.join(", ")]);
        }
        return lines;
      },
    };
    // Events of pipelines.
    \#(ViewerPipelines.script)
    // Types that are told by values of the trace, whose numbers stand as they were written.
    const QUOTING = new Set(["decision", "tool_result", "human_replied", "memory_read", "memory_written",
      "task_output", "task_finished", "task_asked", "task_answered"]);
    const UNUSUAL = /\.\d*0\D|\d{16}|\d[eE]/;
    Log.prototype.asTold = function (index, type, data) {
      const isQuoting = QUOTING.has(type) || !Object.hasOwn(tellers, type);
      return isQuoting && UNUSUAL.test(this.text(index)) ? this.data(index, true) : data;
    };
    // What a yes covers beyond the one call.
    const extentOf = (d) => {
      if (d.granted !== true) return "";
      const calls = isObject(d.scope) ? numberOf(d.scope.calls) : 1;
      const words = d.scope === "input" ? ["for this input in this run"]
        : calls > 1 ? ["for " + count(calls, "call") + " with this input"] : [];
      if (d.until !== undefined) words.push("until " + plain(d.until));
      return words.length === 0 ? "" : " " + words.join(", ");
    };
    const noteText = (d) =>
      plain(d.scope) + "/" + plain(d.key) + ": " + (d.value === undefined ? "nothing" : plain(d.value));
    const size = (list) =>
      Array.isArray(list) ? list.length
        : isObject(list) && Array.isArray(list.$list)
          ? list.$list.reduce((n, item) => n + (Array.isArray(item) ? numberOf(item[1]) : 1), 0) : 0;
    const callsOf = (d) => (Array.isArray(d?.calls) ? d.calls.filter(isObject) : []);
    const KNOWN = new Set(\#(known));
    // What is a word or a number; the rest stands beside the timeline.
    const byName = (type, d) => [type.replaceAll("_", " "), "faint", Object.keys(d)
      .filter((key) => !isObject(d[key]) && !Array.isArray(d[key]))
      .map((key) => key + ": " + plain(d[key])).join(", ")];
    const tell = (type, data, line) => {
      if (!isObject(data)) return [["unclear", "warning", type + " with data of another shape"]];
      const teller = Object.hasOwn(tellers, type) ? tellers[type] : null;
      const lines = teller !== null ? teller(data, line)
        : KNOWN.has(type) ? [byName(type, data)] : [["later", "faint", type + ", of a newer version"]];
      return lines.length === 0 ? [["call", "faint", "no calls"]] : lines;
    };

    // What a run has come to, event by event: as far as it takes no more than adding up.
    class Sums {
      constructor() {
        this.now = { steps: 0, calls: 0, modelCalls: 0, input: 0, output: 0, cost: null, denials: 0,
          t: 0, approved: 0, pending: [], question: null, stop: null };
        this.limits = {};
        this.actor = {};
        this.steps = new Map();
      }
      take(type, step, d, line) {
        const s = { ...this.now };
        if (!isObject(d)) d = {};
        const t = numberOf(line.t);
        const own = this.steps.get(step)
          ?? { step, input: 0, output: 0, cost: 0, time: 0, mark: "" };
        own.time += Math.max(0, t - s.t);
        s.t = Math.max(s.t, t);
        switch (type) {
          case "run_started":
            this.limits = isObject(d.limits) ? d.limits : {};
            this.actor = isObject(d.policyContext) ? d.policyContext : {};
            break;
          case "model_result": {
            const cost = typeof d.cost === "number" ? d.cost : null;
            if (s.modelCalls === 0) s.cost = cost;
            else if (d.error === undefined || cost !== null) {
              s.cost = s.cost === null || cost === null ? null : s.cost + cost;
            }
            s.modelCalls += 1;
            s.input += numberOf(d.usage?.inputTokens);
            s.output += numberOf(d.usage?.outputTokens);
            own.input += numberOf(d.usage?.inputTokens);
            own.output += numberOf(d.usage?.outputTokens);
            own.cost += cost ?? 0;
            break;
          }
          case "decision":
            s.question = d.kind === "ask_human" ? plain(d.question) : s.question;
            {
              const calls = d.kind === "tool"
                ? callsOf(d).map((call) => ({ id: plain(call.callId), tool: plain(call.name),
                  ran: false, of: d.conversation })) : [];
              s.pending = [...s.pending.filter((call) => call.of !== d.conversation), ...calls];
              if (d.kind !== "invalid" && calls.length === 0) s.steps = Math.max(s.steps, step);
            }
            if (d.kind === "invalid") own.mark ||= "warning";
            break;
          case "policy_decision":
            if (d.status === "deny") s.denials += 1;
            if (d.status === "deny") own.mark = "bad";
            else if (d.status === "approval_required") own.mark ||= "warning";
            break;
          case "tool_started":
          case "tool_result": {
            const call = s.pending.find((call) => call.id === d.callId);
            const ran = type === "tool_started" || d.status === "ok" || d.status === "error" || d.status === "returned";
            if (call !== undefined) {
              if (ran && !call.ran) s.calls += 1;
              s.pending = s.pending.flatMap((other) =>
                other !== call ? [other] : type === "tool_result" ? [] : [{ ...call, ran: true }]);
              if (!s.pending.some((other) => other.of === call.of)) s.steps = Math.max(s.steps, step);
            }
            if (type === "tool_result" && d.status === "error") own.mark = "bad";
            break;
          }
          case "approval": if (d.granted === true) s.approved += 1; break;
          case "human_replied": s.question = null; break;
          case "run_resumed": s.stop = null; break;
          case "stop":
            s.stop = plain(d.reason) + (d.detail === undefined ? "" : " (" + plain(d.detail) + ")");
            break;
        }
        if (step > 0) this.steps.set(step, own);
        this.now = s;
        return s;
      }
    }

    """#
}
