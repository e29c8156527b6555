// The processes of this machine as /proc tells of them (proc(5)).

#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct directory_entry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

struct process {
  pid_t number, parent, session;
  // Whether it is one of those that are looked for.
  int is_meant;
};

// More than this at a time are taken in further rounds.
enum { process_limit = 1 << 15 };
static struct process processes[process_limit];

static char listing[1 << 14] __attribute__((aligned(8)));

static int number_in(const char *name) {
  int number = 0;
  for (const char *digit = name; *digit; digit++) {
    if (*digit < '0' || *digit > '9' || number > 1 << 26) return 0;
    number = number * 10 + (*digit - '0');
  }
  return number;
}

static int field(char **text) {
  char *start = *text;
  while (*start == ' ') start++;
  int sign = *start == '-' ? -1 : 1;
  if (sign < 0) start++;
  int number = 0;
  while (*start >= '0' && *start <= '9' && number < 1 << 27) number = number * 10 + (*start++ - '0');
  *text = start;
  return sign * number;
}

// Reads /proc/PID/stat: the fields follow the name, which stands in parentheses and may hold any character.
static int read_process(int folder, const char *name, struct process *process) {
  char path[24], text[512];
  size_t length = strlen(name);
  if (length > 12) return 0;
  memcpy(path, name, length);
  memcpy(path + length, "/stat", 6);
  int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  if (count <= 0) return 0;
  text[count] = 0;
  char *rest = strrchr(text, ')');
  if (!rest || !rest[1] || !rest[2]) return 0;
  char state = rest[2];
  if (state == 'Z' || state == 'X') return 0;
  rest += 3;
  process->number = number_in(name);
  process->parent = field(&rest);
  field(&rest);
  process->session = field(&rest);
  process->is_meant = 0;
  return process->number > 0;
}

static int read_processes(void) {
  int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  int count = 0;
  for (;;) {
    long bytes = syscall(SYS_getdents64, folder, listing, sizeof listing);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes && count < process_limit;) {
      struct directory_entry *entry = (struct directory_entry *)(listing + at);
      at += entry->length;
      if (number_in(entry->name) && read_process(folder, entry->name, &processes[count])) count++;
    }
  }
  close(folder);
  return count;
}

static int kill_meant(int count) {
  int killed = 0;
  for (int index = 0; index < count; index++) {
    if (processes[index].is_meant && kill(processes[index].number, SIGKILL) == 0) killed++;
  }
  return killed;
}

int kill_session(pid_t session) {
  int count = read_processes();
  for (int index = 0; index < count; index++)
    processes[index].is_meant = processes[index].session == session;
  return count < 0 ? -1 : kill_meant(count);
}

// By their numbers, as the system mostly lists them anyway; nothing is allocated for it.
static void put_in_order(int count) {
  for (int index = 1; index < count; index++) {
    struct process moved = processes[index];
    int place = index;
    for (; place > 0 && processes[place - 1].number > moved.number; place--) processes[place] = processes[place - 1];
    processes[place] = moved;
  }
}

// The process of a number among those that were read, which are in order; NULL where there is none.
static struct process *process_of(pid_t number, int count) {
  int first = 0, end = count;
  while (first < end) {
    int middle = first + (end - first) / 2;
    if (processes[middle].number < number) first = middle + 1;
    else end = middle;
  }
  return first < count && processes[first].number == number ? &processes[first] : NULL;
}

int kill_descendants(void) {
  int count = read_processes();
  pid_t self = getpid();
  // What multiplies is not to win time while they are looked through: a parent mostly has the lesser number,
  // so that one pass, or a few, find all.
  put_in_order(count);
  int killed = 0;
  for (int found = 1; found;) {
    found = 0;
    for (int index = 0; index < count; index++) {
      if (processes[index].is_meant) continue;
      struct process *parent = process_of(processes[index].parent, count);
      if (processes[index].parent != self && !(parent && parent->is_meant)) continue;
      processes[index].is_meant = found = 1;
      // At once: what is dead starts nothing more.
      if (kill(processes[index].number, SIGKILL) == 0) killed++;
    }
  }
  return count < 0 ? -1 : killed;
}

int32_t program_open_descriptors(void) {
  int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -errno;
  // A buffer of its own: other threads may look too.
  char buffer[4096] __attribute__((aligned(8)));
  int count = 0;
  for (;;) {
    long bytes = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      struct directory_entry *entry = (struct directory_entry *)(buffer + at);
      at += entry->length;
      if (entry->name[0] != '.') count++;
    }
  }
  close(folder);
  // Without the one that was looked through.
  return count - 1;
}
