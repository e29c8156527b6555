// SHA-256 (FIPS 180-4), by the processor's own instructions where it has them: on x86 those of the SHA extensions
// (Intel SDM, volume 2, SHA256RNDS2, SHA256MSG1, SHA256MSG2), on arm64 those of FEAT_SHA256 (Arm ARM, SHA256H and its
// like). Both are held against the plain way, and that against the standard's examples, by DigestTests.

#include "CSHA256.h"

#include <stdatomic.h>
#include <string.h>

static const uint32_t constants[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

typedef void take_blocks(uint32_t words[8], const uint8_t *bytes, size_t blocks);

static uint32_t turned(uint32_t word, unsigned bits) { return word >> bits | word << (32 - bits); }

static uint32_t big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Round t, which changes what stands in d and h; the next one calls the words by the names they then have.
#define ROUND(a, b, c, d, e, f, g, h, t)                                                          \
    h += (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (g ^ (e & (f ^ g))) + constants[t] + w[(t) % 16]; \
    d += h;                                                                                       \
    h += (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) | (c & (a | b)));

static void take_plainly(uint32_t words[8], const uint8_t *bytes, size_t blocks) {
    for (; blocks > 0; blocks--, bytes += 64) {
        // The last sixteen words of the schedule.
        uint32_t w[16];
        for (int t = 0; t < 16; t++) w[t] = big_endian(bytes + 4 * t);
        uint32_t a = words[0], b = words[1], c = words[2], d = words[3];
        uint32_t e = words[4], f = words[5], g = words[6], h = words[7];
        for (int t = 0; t < 64; t += 8) {
            ROUND(a, b, c, d, e, f, g, h, t)
            ROUND(h, a, b, c, d, e, f, g, t + 1)
            ROUND(g, h, a, b, c, d, e, f, t + 2)
            ROUND(f, g, h, a, b, c, d, e, t + 3)
            ROUND(e, f, g, h, a, b, c, d, t + 4)
            ROUND(d, e, f, g, h, a, b, c, t + 5)
            ROUND(c, d, e, f, g, h, a, b, t + 6)
            ROUND(b, c, d, e, f, g, h, a, t + 7)
            if (t >= 48) continue;
            // The eight words for the rounds after the next eight.
            for (int i = t; i < t + 8; i++) {
                uint32_t w1 = w[(i + 1) % 16], w14 = w[(i + 14) % 16];
                w[i % 16] += (turned(w1, 7) ^ turned(w1, 18) ^ w1 >> 3) + w[(i + 9) % 16]
                    + (turned(w14, 17) ^ turned(w14, 19) ^ w14 >> 10);
            }
        }
        words[0] += a, words[1] += b, words[2] += c, words[3] += d;
        words[4] += e, words[5] += f, words[6] += g, words[7] += h;
    }
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

// The instructions hold the eight words as (A, B, E, F) and (C, D, G, H), the highest first, and take in two rounds each.
__attribute__((target("sha,sse4.1,ssse3")))
static void take_by_instructions(uint32_t words[8], const uint8_t *bytes, size_t blocks) {
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i low = _mm_loadu_si128((const __m128i *)&words[0]);   // D C B A
    __m128i high = _mm_loadu_si128((const __m128i *)&words[4]);  // H G F E
    low = _mm_shuffle_epi32(low, 0xb1);                          // C D A B
    high = _mm_shuffle_epi32(high, 0x1b);                        // E F G H
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);

    for (; blocks > 0; blocks--, bytes += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++) {
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(bytes + 16 * i)), order);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            // Four words of the schedule: from the block, then from the sixteen before them.
            if (i >= 4) {
                __m128i next = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);
                next = _mm_add_epi32(next, _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4));
                w[i % 4] = _mm_sha256msg2_epu32(next, w[(i + 3) % 4]);
            }
            __m128i sum =
                _mm_add_epi32(w[i % 4], _mm_load_si128((const __m128i *)&constants[4 * i]));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }

    __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)&words[0], _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)&words[4], _mm_alignr_epi8(dchg, feba, 8));
}

static int has_instructions(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    // SSSE3 and SSE4.1.
    if (!(c & 1u << 9) || !(c & 1u << 19)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    return (b & 1u << 29) != 0;
}

#elif defined(__aarch64__)

#include <arm_neon.h>
#include <sys/auxv.h>

__attribute__((target("sha2")))
static void take_by_instructions(uint32_t words[8], const uint8_t *bytes, size_t blocks) {
    uint32x4_t abcd = vld1q_u32(&words[0]), efgh = vld1q_u32(&words[4]);
    for (; blocks > 0; blocks--, bytes += 64) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w[4];
        for (int i = 0; i < 4; i++) {
            w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            if (i >= 4) {
                uint32x4_t next = vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]);
                w[i % 4] = vsha256su1q_u32(next, w[(i + 2) % 4], w[(i + 3) % 4]);
            }
            uint32x4_t sum = vaddq_u32(w[i % 4], vld1q_u32(&constants[4 * i]));
            uint32x4_t before = abcd;
            abcd = vsha256hq_u32(abcd, efgh, sum);
            efgh = vsha256h2q_u32(efgh, before, sum);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(&words[0], abcd);
    vst1q_u32(&words[4], efgh);
}

// Bit 6 of what the kernel says of the processor (HWCAP_SHA2).
static int has_instructions(void) { return (getauxval(AT_HWCAP) & 1u << 6) != 0; }

#else

#define take_by_instructions take_plainly
static int has_instructions(void) { return 0; }

#endif

// 0 before anybody asked, then 1 and what there is. Threads that ask at once find the same.
static atomic_int known;

static int are_instructions_there(void) {
    int told = atomic_load_explicit(&known, memory_order_relaxed);
    if (told == 0) {
        told = 1 + (has_instructions() != 0);
        atomic_store_explicit(&known, told, memory_order_relaxed);
    }
    return told == 2;
}

sha256_way sha256_way_here(sha256_way asked) {
    return asked == SHA256_FASTEST && are_instructions_there() ? SHA256_FASTEST : SHA256_PLAIN;
}

static take_blocks *taking(sha256_way way) {
    return sha256_way_here(way) == SHA256_FASTEST ? take_by_instructions : take_plainly;
}

sha256_state sha256_begin(void) {
    return (sha256_state){
        .words = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                  0x5be0cd19},
    };
}

static void update(sha256_state *state, const uint8_t *bytes, size_t count, take_blocks *take) {
    if (count == 0) return;
    size_t filled = state->count % 64;
    state->count += count;
    if (filled > 0) {
        size_t part = 64 - filled < count ? 64 - filled : count;
        memcpy(state->rest + filled, bytes, part);
        bytes += part, count -= part;
        if (filled + part < 64) return;
        take(state->words, state->rest, 1);
    }
    take(state->words, bytes, count / 64);
    memcpy(state->rest, bytes + (count & ~(size_t)63), count % 64);
}

static void finish(const sha256_state *state, uint8_t *digest, take_blocks *take) {
    uint32_t words[8];
    memcpy(words, state->words, sizeof words);
    // The bytes that are left, a one bit, zeros, and how many bits there were.
    uint8_t last[128] = {0};
    size_t filled = state->count % 64, end = filled < 56 ? 64 : 128;
    memcpy(last, state->rest, filled);
    last[filled] = 0x80;
    for (int i = 0; i < 8; i++) last[end - 1 - i] = (uint8_t)(state->count << 3 >> (8 * i));
    take(words, last, end / 64);
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 4; j++) digest[4 * i + j] = (uint8_t)(words[i] >> (24 - 8 * j));
    }
}

void sha256_update(sha256_state *state, const void *bytes, size_t count) {
    update(state, bytes, count, taking(SHA256_FASTEST));
}

void sha256_digest(const sha256_state *state, void *digest) {
    finish(state, digest, taking(SHA256_FASTEST));
}

void sha256_of_by(sha256_way way, const void *bytes, size_t count, void *digest) {
    take_blocks *take = taking(way);
    sha256_state state = sha256_begin();
    update(&state, bytes, count, take);
    finish(&state, digest, take);
}

void sha256_of(const void *bytes, size_t count, void *digest) {
    sha256_of_by(SHA256_FASTEST, bytes, count, digest);
}
