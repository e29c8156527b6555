// Programs beneath a process that watches over them.
//
// Swift may not fork; and a program may outlive, or begin without, whoever started it. So the few calls
// that a child has to make between fork(2) and execve(2) stand here, in C that allocates nothing and calls
// only what is safe after a fork of a process with threads (signal-safety(7)).
//
// Between this process and a program stands a watcher: a copy of this process that holds none of its
// descriptors but one end of a socket. It starts the program, passes signals on to its process group, takes
// away what the program leaves behind, and tells how it ended. When the other end of the socket closes,
// however this process ended, the watcher kills whatever descends from it and goes.
//
// Why: Docs/decisions/0016-programs-run-beneath-a-watcher.md

#ifndef CPROGRAMS_H
#define CPROGRAMS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A limit of setrlimit(2).
struct program_limit {
  int32_t resource;
  uint64_t value;
};

// What keeps a program from the rest of the machine.
struct program_sandbox {
  // Namespaces of its own (namespaces(7)): of users, so that whoever is not root may make the others; of
  // mounts, with a root of its own; of networks, without any; of processes and of what they share.
  int32_t has_users, has_root, has_network, has_processes;
  // The most bytes, and files, that all it writes may take; only with a root of its own.
  uint64_t quota_bytes, quota_files;
  // Where it may write: the only place, with a root of its own.
  const char *home;
  // What of this system it sees, read-only, as far as it is there; NULL at the end. With a root of its own.
  const char *const *visible;
  // A file that it finds in its home.
  const char *file_name;
  const void *file_bytes;
  size_t file_length;
};

// A network of its own, in which nothing can be reached but a socket (network_namespaces(7)).
struct program_network {
  // Namespaces of users and of networks, as descriptors.
  int32_t users, network;
  // A socket that listens there on loopback, and its port.
  int32_t listener, port;
  // Its tables of TCP sockets, by IPv4 and by IPv6 (proc_net(5)), open to be read.
  int32_t sockets, sockets6;
};

// What is to be started. Read only while program_watch runs.
struct program_start {
  // Where the program may be, in order; NULL at the end.
  const char *const *paths;
  const char *const *arguments;
  const char *const *environment;
  // NULL for this process's own.
  const char *folder;
  // Standard input, output and error of the program; they stay open here.
  int32_t streams[3];
  // Whether it gets a session, or only a process group of its own.
  int32_t has_session;
  const struct program_limit *limits;
  int32_t limit_count;
  // NULL for none.
  const struct program_sandbox *sandbox;
  // NULL for the network of this process.
  const struct program_network *network;
};

// What a watcher says.
enum {
  // The program runs; `value` is its number.
  PROGRAM_STARTED = 1,
  // It could not be started; `value` is the stage, `detail` the error number. Nothing more comes.
  PROGRAM_FAILED = 2,
  // It has ended, and nothing of its session lives; `value` as of waitpid(2), `detail` whether it was told
  // anything while it lived. Nothing more comes.
  PROGRAM_ENDED = 3,
  // The descriptor that comes with this word is the program's home.
  PROGRAM_HOME = 4,
};

// What could not be done.
enum {
  PROGRAM_STAGE_WATCHER = 1,
  PROGRAM_STAGE_FOLDER = 2,
  PROGRAM_STAGE_LIMITS = 3,
  PROGRAM_STAGE_EXECUTE = 4,
  PROGRAM_STAGE_NAMESPACES = 5,
  PROGRAM_STAGE_USERS = 6,
  PROGRAM_STAGE_ROOT = 7,
  PROGRAM_STAGE_SYSTEM = 8,
  PROGRAM_STAGE_QUOTA = 9,
  PROGRAM_STAGE_PROCESSES = 10,
  PROGRAM_STAGE_RIGHTS = 11,
  PROGRAM_STAGE_NETWORK = 12,
};

struct program_word {
  int32_t kind, value, detail;
};

// What a watcher is told: the number of a signal for the program's process group, or one of these: to kill it and all
// that descends from it, now, or what is left of that at its end.
enum { PROGRAM_KILL_ALL = 255, PROGRAM_END_ALL = 254 };

// Starts a watcher, and with it a program.
//
// Returns this process's end of the socket (SOCK_SEQPACKET), or minus an error number. `watcher` becomes
// the child's number, which is to be waited for once the socket has closed.
int32_t program_watch(const struct program_start *start, int32_t *watcher);

// Makes a network of its own for programs, and a socket in it. The descriptors are the caller's. Returns 0, or
// minus an error number where the system refuses one.
int32_t program_network(struct program_network *network);

// Says something to a watcher; whether it could be said.
int32_t program_tell(int32_t control, uint8_t word);

// What a watcher says next, and the descriptor that came with it, or -1.
//
// Returns 1, or 0 where the watcher is gone, or minus an error number (EAGAIN where it says nothing yet).
int32_t program_hear(int32_t control, struct program_word *word, int32_t *descriptor);

// A descriptor from which exactly these bytes are read: a file in memory that nobody can change any more
// (memfd_create(2), sealed). Minus an error number where there is none.
int32_t program_input(const void *bytes, size_t length);

// A pipe whose ends no program inherits: reading first. The end that stays here does not wait. Whether
// this process keeps the reading end is said by `keeps_reading`. Returns 0 or minus an error number.
int32_t program_pipe(int32_t ends[2], int32_t keeps_reading);

// A descriptor by which another thread is woken (eventfd(2)); minus an error number where there is none.
int32_t program_bell(void);

// How many descriptors this process has open, or minus an error number.
int32_t program_open_descriptors(void);

#endif
