// Keeps the numbers of the standard streams from other files.
//
// Where a program is started with one of them closed, the next file that is opened gets its number. That is the
// scheduler's own, before the first line of Swift runs: what is printed would go into it, or later into a log, and
// would count as written.

#include <errno.h>
#include <fcntl.h>

// Before anything else opens a file. What is put there is open the wrong way round: reads and writes fail with EBADF,
// as on a stream that is closed, and are told as such.
__attribute__((constructor)) static void keep_streams(void) {
  for (int stream = 0; stream <= 2; stream++) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free, which is this one: those below are taken.
    if (open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) < 0) return;
  }
}
