/// How the viewer file reads a run log: its members, its seals, its lines, and what they refer to.
/// Docs/log-format.md specifies them; everything that the page shows comes from the bytes it checks.
enum ViewerLog {
  static let script = #"""
    const FIXED = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 24, 0, 0x41, 0x45, 20, 0];
    const TRAILER = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const BLOCK_LIMIT = 32 << 20;
    const ZEROS = "0".repeat(64);
    const encoder = new TextEncoder();
    const decoder = new TextDecoder();
    const is = (bytes, at, wanted) => wanted.every((byte, i) => bytes[at + i] === byte);

    // A number as the log has it, where JavaScript would print another.
    class Token {
      constructor(text) {
        this.text = text;
      }
    }
    const keepNumbers = (_, value, context) =>
      typeof value === "number" && context !== undefined && context.source !== String(value)
        ? new Token(context.source) : value;
    const LISTS = ["evidenceRefs", "included", "memoryRefs", "observations", "omittedRefs",
      "prompt/messages", "toolsDisclosed"];
    const within = (data, path) =>
      path.split("/").reduce((value, key) => (isObject(value) ? value[key] : undefined), data);
    const isObject = (value) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
      && !(value instanceof Token);
    const onlyKey = (value, key) => {
      const keys = Object.keys(value);
      return keys.length === 1 && keys[0] === key;
    };

    class Log {
      // An open log may end anywhere; one that is closed ends in a trailer.
      constructor(bytes, isOpen) {
        this.bytes = bytes;
        this.isOpen = isOpen;
        this.blocks = [];
        // Of each event: its block, and where its line begins and ends in it.
        this.lines = [];
        this.bySeq = new Map();
        // Items by list, in the order of their numbers: the event that has them literally, and where. In
        // format 1 all lists number theirs together.
        this.items = LISTS.map(() => []);
        this.version = 2;
        this.check = { blocks: 0, seals: 0, problem: null, ending: "torn", last: null, events: 0,
          gaps: 0 };
        this.cache = new Map();
      }

      // Reads and checks one member after the other; calls back for each event and lets others have
      // their turn in between.
      async read(onEvent, pause) {
        const bytes = this.bytes;
        let [at, before, number] = [0, null, 0];
        let seal = { digest: ZEROS, line: new Uint8Array(0) };
        let next = 0;
        const fail = (reason) => {
          this.check.problem = { block: number, byte: at, reason };
        };
        const end = () => {
          if (this.check.ending === "torn" && !this.isOpen) fail("the end is missing");
        };
        while (at < bytes.length) {
          // A machine that lost power may leave zeros behind what was written.
          if (this.isOpen && bytes[at] === 0 && bytes.subarray(at).every((byte) => byte === 0)) return;
          if (bytes.length - at < 36) return end();
          if (!is(bytes, at, FIXED)) return fail("the header of the member is not that of a log");
          const view = new DataView(bytes.buffer, bytes.byteOffset + at, 36);
          if (crc32(bytes, at + 16, at + 32) !== view.getUint32(32, true)) {
            return fail("the header's own checksum is another");
          }
          const first = Number(view.getBigUint64(16, true));
          const [length, crc] = [view.getUint32(24, true), view.getUint32(28, true)];
          if (before === null ? length !== 0 || crc !== 0 : length !== before.length) {
            return fail("the member does not follow the one before it");
          }
          if (before !== null && crc !== before.crc) {
            number -= 1;
            at -= length;
            return fail("the bytes of the member are not those that were written");
          }
          let part;
          try {
            part = inflate(bytes, at + 36, BLOCK_LIMIT);
          } catch (error) {
            if (!(error instanceof Damage)) throw error;
            return fail("it cannot be inflated: " + error.message);
          }
          const isCut = part.isCut || part.end + 8 > bytes.length;
          if (!isCut) {
            const tail = new DataView(bytes.buffer, bytes.byteOffset + part.end, 8);
            if (tail.getUint32(0, true) !== crc32(part.text, 0, part.text.length)
              || tail.getUint32(4, true) !== part.text.length) {
              return fail("the lines are not those that were written");
            }
          }
          const stop = isCut ? bytes.length : part.end + 8;
          // Only a gap, the first line of its block, may leave numbers out.
          if (first !== next && !decoder.decode(part.text.subarray(0, 13)).startsWith('{"mark":"gap"')) {
            return fail("its first event has another number than the next");
          }
          if (part.text.length === 0 && !isCut) {
            if (stop - at !== 46 || !is(bytes, at + 36, TRAILER)) {
              return fail("an empty member is not the end that a writer writes");
            }
            if (stop === bytes.length) this.check.ending = "closed";
          } else {
            const result = this.take(part.text.slice(), isCut, first, next, seal, onEvent);
            if (result.reason !== undefined) return fail(result.reason);
            next = result.next;
            seal = result.seal;
            this.check.blocks += 1;
          }
          before = { length: stop - at, crc: crc32(bytes, at, stop) };
          at = stop;
          number += 1;
          await pause();
        }
        end();
      }

      // The lines of one block, and its seal.
      take(text, isCut, first, next, seal, onEvent) {
        const block = this.blocks.length;
        this.blocks.push(text);
        let sealed = null;
        for (let start = 0; start < text.length; ) {
          const end = text.indexOf(10, start);
          if (end < 0) {
            if (isCut) break;
            return { reason: "its last line has no end" };
          }
          if (sealed !== null) return { reason: "a line stands behind its seal" };
          const head = decoder.decode(text.subarray(start, Math.min(end, start + 240)));
          const match = /^\{"seq":(\d+),"step":(\d+),"type":"/.exec(head);
          if (match !== null) {
            const seq = Number(match[1]);
            if (seq !== next) return { reason: "event " + seq + " stands where " + next + " is next" };
            next += 1;
            this.bySeq.set(seq, this.lines.length);
            this.lines.push([block, start, end]);
            this.check.events += 1;
            try {
              onEvent(this.lines.length - 1, seq, Number(match[2]));
            } catch (error) {
              if (!(error instanceof SyntaxError)) throw error;
              return { reason: "the line of event " + seq + " is no JSON" };
            }
          } else if (head.startsWith('{"mark":"seal"')) {
            const sha = new SHA256();
            sha.update(encoder.encode("agent-eval/1\n" + seal.digest)).update(seal.line);
            const digest = sha.update(text.subarray(0, start)).hex();
            const wanted = '{"mark":"seal","data":{"digest":"' + digest + '","first":' + first
              + ',"last":' + (next - 1) + ',"prev":"' + seal.digest + '"}}';
            const line = text.subarray(start, end + 1);
            if (decoder.decode(line) !== wanted + "\n") {
              return { reason: "the seal does not fit the lines before it" };
            }
            sealed = { digest, line: line.slice() };
          } else if (head.startsWith('{"mark":"gap"')) {
            const gap = JSON.parse(decoder.decode(text.subarray(start, end)));
            if (start !== 0 || gap.data.last + 1 !== first) {
              return { reason: "a gap does not end where its block begins" };
            }
            next = first;
            this.check.gaps += 1;
          } else if (!head.startsWith('{"mark":"')) {
            return { reason: "a line is neither event nor mark" };
          }
          start = end + 1;
        }
        if (sealed === null && !isCut) return { reason: "the block does not end in its seal" };
        if (sealed !== null) {
          this.check.seals += 1;
          this.check.last = sealed.digest;
        }
        return { next, seal: sealed ?? seal };
      }

      // MARK: What a line says

      text(index) {
        const [block, start, end] = this.lines[index];
        return decoder.decode(this.blocks[block].subarray(start, end));
      }

      // The line as it stands, references and all. What was looked at last is kept.
      raw(index, exact) {
        const key = exact ? -1 - index : index;
        const kept = this.cache.get(key);
        if (kept !== undefined) return kept;
        const line = JSON.parse(this.text(index), exact ? keepNumbers : undefined);
        if (this.cache.size >= 64) this.cache.delete(this.cache.keys().next().value);
        this.cache.set(key, line);
        return line;
      }

      // Numbers the items of a context's lists as they appear.
      addItems(index, data) {
        for (const path of LISTS) {
          const list = within(data, path);
          if (!isObject(list) || !Array.isArray(list.$list)) continue;
          list.$list.forEach((item, place) => {
            if (!Array.isArray(item)) this.table(path).push([index, path, place]);
          });
        }
      }

      table(path) {
        return this.items[this.version === 1 ? 0 : LISTS.indexOf(path)];
      }

      item(path, number, exact, depth) {
        const place = this.table(path)[number];
        if (place === undefined) return { $lost: "item " + number };
        const list = within(this.raw(place[0], exact).data, place[1]);
        return this.resolved(list.$list[place[2]], exact, depth);
      }

      // The data of an event, references followed.
      data(index, exact) {
        const line = this.raw(index, exact);
        return this.resolved(line.data, exact, 0, line.type === "stop", "");
      }

      // The path leads to the value in the data; without one no list stands there.
      resolved(value, exact, depth, isLiteral, path) {
        if (depth > 200) return { $lost: "too deep" };
        if (Array.isArray(value)) {
          return value.map((element) => this.resolved(element, exact, depth + 1, isLiteral));
        }
        if (!isObject(value)) return value;
        if (!isLiteral && typeof value.$same === "string" && onlyKey(value, "$same")) {
          return this.said(value.$same) ?? { $lost: value.$same };
        }
        if (LISTS.includes(path) && Array.isArray(value.$list) && onlyKey(value, "$list")) {
          return value.$list.flatMap((item) => {
            if (!Array.isArray(item)) return [this.resolved(item, exact, depth + 1)];
            const count = Math.min(item[1], 100000);
            return Array.from({ length: count }, (_, i) => this.item(path, item[0] + i, exact, depth + 1));
          });
        }
        const result = Object.create(null);
        for (const key of Object.keys(value)) {
          const name = /^\$\$+(same|list|bytes|lost|cut)$/.test(key) ? key.slice(1) : key;
          const below = path === undefined ? path : path === "" ? name : path + "/" + name;
          result[name] = this.resolved(value[key], exact, depth + 1, isLiteral, below);
        }
        return result;
      }

      // The text that a reference leads to: an event's number, then a pointer into what it says.
      said(reference) {
        const slash = reference.indexOf("/");
        const index = this.bySeq.get(Number(reference.slice(0, slash < 0 ? undefined : slash)));
        if (index === undefined || slash < 0) return undefined;
        let value = this.raw(index, false).data;
        const passed = [];
        for (const part of reference.slice(slash + 1).split("/")) {
          const token = part.replaceAll("~1", "/").replaceAll("~0", "~");
          const path = passed.join("/");
          passed.push(part);
          if (LISTS.includes(path) && isObject(value) && Array.isArray(value.$list)) {
            value = this.member(path, value, Number(token));
          }
          else if (Array.isArray(value)) value = value[Number(token)];
          else if (isObject(value)) {
            const key = /^\$+(same|list|bytes|lost|cut)$/.test(token) ? "$" + token : token;
            value = Object.hasOwn(value, key) ? value[key] : undefined;
          } else return undefined;
        }
        return typeof value === "string" ? value : undefined;
      }

      // The element of a list at a place, as it stands where it was said first.
      member(path, list, place) {
        let at = 0;
        for (const item of list.$list) {
          const count = Array.isArray(item) ? item[1] : 1;
          if (place < at + count) {
            if (!Array.isArray(item)) return item;
            const found = this.table(path)[item[0] + place - at];
            if (found === undefined) return undefined;
            return within(this.raw(found[0], false).data, found[1]).$list[found[2]];
          }
          at += count;
        }
        return undefined;
      }
    }

    """#
}
