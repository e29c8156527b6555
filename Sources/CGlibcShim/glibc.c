// Four functions of newer C libraries, so that the program runs with glibc 2.34 as well. Each is found before
// the library's own, because it is linked in; being hidden, none is seen by what is loaded.
//
//   arc4random       glibc 2.36   the C++ library, which is linked in, takes random numbers from it
//   hypot, hypotf    glibc 2.35   Foundation's CGFloat and the module Glibc name them
//   _dl_find_object  glibc 2.35   GCC's unwinder, which is linked in, finds the tables of a function with it
//
// bin/check-symbols tells when another one has come.

#include "CGlibcShim.h"

#include <features.h>

#if defined(__GLIBC__) && defined(__LP64__)

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

// MARK: Random numbers

HIDDEN uint32_t arc4random(void);
HIDDEN uint32_t arc4random(void) {
  uint32_t value;
  size_t done = 0;
  while (done < sizeof value) {
    ssize_t count = getrandom((char *)&value + done, sizeof value - done, 0);
    if (count > 0) {
      done += (size_t)count;
    } else if (errno != EINTR) {
      abort();  // As the library's own does: there is no number that would be right.
    }
  }
  return value;
}

// MARK: Length of a vector

// The version of it that every glibc of the architecture has: the same function behind another way to tell of
// errors.
#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

#ifdef OLDEST
extern double agent_eval_oldest_hypot(double, double);
extern float agent_eval_oldest_hypotf(float, float);
__asm__(".symver agent_eval_oldest_hypot, hypot@" OLDEST);
__asm__(".symver agent_eval_oldest_hypotf, hypotf@" OLDEST);

HIDDEN double hypot(double x, double y);
HIDDEN float hypotf(float x, float y);
HIDDEN double hypot(double x, double y) { return agent_eval_oldest_hypot(x, y); }
HIDDEN float hypotf(float x, float y) { return agent_eval_oldest_hypotf(x, y); }
#endif

// MARK: The object that a function is in

// What <dlfcn.h> of glibc 2.35 calls struct dl_find_object, on machines with 64 bits that keep no base for
// exception tables there (x86-64 and AArch64 keep none).
struct found_object {
  unsigned long long flags;
  void *map_start;
  void *map_end;
  struct link_map *link_map;
  void *eh_frame;
  unsigned long long reserved[7];
};

struct search {
  uintptr_t address;
  struct found_object *found;
};

// Looks whether the address is in this object, and whether that has a table to search.
static int look(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct search *search = data;
  const ElfW(Phdr) *table = NULL;
  uintptr_t first = UINTPTR_MAX, last = 0;
  int is_within = 0;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[index];
    uintptr_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_memsz;
    if (header->p_type == PT_GNU_EH_FRAME) table = header;
    if (header->p_type != PT_LOAD) continue;
    if (start < first) first = start;
    if (end > last) last = end;
    if (search->address >= start && search->address < end) is_within = 1;
  }
  if (!is_within) return 0;
  if (table == NULL) return -1;
  *search->found = (struct found_object){
    .map_start = (void *)first,
    .map_end = (void *)last,
    .eh_frame = (void *)(info->dlpi_addr + table->p_vaddr),
  };
  return 1;
}

// 0 where it is found, else -1. GCC's unwinder takes eh_frame alone; until GCC 11 it did this search itself.
// Under another name here, since <dlfcn.h> may or may not declare it.
HIDDEN int find_object(void *address, struct found_object *found) __asm__("_dl_find_object");
int find_object(void *address, struct found_object *found) {
  struct search search = {.address = (uintptr_t)address, .found = found};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

#endif
