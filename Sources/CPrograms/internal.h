#ifndef CPROGRAMS_INTERNAL_H
#define CPROGRAMS_INTERNAL_H

#include "CPrograms.h"

#include <sys/types.h>

// What a child that could not become the program writes to its parent.
struct fault {
  int32_t stage, number;
};

// Whose process it is outside of a sandbox.
struct owner {
  uid_t user;
  gid_t group;
};

// Starts the program, which has begun, or has written to `faults` why not, when this comes back. Its number,
// or -1.
pid_t start_program(const struct program_start *start, int faults);

// In the child that `start_sandboxed` made: prepares the sandbox, starts the program, waits for its end,
// and goes. Faults go to `faults`, the program's status to `statuses`.
void live_as_first(
    const struct program_start *start, struct owner owner, int control, int faults, int statuses)
    __attribute__((noreturn));

// The flags of clone(2) for a sandbox.
int namespaces_of(const struct program_sandbox *sandbox);

// Gives up every right that a program could win back. 0 or an error number.
int give_up_rights(void);

// Sends SIGKILL to every process of a session that lives; how many there were, or -1 where the system
// does not tell.
int kill_session(pid_t session);

// Sends SIGKILL to every process that descends from this one and lives; likewise.
int kill_descendants(void);

#endif
