/// What the viewer file reads its log's bytes with: base64, CRC-32, inflate (RFC 1951) and SHA-256
/// (FIPS 180-4), written out so that the page needs nothing else and works wherever it is opened from.
enum ViewerBytes {
  static let script = #"""
    "use strict";
    const decodeBase64 = (text) => {
      const binary = atob(text);
      const bytes = new Uint8Array(binary.length);
      for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
      return bytes;
    };

    const crcTable = new Uint32Array(256).map((_, n) => {
      let c = n;
      for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
      return c >>> 0;
    });
    const crc32 = (bytes, from, to) => {
      let c = 0xffffffff;
      for (let i = from; i < to; i += 1) c = crcTable[(c ^ bytes[i]) & 255] ^ (c >>> 8);
      return (c ^ 0xffffffff) >>> 0;
    };

    class Cut extends Error {}
    class Damage extends Error {}

    // Codes of up to ten bits are looked up; longer ones are followed bit by bit.
    const FAST = 10;
    const makeCode = (lengths) => {
      const count = new Uint16Array(16);
      for (const length of lengths) count[length] += 1;
      count[0] = 0;
      const next = new Uint16Array(17);
      for (let i = 1; i < 16; i += 1) next[i + 1] = next[i] + count[i];
      const symbols = new Uint16Array(lengths.length);
      const firsts = new Int32Array(17);
      for (let i = 1; i < 16; i += 1) firsts[i + 1] = (firsts[i] + count[i]) << 1;
      const place = next.slice();
      const code = firsts.slice();
      const fast = new Int32Array(1 << FAST).fill(-1);
      for (let symbol = 0; symbol < lengths.length; symbol += 1) {
        const length = lengths[symbol];
        if (length === 0) continue;
        symbols[place[length]] = symbol;
        place[length] += 1;
        const value = code[length];
        code[length] += 1;
        if (length > FAST) continue;
        let reversed = 0;
        for (let i = 0; i < length; i += 1) reversed |= ((value >> i) & 1) << (length - 1 - i);
        for (let i = reversed; i < 1 << FAST; i += 1 << length) fast[i] = (length << 16) | symbol;
      }
      return { count, symbols, fast };
    };
    const fixedLengths = new Uint8Array(288).map(
      (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
    const fixedCode = makeCode(fixedLengths);
    const fixedDistances = makeCode(new Uint8Array(30).fill(5));
    const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83,
      99, 115, 131, 163, 195, 227, 258];
    const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5,
      5, 5, 0];
    const DISTANCES = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769,
      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
    const DISTANCE_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11,
      11, 12, 12, 13, 13];
    const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

    // Inflates one stream; gives what came out, where the stream ended, and whether it was cut short.
    const inflate = (input, start, limit) => {
      let [at, bits, held] = [start, 0, 0];
      let out = new Uint8Array(1 << 18);
      let size = 0;
      const need = (count) => {
        while (held < count) {
          if (at >= input.length) throw new Cut();
          bits |= input[at] << held;
          at += 1;
          held += 8;
        }
      };
      const take = (count) => {
        if (count === 0) return 0;
        need(count);
        const value = bits & ((1 << count) - 1);
        bits >>>= count;
        held -= count;
        return value;
      };
      const symbol = (code) => {
        while (held < FAST && at < input.length) {
          bits |= input[at] << held;
          at += 1;
          held += 8;
        }
        const entry = code.fast[bits & ((1 << FAST) - 1)];
        if (entry >= 0 && entry >> 16 <= held) {
          bits >>>= entry >> 16;
          held -= entry >> 16;
          return entry & 0xffff;
        }
        let [value, first, index] = [0, 0, 0];
        for (let length = 1; length < 16; length += 1) {
          value |= take(1);
          const count = code.count[length];
          if (value - count < first) return code.symbols[index + (value - first)];
          index += count;
          first = (first + count) << 1;
          value <<= 1;
        }
        throw new Damage("a code that stands for nothing");
      };
      const room = (count) => {
        if (size + count <= out.length) return;
        if (size + count > limit) throw new Damage("a block is larger than it may be");
        const larger = new Uint8Array(Math.max(out.length * 2, size + count));
        larger.set(out.subarray(0, size));
        out = larger;
      };
      const codes = () => {
        const [literals, distances, lengths] = [take(5) + 257, take(5) + 1, take(4) + 4];
        const own = new Uint8Array(19);
        for (let i = 0; i < lengths; i += 1) own[ORDER[i]] = take(3);
        const code = makeCode(own);
        const all = new Uint8Array(literals + distances);
        for (let i = 0; i < all.length; ) {
          const next = symbol(code);
          if (next < 16) {
            all[i] = next;
            i += 1;
            continue;
          }
          if (next === 16 && i === 0) throw new Damage("a length that repeats nothing");
          const value = next === 16 ? all[i - 1] : 0;
          let times = next === 16 ? 3 + take(2) : next === 17 ? 3 + take(3) : 11 + take(7);
          if (i + times > all.length) throw new Damage("too many lengths");
          for (; times > 0; times -= 1) {
            all[i] = value;
            i += 1;
          }
        }
        return [makeCode(all.subarray(0, literals)), makeCode(all.subarray(literals))];
      };
      const block = (literals, distances) => {
        for (;;) {
          const next = symbol(literals);
          if (next === 256) return;
          room(258);
          if (next < 256) {
            out[size] = next;
            size += 1;
            continue;
          }
          if (next > 285) throw new Damage("a length that there is not");
          const length = LENGTHS[next - 257] + take(LENGTH_BITS[next - 257]);
          const far = symbol(distances);
          if (far > 29) throw new Damage("a distance that there is not");
          const distance = DISTANCES[far] + take(DISTANCE_BITS[far]);
          if (distance > size) throw new Damage("a distance that leads before the beginning");
          for (let i = 0; i < length; i += 1) {
            out[size] = out[size - distance];
            size += 1;
          }
        }
      };
      try {
        for (let last = 0; last === 0; ) {
          last = take(1);
          const kind = take(2);
          if (kind === 0) {
            // Whole bytes that were taken in ahead are given back.
            at -= held >> 3;
            [bits, held] = [0, 0];
            if (at + 4 > input.length) throw new Cut();
            const count = input[at] | (input[at + 1] << 8);
            if (((input[at + 2] | (input[at + 3] << 8)) ^ 0xffff) !== count) {
              throw new Damage("a stored length that is not confirmed");
            }
            at += 4;
            const end = Math.min(at + count, input.length);
            room(count);
            out.set(input.subarray(at, end), size);
            size += end - at;
            if (end - at < count) throw new Cut();
            at = end;
          } else if (kind === 1) {
            block(fixedCode, fixedDistances);
          } else if (kind === 2) {
            block(...codes());
          } else {
            throw new Damage("a kind of block that there is not");
          }
        }
      } catch (error) {
        if (!(error instanceof Cut)) throw error;
        return { text: out.subarray(0, size), end: input.length, isCut: true };
      }
      at -= held >> 3;
      return { text: out.subarray(0, size), end: at, isCut: false };
    };

    const ROUNDS = (() => {
      // The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
      const primes = [];
      for (let n = 2; primes.length < 64; n += 1) if (primes.every((p) => n % p)) primes.push(n);
      const root = (prime) => {
        // Of prime * 2^96, to the last bit.
        const target = BigInt(prime) << 96n;
        let [low, high] = [0n, 1n << 40n];
        while (low < high) {
          const middle = (low + high + 1n) >> 1n;
          if (middle * middle * middle <= target) low = middle;
          else high = middle - 1n;
        }
        return Number(low & 0xffffffffn);
      };
      return Int32Array.from(primes, (prime) => root(prime) | 0);
    })();
    class SHA256 {
      constructor() {
        this.state = Int32Array.of(
          0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
          0x5be0cd19);
        this.held = new Uint8Array(64);
        this.heldCount = 0;
        this.total = 0;
        this.words = new Int32Array(64);
      }
      update(bytes) {
        this.total += bytes.length;
        let at = 0;
        if (this.heldCount > 0) {
          const count = Math.min(64 - this.heldCount, bytes.length);
          this.held.set(bytes.subarray(0, count), this.heldCount);
          this.heldCount += count;
          at = count;
          if (this.heldCount === 64) {
            this.compress(this.held, 0);
            this.heldCount = 0;
          }
        }
        for (; at + 64 <= bytes.length; at += 64) this.compress(bytes, at);
        if (at < bytes.length) {
          this.held.set(bytes.subarray(at), 0);
          this.heldCount = bytes.length - at;
        }
        return this;
      }
      compress(bytes, at) {
        const w = this.words;
        for (let i = 0; i < 16; i += 1) {
          const j = at + 4 * i;
          w[i] = (bytes[j] << 24) | (bytes[j + 1] << 16) | (bytes[j + 2] << 8) | bytes[j + 3];
        }
        for (let i = 16; i < 64; i += 1) {
          const [x, y] = [w[i - 15], w[i - 2]];
          const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
          const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
          w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
        }
        const s = this.state;
        let [a, b, c, d, e, f, g, h] = s;
        for (let i = 0; i < 64; i += 1) {
          const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
          const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
          const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
          const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
          h = g;
          g = f;
          f = e;
          e = (d + t1) | 0;
          d = c;
          c = b;
          b = a;
          a = (t1 + t2) | 0;
        }
        s[0] += a;
        s[1] += b;
        s[2] += c;
        s[3] += d;
        s[4] += e;
        s[5] += f;
        s[6] += g;
        s[7] += h;
      }
      hex() {
        const total = this.total;
        const padding = new Uint8Array((119 - (total % 64)) % 64 + 9);
        padding[0] = 0x80;
        const view = new DataView(padding.buffer);
        view.setUint32(padding.length - 8, Math.floor(total / 0x20000000));
        view.setUint32(padding.length - 4, (total << 3) >>> 0);
        this.update(padding);
        return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
      }
    }

    """#
}
