/// What reading traces into the call graph is measured against: a program in Python that parses with orjson and extracts the
/// same of the conventions that the corpus is written in.
enum Extraction {
  /// For each request: spans each once, with ids, parents, times, attributes, events and errors; what an exporter's limit cut;
  /// runs by their conversations; messages with their texts, calls and results, each once and with its place; usage, models,
  /// ways of ending; which execution belongs to which call; what was asked or came back and no span tells; the order of time;
  /// members that nobody knows; how the run ended. It knows two conventions of what a span is and the parts of one of
  /// messages; ours has all that Docs/importing.md lists, and finds out which.
  static let script = #"""
    import orjson, sys, time

    KINDS = {"chat": "model", "generate_content": "model", "text_completion": "model", "execute_tool": "tool", "invoke_agent": "agent"}
    OPENINFERENCE = {"LLM": "model", "TOOL": "tool", "AGENT": "agent", "CHAIN": "step"}
    SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "langsmith.trace.session_id")
    USAGE = {
        "input": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        "output": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        "cached": ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
        "reasoning": ("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"),
    }
    PART_KEYS = {"type", "content", "text", "id", "name", "arguments", "response", "result"}
    MESSAGE_KEYS = {"role", "parts", "content", "finish_reason", "name"}

    def plain(v):
        for k, x in v.items():
            if k == "arrayValue": return [plain(y) for y in x.get("values", [])]
            if k == "kvlistValue": return {y["key"]: plain(y["value"]) for y in x.get("values", [])}
            return int(x) if k == "intValue" else x

    def parsed(v):
        if isinstance(v, str) and v[:1] in ("[", "{"):
            try: return orjson.loads(v)
            except ValueError: return v
        return v

    def first(a, keys):
        for k in keys:
            v = a.get(k)
            if v not in (None, "", [], {}, False): return v

    class Span: __slots__ = ("id", "parent", "trace", "name", "start", "end", "a", "scope", "service", "failed", "message", "events", "dropped", "place", "kind")

    def spans_of(request):
        found, unread = {}, []
        for i, r in enumerate(request["resourceSpans"]):
            resource = {a["key"]: plain(a["value"]) for a in r.get("resource", {}).get("attributes", [])}
            for j, s in enumerate(r["scopeSpans"]):
                scope = s.get("scope", {}).get("name", "")
                for n, o in enumerate(s["spans"]):
                    if not o.get("spanId") or not o.get("traceId"):
                        unread.append(f"/resourceSpans/{i}/scopeSpans/{j}/spans/{n}")
                        continue
                    p = Span()
                    p.id, p.trace, p.parent = o["spanId"].lower(), o["traceId"].lower(), o.get("parentSpanId") or None
                    p.name, p.start, p.end = o.get("name", ""), int(o.get("startTimeUnixNano", 0)), int(o.get("endTimeUnixNano", 0))
                    p.a = {a["key"]: plain(a["value"]) for a in o.get("attributes", [])}
                    p.scope, p.service, p.dropped = scope, resource.get("service.name"), o.get("droppedAttributesCount", 0)
                    status = o.get("status", {})
                    p.failed, p.message = status.get("code") in (2, "STATUS_CODE_ERROR"), status.get("message")
                    p.events = [(e.get("name", ""), int(e.get("timeUnixNano", 0)), {a["key"]: plain(a["value"]) for a in e.get("attributes", [])}) for e in o.get("events", [])]
                    p.place = f"/spans/{p.trace}/{p.id}"
                    p.kind = OPENINFERENCE.get(p.a.get("openinference.span.kind")) or KINDS.get(p.a.get("gen_ai.operation.name"))
                    known = found.get((p.trace, p.id))
                    if known is None or p.end >= known.end and len(p.a) >= len(known.a): found[p.trace, p.id] = p
        return list(found.values()), unread

    def mark_cut(spans):
        longest = max((len(v) for p in spans for v in p.a.values() if isinstance(v, str)), default=0)
        if not 16 <= longest <= 1 << 20: return
        def is_cut(v):
            if not isinstance(v, str) or len(v) != longest or v[0] not in "[{": return False
            try: orjson.loads(v); return False
            except ValueError: return True
        if any(is_cut(v) for p in spans for v in p.a.values()):
            for p in spans:
                for k, v in p.a.items():
                    if isinstance(v, str) and len(v) == longest: p.a[k] = {"$cut": v[:1024]}

    def read(messages, place):
        out, unread = [], []
        for n, m in enumerate(parsed(messages) or []):
            texts, calls, results = [], [], []
            for i, p in enumerate(m.get("parts", [])):
                kind = p.get("type")
                if kind == "text": texts.append(p.get("content"))
                elif kind == "tool_call": calls.append((p.get("name"), parsed(p.get("arguments")), p.get("id")))
                elif kind == "tool_call_response": results.append((p.get("id"), p.get("response", p.get("result")), f"{place}/{n}/parts/{i}"))
                elif kind != "reasoning": unread.append(f"{place}/{n}/parts/{i}")
                for k, v in p.items():
                    if k not in PART_KEYS and isinstance(v, (dict, list)) and v: unread.append(f"{place}/{n}/parts/{i}/{k}")
            for k, v in m.items():
                if k not in MESSAGE_KEYS and isinstance(v, (dict, list)) and v: unread.append(f"{place}/{n}/{k}")
            out.append((m.get("role"), "\n".join(texts) if texts else None, calls, results, m.get("finish_reason"), f"{place}/{n}"))
        return out, unread

    def figure(a, keys):
        v = first(a, keys)
        return None if v is None else int(v)

    def form(name, args): return name, orjson.dumps(args, option=orjson.OPT_SORT_KEYS)

    def graph_of(spans, unread):
        ids = {p.id for p in spans}
        by_id = {p.id: p for p in spans}
        models, executions, twins = [], [], {}
        for p in spans:
            agent, above = None, p.parent
            while above in by_id:
                q = by_id[above]
                if q.kind == "tool": agent = first(q.a, ("gen_ai.tool.name", "tool.name")); break
                above = q.parent
            if p.kind == "model":
                shown, u1 = read(p.a.get("gen_ai.input.messages"), p.place)
                said, u2 = read(p.a.get("gen_ai.output.messages"), p.place)
                unread += u1 + u2
                whole = parsed(p.a.get("output.value"))
                response = p.a.get("gen_ai.response.id") or (whole.get("id") if isinstance(whole, dict) else None)
                if response is not None and response in twins: continue
                if response is not None: twins[response] = p
                reasons = p.a.get("gen_ai.response.finish_reasons")
                models.append(dict(
                    span=p, agent=agent, shown=shown, said=said, calls=[c for m in said for c in m[2]],
                    usage={k: figure(p.a, keys) for k, keys in USAGE.items()},
                    model=first(p.a, ("gen_ai.response.model", "llm.model_name", "gen_ai.request.model")),
                    finish=reasons[0] if reasons else next((m[4] for m in said if m[4]), None), id=response))
                if p.dropped: unread.append(p.place)
            elif p.kind == "tool":
                arguments, result = first(p.a, ("gen_ai.tool.call.arguments", "input.value")), first(p.a, ("gen_ai.tool.call.result", "output.value"))
                error = p.message or p.a.get("error.type") or "error" if p.failed or p.a.get("error.type") else None
                executions.append(dict(
                    span=p, agent=agent, id=first(p.a, ("gen_ai.tool.call.id", "tool_call.id")), name=first(p.a, ("gen_ai.tool.name", "tool.name")) or p.name,
                    input=parsed(arguments), data=parsed(result) if result is not None else error, status="error" if error else "ok"))
            elif p.kind is None:
                unread.append(p.place)
        # Which execution belongs to which call: by id, else by name and arguments, else by name.
        open_calls, known, asked = [], set(), {}
        for m in models:
            for c in m["calls"]: open_calls.append((c, m["span"].start)); known.add(c[2]); known.add(form(c[0], c[1]))
        def take(fits):
            for n, e in enumerate(executions):
                if n in asked: continue
                for i, (c, start) in enumerate(open_calls):
                    if start <= e["span"].end and fits(c, e):
                        asked[n] = c; del open_calls[i]; break
        take(lambda c, e: c[2] is not None and c[2] == e["id"] and c[1] == e["input"])
        take(lambda c, e: c[2] is not None and c[2] == e["id"])
        take(lambda c, e: c[0] == e["name"] and c[1] == e["input"])
        take(lambda c, e: c[0] == e["name"] and (c[2] is None or e["id"] is None))
        told = {e["id"] for e in executions}
        entries, said = [], set()
        for n, m in enumerate(models):
            start = m["span"].start
            for role, text, calls, results, _, place in m["shown"]:
                if role in ("system", "user") and text is not None and (role, text) not in said:
                    said.add((role, text))
                    if n == 0 or role == "user": entries.append((start, 1, len(entries), ("message", role, text, place)))
                if role == "assistant":
                    lost = [c for c in calls if c[2] not in known and form(c[0], c[1]) not in known]
                    if lost and n: entries.append((start, -1, len(entries), ("calls", lost, place)))
                for id, data, where in results:
                    if id not in told and n:
                        told.add(id)
                        entries.append((start, 0, len(entries), ("result", id, data, "returned", where)))
            context = [(role, text, calls, results) for role, text, calls, results, _, _ in m["shown"]]
            entries.append((start, 2, len(entries), ("reply", m["said"], m["calls"], context, m["usage"], m["model"], m["finish"], m["agent"], m["span"].end, m["span"].place)))
        for n, e in enumerate(executions):
            p = e["span"]
            if n not in asked: entries.append((p.start, 3, len(entries), ("calls", [(e["name"], e["input"], e["id"])], p.place)))
            entries.append((max(p.start, p.end), 0, len(entries), ("result", e["id"], e["data"], e["status"], p.place)))
        entries.sort(key=lambda x: x[:3])
        roots = [p for p in spans if p.parent is None]
        is_open = not roots or any(p.parent and p.parent not in ids for p in spans)
        stop = None if is_open else first(roots[0].a, ("agent_eval.stop.reason",)) or ("tool_failure" if roots[0].failed else "success")
        return dict(items=[x[3] for x in entries], agent=next((p.a.get("gen_ai.agent.name") for p in spans if p.kind == "agent"), spans[0].service),
                    stop=stop, open=is_open, unread=unread, trace=spans[0].trace)

    def runs_of(line):
        spans, unread = spans_of(orjson.loads(line))
        mark_cut(spans)
        groups = {}
        session_of = {}
        for p in spans:
            s = first(p.a, SESSIONS)
            if s: session_of.setdefault(p.trace, s)
        for p in spans: groups.setdefault(session_of.get(p.trace, p.trace), []).append(p)
        graphs = []
        for members in groups.values():
            if any(p.kind in ("model", "tool", "agent") for p in members):
                members.sort(key=lambda p: (p.start, -p.end, p.trace, p.id))
                graphs.append(graph_of(members, list(unread)))
        return graphs

    lines = open(sys.argv[1], "rb").read().splitlines()
    start, runs = time.process_time(), 0
    for line in lines: runs += len(runs_of(line))
    print(time.process_time() - start, len(lines), runs)

    """#
}
