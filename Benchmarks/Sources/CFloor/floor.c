#include "floor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

int floor_inflate(const char *path, unsigned long long *bytes, unsigned long long *lines) {
  static unsigned char in[1 << 17], out[1 << 18];
  static z_stream stream;
  static int is_ready;
  if (!is_ready) {
    if (inflateInit2(&stream, 31) != Z_OK) return -1;
    is_ready = 1;
  }
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  inflateReset(&stream);
  int result = 0;
  ssize_t count;
  while (result == 0 && (count = read(file, in, sizeof in)) > 0) {
    stream.next_in = in;
    stream.avail_in = (uInt)count;
    do {
      stream.next_out = out;
      stream.avail_out = sizeof out;
      int status = inflate(&stream, Z_NO_FLUSH);
      size_t written = sizeof out - stream.avail_out;
      *bytes += written;
      for (unsigned char *p = out; (p = memchr(p, '\n', out + written - p)); p++) ++*lines;
      if (status == Z_STREAM_END) {
        inflateReset(&stream);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        result = -1;
      }
    } while (result == 0 && (stream.avail_in > 0 || stream.avail_out == 0));
  }
  close(file);
  return result;
}

unsigned char *floor_text(const char *path, size_t *count) {
  gzFile file = gzopen(path, "rb");
  if (!file) return NULL;
  size_t capacity = 1 << 20;
  unsigned char *text = malloc(capacity);
  *count = 0;
  int read = 0;
  while (text && (read = gzread(file, text + *count, (unsigned)(capacity - *count))) > 0) {
    *count += (size_t)read;
    if (*count < capacity) continue;
    capacity *= 2;
    unsigned char *larger = realloc(text, capacity);
    if (!larger) free(text);
    text = larger;
  }
  gzclose(file);
  if (read < 0) {
    free(text);
    text = NULL;
  }
  return text;
}

struct deflater {
  z_stream stream;
  size_t capacity;
  unsigned char *output;
};

void *floor_deflater(int level) {
  struct deflater *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  if (deflateInit2(&d->stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    free(d);
    return NULL;
  }
  return d;
}

void floor_reset(void *deflater) { deflateReset(&((struct deflater *)deflater)->stream); }

size_t floor_deflate(void *deflater, const unsigned char *line, size_t count, int finish) {
  struct deflater *d = deflater;
  size_t room = deflateBound(&d->stream, count) + 1024;
  if (room > d->capacity) {
    free(d->output);
    d->output = malloc(room);
    d->capacity = d->output ? room : 0;
    if (!d->output) return 0;
  }
  d->stream.next_in = (unsigned char *)line;
  d->stream.avail_in = (uInt)count;
  d->stream.next_out = d->output;
  d->stream.avail_out = (uInt)d->capacity;
  deflate(&d->stream, finish ? Z_FINISH : Z_SYNC_FLUSH);
  return d->capacity - d->stream.avail_out;
}

const unsigned char *floor_output(void *deflater) { return ((struct deflater *)deflater)->output; }

void floor_free(void *deflater) {
  struct deflater *d = deflater;
  deflateEnd(&d->stream);
  free(d->output);
  free(d);
}
