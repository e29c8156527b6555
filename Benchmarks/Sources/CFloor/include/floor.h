// What zlib alone costs on the same bytes.
#ifndef FLOOR_H
#define FLOOR_H
#include <stddef.h>

/// Inflates a gzip file of any number of members; adds what came out to `bytes` and `lines`.
/// 0, or -1 where the file cannot be read or inflated.
int floor_inflate(const char *path, unsigned long long *bytes, unsigned long long *lines);

/// All text of a gzip file of any number of members, to be freed; NULL where that does not go.
unsigned char *floor_text(const char *path, size_t *count);

/// A deflater at a level; NULL where there is no memory.
void *floor_deflater(int level);
/// Begins a new stream.
void floor_reset(void *deflater);
/// Deflates a line and flushes it (`finish`: ends the stream). The number of bytes that came out,
/// which stand in `floor_output`.
size_t floor_deflate(void *deflater, const unsigned char *line, size_t count, int finish);
const unsigned char *floor_output(void *deflater);
void floor_free(void *deflater);
#endif
