/// What the viewer file shows and how it is led. Text from the log only ever becomes text of the page:
/// no line of this makes markup, an address or a style of it.
enum ViewerScreen {
  static let script = #"""
    const byId = (id) => document.getElementById(id);
    const make = (tag, className, ...children) => {
      const element = document.createElement(tag);
      if (className) element.className = className;
      element.append(...children);
      return element;
    };
    const ROW = 22;
    const TEXT_LIMIT = 20000;
    let log;
    const sums = new Sums();
    // Of each event: its number, step and type, what the rows say, and what the run had come to.
    const events = [];
    // What is shown, from top to bottom: steps (negative) and rows of events.
    let view = [];
    let viewOf = [];
    let chosen = 0;
    const folded = new Set();
    let showsAll = false;
    const list = byId("list");
    const space = byId("space");
    const pause = (() => {
      const channel = new MessageChannel();
      let last = performance.now();
      let go = null;
      channel.port1.onmessage = () => go();
      return async () => {
        if (performance.now() - last < 12) return;
        await new Promise((done) => {
          go = done;
          channel.port2.postMessage(0);
        });
        last = performance.now();
      };
    })();

    // MARK: Reading

    const takeEvent = (index, seq, step) => {
      const line = log.raw(index, false);
      const type = String(line.type);
      if (type === "run_started" && numberOf(line.data?.formatVersion) === 1) log.version = 1;
      if (type === "context_built" && isObject(line.data)) log.addItems(index, line.data);
      // A context is told by sizes alone: what its lists hold need not be put together for that.
      const data = type === "context_built" ? line.data : log.data(index, false);
      const rows = tell(type, log.asTold(index, type, data), line).map(([label, role, text, tail]) => ({
        label, role, text: cut(text, 400), tail: tail === undefined ? "" : cut(tail, 60) }));
      const before = sums.now;
      const after = sums.take(type, step, data, line);
      events.push({ seq, step, type, rows, after, before });
    };

    // MARK: Timeline

    const layOut = () => {
      view = [];
      viewOf = new Array(events.length);
      let step = 0;
      events.forEach((event, index) => {
        if (event.step !== step && event.step > 0 && event.type !== "stop") {
          step = event.step;
          view.push({ step, at: index });
        }
        if (folded.has(event.step) && event.step > 0 && event.type !== "stop") {
          viewOf[index] = view.length - 1;
          return;
        }
        viewOf[index] = view.length;
        event.rows.forEach((row, number) => view.push({ at: index, row, number }));
      });
      space.style.height = view.length * ROW + "px";
      draw();
    };

    const pool = [];
    const draw = () => {
      const top = Math.max(0, Math.floor(list.scrollTop / ROW) - 8);
      const bottom = Math.min(view.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 8);
      while (pool.length < bottom - top) {
        const row = make("div", "row", make("span", "seq"), make("span", "label"), make("span", "text"),
          make("span", "tail"));
        row.setAttribute("role", "option");
        pool.push(row);
        space.append(row);
      }
      pool.forEach((element, number) => {
        const place = top + number;
        element.hidden = place >= bottom;
        if (place >= bottom) return;
        const item = view[place];
        const [seq, label, text, tail] = element.children;
        element.style.transform = "translateY(" + place * ROW + "px)";
        element.dataset.place = place;
        const isChosen = item.at === chosen
          && (item.row !== undefined || folded.has(events[chosen].step));
        element.setAttribute("aria-selected", isChosen);
        if (item.row === undefined) {
          const own = sums.steps.get(item.step);
          element.className = "row step " + (own?.mark ?? "");
          seq.textContent = folded.has(item.step) ? "▸" : "▾";
          label.textContent = "step " + item.step;
          text.textContent = own === undefined ? "" : duration(own.time)
            + (own.input + own.output > 0 ? ", " + own.input + " + " + own.output + " tokens" : "");
          tail.textContent = "";
        } else {
          element.className = "row " + item.row.role;
          seq.textContent = item.number === 0 ? events[item.at].seq : "";
          label.textContent = item.row.label;
          text.textContent = item.row.text;
          tail.textContent = item.row.tail;
        }
      });
    };

    const reveal = () => {
      const top = viewOf[chosen] * ROW;
      if (top < list.scrollTop + ROW) list.scrollTop = top - ROW;
      else if (top + 2 * ROW > list.scrollTop + list.clientHeight) {
        list.scrollTop = top + 2 * ROW - list.clientHeight;
      }
    };

    const choose = (index, keepsPlace) => {
      if (events.length === 0) return;
      chosen = Math.max(0, Math.min(events.length - 1, index));
      if (!keepsPlace) reveal();
      draw();
      drawChart();
      showEvent();
      showState();
      document.body.dataset.seq = events[chosen].seq;
    };

    // MARK: The chosen event

    const longText = (text) => {
      const pre = make("pre");
      let shown = 0;
      const more = make("button", "more");
      more.type = "button";
      const add = (count) => {
        pre.append(visibleLines(text.slice(shown, shown + count)));
        shown = Math.min(text.length, shown + count);
        more.textContent = "show more (" + (text.length - shown) + " characters left)";
        if (shown === text.length) more.remove();
      };
      add(TEXT_LIMIT);
      if (shown === text.length) return pre;
      more.addEventListener("click", () => add(20 * TEXT_LIMIT));
      return make("div", "", pre, more);
    };
    // Images and other files that stand as base64 are told by type, size and digest.
    const FILES = [["iVBORw0KGgo", "image/png"], ["/9j/", "image/jpeg"], ["R0lGOD", "image/gif"],
      ["UklGR", "image/webp"], ["JVBERi0", "application/pdf"], ["UEsDB", "application/zip"]];
    const filesTold = (text) =>
      text.replace(/(?:data:([\w.+-]+\/[\w.+-]+)[^,"\s]{0,100};base64,)?([A-Za-z0-9+\/]{1024,}={0,2})/g,
        (whole, named, body) => {
          const type = named ?? FILES.find(([start]) => body.startsWith(start))?.[1];
          if (type === undefined) return whole;
          try {
            const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
            return "[" + type + ", " + bytes.length + " bytes, SHA-256 "
              + new SHA256().update(bytes).hex() + "]";
          } catch {
            return whole;
          }
        });
    const valueText = (value) =>
      filesTold(typeof value === "string" ? value : pretty(value ?? null, ""));
    const section = (title, ...children) => make("section", "", make("h3", "", title), ...children);
    const fact = (name, value, role, link) =>
      make("div", "fact", make("span", "name", name),
        make("span", role ?? "", cut(plain(value), 2000)), ...(link === undefined ? [] : [link]));
    const jump = (index, text) => {
      const button = make("button", "jump", text);
      button.type = "button";
      button.addEventListener("click", () => choose(index));
      return button;
    };

    // The events of the chosen one's step, with what they say of one call.
    const near = (index, test) => {
      const step = events[index].step;
      let from = index;
      while (from > 0 && events[from - 1].step === step) from -= 1;
      const found = [];
      for (let at = from; at < events.length && events[at].step === step; at += 1) {
        if (test(events[at].type)) found.push([at, log.data(at, true)]);
      }
      return found;
    };

    const callParts = (index, callId) => {
      const parts = [];
      for (const [at, data] of near(index, (type) => CALL_TYPES.has(type))) {
        if (!isObject(data) || data.callId !== callId) continue;
        const [{ label, role, text }] = events[at].rows;
        const link = jump(at, "event " + events[at].seq);
        if (events[at].type === "policy_decision") {
          const rule = data.ruleId === undefined ? "by default" : "rule " + plain(data.ruleId);
          parts.push(fact(label, plain(data.reason) + " (" + rule + ")", role, link));
        } else if (events[at].type === "approval") {
          parts.push(fact(label, text, role, link));
        } else {
          parts.push(fact("result", label, role, link),
            longText(valueText("data" in data ? data.data : data.reason)));
        }
      }
      return parts;
    };
    const CALL_TYPES = new Set(["policy_decision", "approval", "tool_result"]);

    const messageText = (part) => filesTold(partText(part));
    const partText = (part) => {
      if (!isObject(part)) return plain(part);
      if (part.type === "text") return plain(part.text);
      if (part.type === "tool_call") return "calls " + plain(part.name) + " " + plain(part.input);
      if (part.type === "tool_result") {
        return plain(part.callId) + " → " + (part.status === undefined ? "" : plain(part.status) + ": ")
          + plain(part.data);
      }
      return plain(part);
    };
    const messageElement = (message, isNew) => {
      const box = make("div", isNew ? "message new" : "message");
      const parts = Array.isArray(message?.content) ? message.content : [message];
      box.append(make("span", "name", cut(plain(message?.role ?? "?"), 40) + (isNew ? " · new" : "")));
      for (const part of parts) box.append(longText(messageText(part)));
      return box;
    };

    // The messages of a context, as text.
    const messagesOf = (index) => {
      const messages = log.data(index, false)?.prompt?.messages;
      return (Array.isArray(messages) ? messages : []).map(compact);
    };
    // Which of them stood in the context before.
    const seenBefore = (index) => {
      for (let at = index - 1; at >= 0; at -= 1) {
        if (events[at].type === "context_built") return new Set(messagesOf(at));
      }
      return new Set();
    };

    const showContext = (index, data) => {
      const messages = Array.isArray(data.prompt?.messages) ? data.prompt.messages : [];
      const seen = seenBefore(index);
      const isNew = messagesOf(index).map((message) => !seen.has(message));
      const parts = [];
      const old = messages.filter((_, place) => !isNew[place]);
      if (old.length > 0) {
        const box = make("details", "", make("summary", "", count(old.length, "message") + " from before"));
        box.open = showsAll;
        const fill = () => {
          if (box.open && box.children.length === 1) {
            box.append(...old.slice(0, 2000).map((message) => messageElement(message, false)));
          }
        };
        box.addEventListener("toggle", fill);
        fill();
        parts.push(box);
      }
      messages.forEach((message, place) => {
        if (isNew[place]) parts.push(messageElement(message, true));
      });
      const sections = [section("what the model saw", ...parts)];
      for (const [title, items] of [["taken in", data.included], ["left out", data.omittedRefs]]) {
        if (!Array.isArray(items) || items.length === 0) continue;
        const reasons = new Map();
        for (const item of items) {
          const reason = plain(item?.reason);
          reasons.set(reason, [...(reasons.get(reason) ?? []), plain(item?.ref)]);
        }
        sections.push(section(title,
          ...[...reasons].map(([reason, refs]) => fact(cut(reason, 200), refs.join(" ")))));
      }
      const tokens = data.tokens;
      if (isObject(tokens)) {
        sections.push(section("tokens", fact("estimated", plain(tokens.estimate)
          + (tokens.budget === undefined ? "" : " of " + plain(tokens.budget)))));
      }
      if (Array.isArray(data.toolsDisclosed) && data.toolsDisclosed.length > 0) {
        sections.push(section("tools", make("p", "names", cut(data.toolsDisclosed.map(plain).join("  "), 4000))));
      }
      return sections;
    };

    const showDecision = (index, data) => {
      const sections = [];
      const said = data.text ?? data.question ?? (data.kind === "invalid" ? data.reason : undefined);
      if (said !== undefined) sections.push(section(events[index].rows[0].label, longText(valueText(said))));
      for (const call of callsOf(data)) {
        sections.push(section("call of " + cut(plain(call.name), 200), fact("id", call.callId),
          longText(valueText(call.input)), ...callParts(index, call.callId)));
      }
      return sections;
    };

    const showCall = (index, data) => {
      const sections = [];
      const callId = data.callId;
      for (const [at, decision] of near(index, (type) => type === "decision")) {
        const call = callsOf(decision).find((call) => call.callId === callId);
        if (call === undefined) continue;
        sections.push(section("call of " + cut(plain(call.name), 200), longText(valueText(call.input)),
          jump(at, "event " + events[at].seq)));
      }
      const own = section(events[index].rows[0].label);
      if (events[index].type === "policy_decision") {
        own.append(fact("reason", data.reason),
          fact("rule", data.ruleId === undefined ? "none: the default" : data.ruleId));
        if (isObject(data.context)) own.append(longText(valueText(data.context)));
      } else if (events[index].type === "tool_result") {
        own.append(longText(valueText("data" in data ? data.data : data.reason)));
        if (data.attempts !== undefined) own.append(fact("attempts", data.attempts));
        if (typeof data.elapsedMicroseconds === "number") {
          own.append(fact("took", duration(data.elapsedMicroseconds)));
        }
      } else own.append(fact("what", events[index].rows[0].text));
      // The result first where that is what was chosen.
      return [own, ...sections, ...(events[index].type === "policy_decision"
        ? [section("what became of it", ...callParts(index, callId))] : [])];
    };

    const showEvent = () => {
      const event = events[chosen];
      const data = log.data(chosen, true);
      const line = log.raw(chosen, true);
      const pane = byId("event");
      const head = make("h2", event.rows[0].role, "event " + event.seq + " · " + cut(event.type, 60));
      const place = make("p", "faint", (event.step > 0 ? "step " + event.step + " · " : "")
        + duration(numberOf(line.t)) + (typeof line.time === "string" ? " · " + cut(line.time, 40) : ""));
      let sections;
      if (!isObject(data)) sections = [];
      else if (event.type === "context_built") sections = showContext(chosen, data);
      else if (event.type === "decision") sections = showDecision(chosen, data);
      else if (typeof data.callId === "string") sections = showCall(chosen, data);
      else sections = [section(event.rows[0].label, ...event.rows.map((row) => fact(row.label, row.text)))];
      const json = make("details", "", make("summary", "", "as JSON"));
      json.addEventListener("toggle", () => {
        if (json.open && json.children.length === 1) json.append(longText(pretty(data, "")));
      });
      pane.replaceChildren(head, place, ...sections, json);
      pane.scrollTop = 0;
      if (sections.length === 0 || event.type === "run_started" || event.type === "model_result") {
        json.open = true;
      }
    };

    // MARK: State and budget

    const showState = () => {
      const { after: s, seq } = events[chosen];
      const limits = sums.limits;
      const of = (used, limit) => (typeof limit === "number" ? used + " of " + limit : String(used));
      const facts = [
        fact("after event", seq), fact("steps", of(s.steps, limits.maxSteps)),
        fact("calls", of(s.calls, limits.maxToolCalls)), fact("model calls", s.modelCalls),
        fact("tokens", of(s.input + s.output, limits.maxTokens) + " (" + s.input + " in, " + s.output + " out)"),
        fact("cost", s.cost === null ? "unknown" : of(money(s.cost), limits.maxCost)),
        fact("time", duration(s.t)
          + (typeof limits.timeoutSeconds === "number" ? " of " + limits.timeoutSeconds + " s" : "")),
        fact("denied", s.denials, s.denials > 0 ? "bad" : ""),
      ];
      if (s.approved > 0) facts.push(fact("approved", s.approved, "good"));
      if (s.pending.length > 0) {
        facts.push(fact("pending", s.pending.map((call) => call.tool + " " + call.id).join(", "), "warning"));
      }
      if (s.question !== null) facts.push(fact("asked", s.question, "warning"));
      if (s.stop !== null) facts.push(fact("stop", s.stop, s.stop.startsWith("success") ? "good" : "bad"));
      for (const key of ["actorId", "tenantId", "route"]) {
        if (sums.actor[key] !== undefined) facts.push(fact(key.replace("Id", ""), sums.actor[key]));
      }
      byId("state").replaceChildren(...facts);
    };

    // MARK: The chart

    const canvas = byId("chart");
    const MEASURES = {
      tokens: [(own) => own.input + own.output, (value) => value + " tokens"],
      cost: [(own) => own.cost, (value) => "cost " + money(value)],
      time: [(own) => own.time, duration],
    };
    let measure = "tokens";
    let bars = [];
    const makeBars = () => {
      const steps = [...sums.steps.values()].sort((a, b) => a.step - b.step);
      const most = Math.max(1, Math.floor(canvas.clientWidth / 3));
      const share = Math.max(1, Math.ceil(steps.length / most));
      bars = [];
      for (let at = 0; at < steps.length; at += share) {
        // Of several steps in one bar, the largest.
        const some = steps.slice(at, at + share);
        const [value] = MEASURES[measure];
        bars.push({ from: some[0].step, to: some.at(-1).step, value: Math.max(...some.map(value)),
          mark: some.some((own) => own.mark === "bad") ? "bad"
            : some.some((own) => own.mark === "warning") ? "warning" : "" });
      }
      drawChart();
    };
    const drawChart = () => {
      const ratio = devicePixelRatio || 1;
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue("--" + name).trim();
      const most = Math.max(...bars.map((bar) => bar.value), 0);
      const each = Math.min(28, width / Math.max(1, bars.length));
      const step = events[chosen]?.step ?? 0;
      bars.forEach((bar, number) => {
        const isHere = step >= bar.from && step <= bar.to;
        if (isHere) {
          pen.fillStyle = colour("mark");
          pen.fillRect(number * each, 0, each, height);
        }
        const tall = most > 0 ? Math.max(bar.value > 0 ? 1 : 0, (bar.value / most) * (height - 16)) : 0;
        pen.fillStyle = colour(bar.mark || (isHere ? "ink" : "bar"));
        pen.fillRect(number * each + (each > 5 ? 1 : 0), height - tall, each - (each > 5 ? 2 : each > 2 ? 1 : 0), tall);
        // What went wrong is seen also where nothing was used.
        if (bar.mark) pen.fillRect(number * each + (each > 5 ? 1 : 0), height - 3, Math.max(1, each - 2), 3);
      });
      pen.fillStyle = colour("faint");
      pen.font = "11px system-ui, sans-serif";
      pen.textAlign = "right";
      pen.fillText(
        most > 0 ? "most in a step: " + MEASURES[measure][1](most) : "none recorded", width - 2, 11);
    };
    const barAt = (x) => bars[Math.floor(x / Math.min(28, canvas.clientWidth / Math.max(1, bars.length)))];
    canvas.addEventListener("click", (click) => {
      const bar = barAt(click.offsetX);
      if (bar !== undefined) choose(events.findIndex((event) => event.step === bar.from));
    });
    canvas.addEventListener("mousemove", (move) => {
      const bar = barAt(move.offsetX);
      canvas.title = bar === undefined ? ""
        : (bar.from === bar.to ? "step " + bar.from : "steps " + bar.from + " to " + bar.to)
          + ": " + MEASURES[measure][1](bar.value);
    });
    for (const button of document.querySelectorAll("#measures button")) {
      button.addEventListener("click", () => {
        measure = button.dataset.measure;
        for (const other of document.querySelectorAll("#measures button")) {
          other.setAttribute("aria-pressed", other === button);
        }
        makeBars();
      });
    }

    // MARK: Going about

    const isMarked = (event) =>
      event.type === "stop" || event.rows.some((row) => row.role === "bad" || row.label === "ask first");
    const goToMark = (way) => {
      for (let at = chosen + way; at >= 0 && at < events.length; at += way) {
        if (isMarked(events[at])) return choose(at);
      }
      say(way > 0 ? "nothing is marked behind this event" : "nothing is marked before this event");
    };
    const goRow = (way) => {
      let at = chosen + way;
      const step = events[chosen]?.step;
      // A folded step is one row.
      while (folded.has(step) && at >= 0 && at < events.length && events[at].step === step) at += way;
      if (way < 0 && at >= 0 && folded.has(events[at]?.step)) {
        while (at > 0 && events[at - 1].step === events[at].step) at -= 1;
      }
      if (at >= 0 && at < events.length) choose(at);
    };
    const goStep = (way) => {
      const step = events[chosen]?.step ?? 0;
      let at = chosen;
      if (way > 0) {
        while (at < events.length && events[at].step <= step) at += 1;
        if (at === events.length) at = events.length - 1;
      } else {
        while (at > 0 && events[at - 1].step === step) at -= 1;
        if (at === chosen && at > 0) {
          at -= 1;
          while (at > 0 && events[at - 1].step === events[at].step) at -= 1;
        }
      }
      choose(at);
    };
    const fold = (step) => {
      if (step <= 0) return;
      if (!folded.delete(step)) folded.add(step);
      layOut();
      reveal();
      draw();
    };
    const foldAll = () => {
      if (folded.size > 0) folded.clear();
      else for (const step of sums.steps.keys()) folded.add(step);
      layOut();
      reveal();
      draw();
    };

    let searching = 0;
    const search = async (way, staysHere) => {
      const wanted = byId("search").value.toLowerCase();
      if (wanted === "") return goToMark(way);
      searching += 1;
      const own = searching;
      say("searching …");
      for (let step = staysHere ? 0 : 1; step <= events.length; step += 1) {
        const at = (((chosen + way * step) % events.length) + events.length) % events.length;
        const event = events[at];
        const isThere = event.rows.some((row) =>
          (row.label + " " + row.text + " " + row.tail).toLowerCase().includes(wanted))
          || log.text(at).toLowerCase().includes(wanted);
        if (isThere) {
          say("");
          return choose(at);
        }
        await pause();
        if (own !== searching) return;
      }
      say("not found");
    };
    let quiet = 0;
    const say = (text) => {
      byId("said").textContent = text;
      clearTimeout(quiet);
      quiet = setTimeout(() => { byId("said").textContent = ""; }, 4000);
    };

    const copy = async () => {
      try {
        await navigator.clipboard.writeText(pretty(log.data(chosen, true), ""));
        say("copied");
      } catch {
        say("the browser does not let this page copy");
      }
    };
    const toggleTheme = () => {
      const root = document.documentElement;
      const isDark = root.dataset.theme === undefined
        ? matchMedia("(prefers-color-scheme: dark)").matches : root.dataset.theme === "dark";
      root.dataset.theme = isDark ? "light" : "dark";
      drawChart();
    };
    const openDialog = (id) => {
      const dialog = byId(id);
      const wasOpen = dialog.open;
      for (const other of ["help", "checked"]) byId(other).close();
      if (!wasOpen) dialog.showModal();
    };

    const keys = {
      j: () => goRow(1), ArrowDown: () => goRow(1), k: () => goRow(-1), ArrowUp: () => goRow(-1),
      J: () => goStep(1), "}": () => goStep(1), ArrowRight: () => goStep(1), K: () => goStep(-1),
      "{": () => goStep(-1), ArrowLeft: () => goStep(-1), g: () => choose(0), Home: () => choose(0),
      G: () => choose(events.length - 1), End: () => choose(events.length - 1), c: () => goToMark(1),
      r: () => goToMark(-1), n: () => search(1), N: () => search(-1), "/": () => byId("search").select(),
      " ": () => fold(events[chosen].step), Enter: () => fold(events[chosen].step), z: foldAll,
      f: () => {
        showsAll = !showsAll;
        say(showsAll ? "all that the model saw is shown" : "what it saw before is folded");
        showEvent();
      },
      y: copy, m: toggleTheme, h: () => openDialog("help"), "?": () => openDialog("help"),
      PageDown: () => byId("event").scrollBy(0, byId("event").clientHeight - 40),
      PageUp: () => byId("event").scrollBy(0, 40 - byId("event").clientHeight),
    };
    document.addEventListener("keydown", (press) => {
      if (press.ctrlKey || press.metaKey || press.altKey || events.length === 0) return;
      if (press.target === byId("search")) {
        if (press.key === "Enter") search(press.shiftKey ? -1 : 1, true);
        if (press.key === "Enter" || press.key === "Escape") {
          byId("search").blur();
          list.focus();
        }
        return;
      }
      if (byId("help").open || byId("checked").open) {
        if (press.key === "?" || press.key === "q") for (const id of ["help", "checked"]) byId(id).close();
        return;
      }
      // A button that has the focus is pressed by these.
      if (["Enter", " "].includes(press.key) && press.target instanceof HTMLElement
        && press.target.closest("button, summary")) return;
      const act = Object.hasOwn(keys, press.key) ? keys[press.key] : undefined;
      if (act === undefined) return;
      press.preventDefault();
      act();
    });
    list.addEventListener("scroll", draw);
    list.addEventListener("click", (click) => {
      const row = click.target.closest(".row");
      if (row === null) return;
      const item = view[Number(row.dataset.place)];
      if (item === undefined) return;
      if (item.row === undefined) {
        if (events[chosen].step !== item.step) choose(item.at, true);
        fold(item.step);
      } else choose(item.at, true);
    });
    byId("theme").addEventListener("click", toggleTheme);
    byId("ask").addEventListener("click", () => openDialog("help"));
    byId("seals").addEventListener("click", () => openDialog("checked"));
    addEventListener("resize", () => {
      draw();
      makeBars();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawChart);

    // MARK: What was checked

    const showCheck = () => {
      const { problem, ending, blocks, seals, last, events: read, gaps } = log.check;
      const badge = byId("seals");
      const state = problem !== null ? "broken" : ending === "closed" ? "whole" : "unfinished";
      document.body.dataset.seals = state;
      badge.className = { broken: "bad", whole: "good", unfinished: "warning" }[state];
      badge.textContent = problem !== null ? "✗ broken at block " + problem.block
        : ending === "closed" ? "✓ sealed: " + count(seals, "block")
          : "unfinished: " + count(seals, "sealed block");
      const lines = [];
      if (problem !== null) {
        lines.push("Broken in block " + problem.block + " at byte " + problem.byte + ": " + problem.reason
          + ". The " + count(read, "event") + " before that are shown.");
      } else if (ending !== "closed") {
        lines.push("The log is unfinished: a writer holds it, or left it behind. What stands behind its "
          + "last seal is shown and not sealed.");
      }
      lines.push("This page holds the bytes of the log file as they were, and has checked them itself just "
        + "now: " + count(blocks, "block") + " with their headers, links and checksums; the SHA-256 of the lines of "
        + count(seals, "block") + ", each with the seal before it; " + count(read, "event")
        + ", numbered without a hole" + (gaps > 0 ? " but for the " + count(gaps, "gap") + " that the log names" : "")
        + ". All that is shown is read from those bytes.");
      if (last !== null) lines.push("The last seal: " + last);
      lines.push("Not checked here: checkpoints, summaries and digests of the state, which agent-eval verify "
        + "compares with the events; and who wrote the log. The chain has no key: it shows that nothing was "
        + "changed since, to one who knows the last seal from elsewhere.");
      const findings = () => lines.map((line) => make("p", "", line));
      byId("findings").replaceChildren(...findings());
      // Where there is nothing to choose, this is what there is to say.
      if (events.length === 0) {
        byId("event").replaceChildren(make("h2", "bad", "nothing can be shown"), ...findings());
      }
    };

    const start = async () => {
      const state = document.body.dataset;
      try {
        const given = byId("log");
        log = new Log(decodeBase64(given.textContent.trim()), given.dataset.open === "true");
        given.remove();
        let shown = 0;
        await log.read(takeEvent, async () => {
          await pause();
          if (performance.now() - shown < 200) return;
          shown = performance.now();
          byId("said").textContent = count(events.length, "event") + " read …";
        });
        byId("said").textContent = "";
        // The blocks stay; what was parsed on the way need not.
        log.cache.clear();
      } catch (error) {
        state.state = "failed";
        byId("said").textContent = "this page could not read its log: " + visible(String(error));
        return;
      }
      showCheck();
      const started = events[0];
      if (started !== undefined) {
        const data = log.data(0, false);
        byId("run").textContent = cut(plain(log.raw(0, false).runId), 60) + "  "
          + cut(plain(data?.agent?.name ?? ""), 60);
        byId("goal").textContent = cut(plain(data?.goal ?? ""), 300);
      }
      layOut();
      makeBars();
      const at = /^#e(\d{1,9})$/.exec(location.hash);
      choose(at === null ? 0 : log.bySeq.get(Number(at[1])) ?? 0);
      list.focus();
      state.events = events.length;
      state.state = "ready";
    };
    start();
    """#
}
