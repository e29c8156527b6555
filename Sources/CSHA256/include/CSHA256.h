#ifndef CSHA256_H
#define CSHA256_H

#include <stddef.h>
#include <stdint.h>

/// SHA-256 (FIPS 180-4) of bytes that come one after another. A plain value: a copy goes on by itself.
typedef struct {
    /// The eight words of the hash so far.
    uint32_t words[8];
    /// How many bytes were taken in.
    uint64_t count;
    /// The bytes that do not fill a block yet: `count % 64` of them.
    uint8_t rest[64];
} sha256_state;

/// The state before the first byte.
sha256_state sha256_begin(void);

/// Takes in bytes.
void sha256_update(sha256_state *_Nonnull state, const void *_Nullable bytes, size_t count);

/// Writes the digest of all bytes taken in so far, 32 of them; the state stays as it is.
void sha256_digest(const sha256_state *_Nonnull state, void *_Nonnull digest);

/// Writes the digest of some bytes, which stay where they are.
void sha256_of(const void *_Nullable bytes, size_t count, void *_Nonnull digest);

/// How blocks can be taken in.
typedef enum {
    /// By the instructions that the processor has for it, where it has them.
    SHA256_FASTEST,
    /// As the standard writes it down, on every processor.
    SHA256_PLAIN,
} sha256_way;

/// The way that this processor is given for one that is asked for.
sha256_way sha256_way_here(sha256_way asked);

/// As `sha256_of`, by one way: the plain one is what the other is held against.
void sha256_of_by(sha256_way way, const void *_Nullable bytes, size_t count, void *_Nonnull digest);

#endif
