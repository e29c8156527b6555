#include <stddef.h>
#include <zlib.h>

/* Swift's Glibc module leaves out what stands behind _GNU_SOURCE; TraceStorage needs
   renameat2(2) to give a finished log its name without ever replacing another file, and memmem(3). */
extern int renameat2(int, const char *, int, const char *, unsigned int);
extern void *memmem(const void *, size_t, const void *, size_t);
