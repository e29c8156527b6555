#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// MARK: Words

static void say(int control, int kind, int value, int detail) {
  struct program_word word = {kind, value, detail};
  while (send(control, &word, sizeof word, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
}

int32_t program_tell(int32_t control, uint8_t word) {
  return send(control, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

int32_t program_hear(int32_t control, struct program_word *word, int32_t *descriptor) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } space;
  struct iovec part = {word, sizeof *word};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.bytes;
  message.msg_controllen = sizeof space.bytes;
  *descriptor = -1;
  ssize_t count;
  do count = recvmsg(control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno == ECONNRESET ? 0 : -errno;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
      memcpy(descriptor, CMSG_DATA(header), sizeof(int));
  }
  return count == sizeof *word;
}

// MARK: Descriptors

int32_t program_input(const void *bytes, size_t length) {
  int file = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -errno;
  const char *rest = bytes;
  while (length > 0) {
    ssize_t count = write(file, rest, length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      int number = count < 0 ? errno : ENOSPC;
      close(file);
      return -number;
    }
    rest += count;
    length -= (size_t)count;
  }
  if (fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0 ||
      lseek(file, 0, SEEK_SET) != 0) {
    int number = errno;
    close(file);
    return -number;
  }
  return file;
}

int32_t program_pipe(int32_t ends[2], int32_t keeps_reading) {
  if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
  int kept = keeps_reading ? ends[0] : ends[1];
  fcntl(kept, F_SETFL, fcntl(kept, F_GETFL) | O_NONBLOCK);
  return 0;
}

int32_t program_bell(void) {
  int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return bell < 0 ? -errno : bell;
}

static void close_range_of(unsigned first, unsigned last) {
  if (first > last) return;
  if (syscall(SYS_close_range, first, last, 0) == 0) return;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < last) last = (unsigned)limit.rlim_cur;
  for (unsigned number = first; number <= last; number++) close((int)number);
}

static void close_all_but(const int *kept, int count) {
  unsigned next = 0;
  for (;;) {
    // The least of those kept that has not been passed.
    unsigned least = ~0u;
    for (int index = 0; index < count; index++) {
      if (kept[index] >= 0 && (unsigned)kept[index] >= next && (unsigned)kept[index] < least)
        least = (unsigned)kept[index];
    }
    if (least == ~0u) break;
    if (least > next) close_range_of(next, least - 1);
    next = least + 1;
  }
  close_range_of(next, ~0u);
}

// MARK: The program

static struct fault fault_at(int stage) {
  struct fault fault = {stage, errno};
  return fault;
}

// In the child that is to become the program. Comes back only where it could not.
static struct fault become_program(const struct program_start *start, pid_t parent) {
  // In a sandbox it belongs to the group of the first process there, which knows its number outside.
  if (!start->sandbox) start->has_session ? setsid() : setpgid(0, 0);
  // Should the watcher be killed, there is nobody who could end the program.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  int streams[3];
  for (int index = 0; index < 3; index++) {
    streams[index] = start->streams[index];
    // Out of the way of what is put there next.
    if (streams[index] < 3) streams[index] = fcntl(streams[index], F_DUPFD_CLOEXEC, 3);
    if (streams[index] < 0) return fault_at(PROGRAM_STAGE_WATCHER);
  }
  for (int index = 0; index < 3; index++) {
    if (dup2(streams[index], index) < 0) return fault_at(PROGRAM_STAGE_WATCHER);
  }
  if (start->sandbox && start->sandbox->has_root) {
    if (chdir(start->sandbox->home) != 0) return fault_at(PROGRAM_STAGE_FOLDER);
  } else if (start->folder && chdir(start->folder) != 0) {
    return fault_at(PROGRAM_STAGE_FOLDER);
  }
  if (start->sandbox) {
    int number = give_up_rights();
    if (number) {
      errno = number;
      return fault_at(PROGRAM_STAGE_RIGHTS);
    }
  }
  for (int index = 0; index < start->limit_count; index++) {
    struct rlimit limit = {start->limits[index].value, start->limits[index].value};
    struct rlimit now;
    // Who may not raise a limit has the one that is there.
    if (getrlimit((__rlimit_resource_t)start->limits[index].resource, &now) == 0 &&
        now.rlim_max < limit.rlim_max && geteuid() != 0)
      limit.rlim_cur = limit.rlim_max = now.rlim_max;
    if (setrlimit((__rlimit_resource_t)start->limits[index].resource, &limit) != 0)
      return fault_at(PROGRAM_STAGE_LIMITS);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  int reason = ENOENT;
  for (const char *const *path = start->paths; *path; path++) {
    execve(*path, (char *const *)start->arguments, (char *const *)start->environment);
    if (errno != ENOENT && errno != ENOTDIR && (errno != EACCES || reason == ENOENT)) reason = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  errno = reason;
  return fault_at(PROGRAM_STAGE_EXECUTE);
}

__attribute__((noinline)) pid_t start_program(const struct program_start *start, int faults) {
  pid_t parent = getpid();
  pid_t child = vfork();
  if (child == 0) {
    struct fault fault = become_program(start, parent);
    ssize_t count = write(faults, &fault, sizeof fault);
    _exit(count == sizeof fault ? 127 : 126);
  }
  return child;
}

static pid_t start_sandboxed(
    const struct program_start *start, int control, int faults, int statuses) {
  // In a new namespace of users everybody is nobody until they are told.
  struct owner owner = {geteuid(), getegid()};
  long child = syscall(SYS_clone, namespaces_of(start->sandbox) | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) live_as_first(start, owner, control, faults, statuses);
  return (pid_t)child;
}

// MARK: The watcher

static void pause_for(long milliseconds) {
  struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

// Whether anything may be left of what the program started: whatever it was, its parent is gone, so that it
// is a child of this process, or descends from one.
static int has_left_any(pid_t program) {
  char text[32];
  int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;
  ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  if (count < 0) return 1;
  text[count] = 0;
  pid_t number = 0;
  for (char *digit = text; *digit >= '0' && *digit <= '9'; digit++) number = number * 10 + (*digit - '0');
  // Its own number, a space, and no more.
  char *space = strchr(text, ' ');
  return number != program || !space || space[1] != 0;
}

// Until nothing is left, or what is left cannot be killed: a process that waits for a device.
static void end_session(pid_t session) {
  kill(-session, SIGKILL);
  for (int round = 0; round < 40; round++) {
    if (kill_session(session) <= 0) return;
    pause_for(round < 10 ? 0 : 1);
  }
}

static void end_descendants(pid_t program) {
  if (program > 0) kill(-program, SIGKILL);
  for (int round = 0; round < 200; round++) {
    if (kill_descendants() <= 0) return;
    pause_for(round < 10 ? 0 : 1);
  }
}

// Whether the program has ended; it stays a zombie, so that its number belongs to nobody else. Others that
// ended, and whose parents are gone, are taken away.
static int has_ended(pid_t program) {
  for (;;) {
    siginfo_t info;
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)program, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != EINTR;
    if (info.si_pid) return 1;
    info.si_pid = 0;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || !info.si_pid) return 0;
    if (info.si_pid != program) waitpid(info.si_pid, NULL, 0);
  }
}

static void watch(const struct program_start *start, int control, pid_t program, int signals, int statuses)
    __attribute__((noreturn));

static void watch(
    const struct program_start *start, int control, pid_t program, int signals, int statuses) {
  int kills_all = 0;
  // Whether the program was told anything while it lived.
  int was_told = 0;
  struct pollfd waiting[2] = {{control, POLLIN, 0}, {signals, POLLIN, 0}};
  while (!has_ended(program)) {
    if (poll(waiting, 2, -1) < 0) continue;
    if (waiting[1].revents) {
      struct signalfd_siginfo info;
      while (read(signals, &info, sizeof info) == sizeof info) continue;
    }
    if (!waiting[0].revents) continue;
    uint8_t word = 0;
    ssize_t count = recv(control, &word, 1, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) {
      // Whoever started it is gone.
      end_descendants(program);
      _exit(0);
    }
    if (has_ended(program)) break;
    was_told = 1;
    if (word == PROGRAM_KILL_ALL) {
      kills_all = 1;
      end_descendants(program);
      // What cannot be killed is not waited for for ever: the other end closes then.
    } else if (word == PROGRAM_END_ALL) {
      kills_all = 1;
    } else {
      kill(-program, word);
    }
  }
  if (has_left_any(program)) {
    if (kills_all) end_descendants(program);
    else if (start->has_session) end_session(program);
  }
  int status = 0;
  while (waitpid(program, &status, 0) < 0 && errno == EINTR) continue;
  int told;
  if (statuses >= 0 && read(statuses, &told, sizeof told) == sizeof told) status = told;
  say(control, PROGRAM_ENDED, status, was_told);
  _exit(0);
}

static void reset_signals(void) {
  struct sigaction plain;
  memset(&plain, 0, sizeof plain);
  plain.sa_handler = SIG_DFL;
  for (int number = 1; number < 65; number++) {
    if (number != SIGKILL && number != SIGSTOP) sigaction(number, &plain, NULL);
  }
}

static void become_watcher(const struct program_start *start, int control)
    __attribute__((noreturn));

static void become_watcher(const struct program_start *start, int control) {
  // Nothing that a terminal sends to whoever started it is meant for the watcher.
  if (start->has_session) setsid(); else setpgid(0, 0);
  prctl(PR_SET_NAME, "program-watcher");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int kept[6] = {start->streams[0], start->streams[1], start->streams[2], control,
                 start->network ? start->network->users : -1,
                 start->network ? start->network->network : -1};
  close_all_but(kept, 6);
  // What is opened from here on stays out of the way of the program's streams.
  for (int place = open("/dev/null", O_RDWR | O_CLOEXEC); place >= 0; place = open("/dev/null", O_RDWR | O_CLOEXEC)) {
    if (place > 2) {
      close(place);
      break;
    }
  }
  reset_signals();
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (start->network) {
    // Here, so that nothing that the program starts is anywhere else.
    if (setns(start->network->users, CLONE_NEWUSER) != 0 ||
        setns(start->network->network, CLONE_NEWNET) != 0) {
      say(control, PROGRAM_FAILED, PROGRAM_STAGE_NETWORK, errno);
      _exit(1);
    }
    close(start->network->users);
    close(start->network->network);
  }
  int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  int faults[2], statuses[2] = {-1, -1};
  if (signals < 0 || pipe2(faults, O_CLOEXEC) != 0 ||
      (start->sandbox && pipe2(statuses, O_CLOEXEC | O_NONBLOCK) != 0)) {
    say(control, PROGRAM_FAILED, PROGRAM_STAGE_WATCHER, errno);
    _exit(1);
  }
  pid_t program = start->sandbox ? start_sandboxed(start, control, faults[1], statuses[1])
                                 : start_program(start, faults[1]);
  int number = errno;
  close(faults[1]);
  if (start->sandbox) close(statuses[1]);
  if (program < 0) {
    int stage = start->sandbox ? PROGRAM_STAGE_NAMESPACES : PROGRAM_STAGE_WATCHER;
    say(control, PROGRAM_FAILED, stage, number);
    _exit(1);
  }
  for (int index = 0; index < 3; index++) close(start->streams[index]);
  struct fault fault;
  ssize_t count;
  do count = read(faults[0], &fault, sizeof fault);
  while (count < 0 && errno == EINTR);
  if (count == sizeof fault) {
    waitpid(program, NULL, 0);
    say(control, PROGRAM_FAILED, fault.stage, fault.number);
    _exit(1);
  }
  close(faults[0]);
  say(control, PROGRAM_STARTED, program, 0);
  watch(start, control, program, signals, statuses[0]);
}

int32_t program_watch(const struct program_start *start, int32_t *watcher) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  // No handler of this process may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = fork();
  if (child == 0) become_watcher(start, ends[1]);
  int number = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return -number;
  }
  *watcher = child;
  return ends[0];
}
