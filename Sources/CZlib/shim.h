#include <zlib.h>

/* Swift's Glibc module leaves out what stands behind _GNU_SOURCE; TraceStorage needs this one call
   to give a finished log its name without ever replacing another file (renameat2(2)). */
extern int renameat2(int, const char *, int, const char *, unsigned int);
