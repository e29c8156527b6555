// A root, a home, and rights of its own for a program that nobody vouches for.

#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int namespaces_of(const struct program_sandbox *sandbox) {
  int flags = 0;
  if (sandbox->has_users) flags |= CLONE_NEWUSER;
  if (sandbox->has_root) flags |= CLONE_NEWNS;
  if (sandbox->has_network) flags |= CLONE_NEWNET;
  if (sandbox->has_processes) flags |= CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
  return flags;
}

// MARK: Text

struct text {
  char bytes[PATH_MAX];
  size_t length;
};

static void add(struct text *text, const char *more) {
  size_t length = strlen(more);
  if (text->length + length >= sizeof text->bytes) length = sizeof text->bytes - 1 - text->length;
  memcpy(text->bytes + text->length, more, length);
  text->length += length;
  text->bytes[text->length] = 0;
}

static void add_number(struct text *text, uint64_t number) {
  char digits[24];
  int at = sizeof digits;
  digits[--at] = 0;
  do digits[--at] = (char)('0' + number % 10);
  while (number /= 10);
  add(text, digits + at);
}

static void set(struct text *text, const char *first, const char *second) {
  text->length = 0;
  text->bytes[0] = 0;
  add(text, first);
  add(text, second);
}

static int write_file(const char *path, int flags, const void *bytes, size_t length) {
  int file = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
  if (file < 0) return -1;
  ssize_t count = 0;
  for (size_t done = 0; done < length; done += (size_t)count) {
    count = write(file, (const char *)bytes + done, length - done);
    if (count < 0 && errno == EINTR) count = 0;
    else if (count <= 0) break;
  }
  int number = errno;
  close(file);
  errno = number;
  return count < 0 || (length > 0 && count == 0) ? -1 : 0;
}

// MARK: Users

static int map(const char *path, uint64_t number) {
  static struct text line;
  set(&line, "", "");
  add_number(&line, number);
  add(&line, " ");
  add_number(&line, number);
  add(&line, " 1\n");
  return write_file(path, 0, line.bytes, line.length);
}

// Everybody stays who they are: what the program writes belongs to whoever reads it afterwards.
static int map_users(uid_t user, gid_t group) {
  if (write_file("/proc/self/setgroups", 0, "deny", 4) != 0 && errno != ENOENT) return -1;
  return map("/proc/self/uid_map", user) != 0 || map("/proc/self/gid_map", group) != 0 ? -1 : 0;
}

int give_up_rights(void) {
  for (int right = 0; right < 64; right++) {
    if (prctl(PR_CAPBSET_READ, right, 0, 0, 0) == 1) prctl(PR_CAPBSET_DROP, right, 0, 0, 0);
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  return syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

// MARK: Root

// The parts of the system that a new root holds, from where the old one is mounted meanwhile.
static const char old_root[] = "/old";

static int make_folders(const char *path) {
  static struct text part;
  for (size_t index = 1;; index++) {
    if (path[index] != '/' && path[index] != 0) continue;
    if (index >= sizeof part.bytes) return -1;
    memcpy(part.bytes, path, index);
    part.bytes[index] = 0;
    if (mkdir(part.bytes, 0755) != 0 && errno != EEXIST) return -1;
    if (path[index] == 0) return 0;
  }
}

static int make_folder_of(const char *path) {
  static struct text parent;
  set(&parent, path, "");
  char *slash = strrchr(parent.bytes, '/');
  if (!slash || slash == parent.bytes) return 0;
  *slash = 0;
  return make_folders(parent.bytes);
}

static int make_read_only(const char *path) {
#ifdef SYS_mount_setattr
  struct {
    uint64_t set, clear, propagation, users;
  } attributes = {/* MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID */ 0x1 | 0x2, 0, 0, 0};
  if (syscall(SYS_mount_setattr, AT_FDCWD, path, /* AT_RECURSIVE */ 0x8000, &attributes,
              sizeof attributes) == 0)
    return 0;
  if (errno != ENOSYS) return -1;
#endif
  return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, NULL);
}

// Puts one path of the old root at its place in the new one. What is not there is left out.
static int show(const char *path, int is_read_only) {
  static struct text source, target;
  struct stat status;
  set(&source, old_root, path);
  if (lstat(source.bytes, &status) != 0) return 0;
  if (make_folder_of(path) != 0) return -1;
  if (S_ISLNK(status.st_mode)) {
    ssize_t length = readlink(source.bytes, target.bytes, sizeof target.bytes - 1);
    if (length < 0) return -1;
    target.bytes[length] = 0;
    return symlink(target.bytes, path) != 0 && errno != EEXIST ? -1 : 0;
  }
  struct stat there;
  if (lstat(path, &there) != 0) {
    if (S_ISDIR(status.st_mode) ? mkdir(path, 0755) != 0 : write_file(path, O_CREAT, "", 0) != 0)
      return -1;
  } else if (S_ISDIR(there.st_mode) != S_ISDIR(status.st_mode) || there.st_dev == status.st_dev) {
    // Seen already, within another path.
    return 0;
  }
  if (mount(source.bytes, path, NULL, MS_BIND | MS_REC, NULL) != 0) return -1;
  return is_read_only ? make_read_only(path) : 0;
}

static int make_devices(void) {
  if (mkdir("/dev", 0755) != 0) return -1;
  static const char *const devices[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", NULL};
  for (const char *const *device = devices; *device; device++) {
    if (show(*device, 0) != 0) return -1;
  }
  return symlink("/proc/self/fd", "/dev/fd") != 0 || symlink("fd/0", "/dev/stdin") != 0 ||
                 symlink("fd/1", "/dev/stdout") != 0 || symlink("fd/2", "/dev/stderr") != 0
             ? -1
             : 0;
}

// One place to write, of a size: home, and what others take for it.
static int make_home(const struct program_sandbox *sandbox) {
  static struct text options;
  set(&options, "mode=0700,size=", "");
  add_number(&options, sandbox->quota_bytes);
  add(&options, ",nr_inodes=");
  add_number(&options, sandbox->quota_files);
  if (make_folders(sandbox->home) != 0 ||
      mount("home", sandbox->home, "tmpfs", MS_NOSUID | MS_NODEV, options.bytes) != 0)
    return -1;
  // No link: parts of the system that are shown may have their places in it.
  return mkdir("/tmp", 0755) != 0 || mount(sandbox->home, "/tmp", NULL, MS_BIND, NULL) != 0 ||
                 symlink(sandbox->home, "/dev/shm") != 0
             ? -1
             : 0;
}

static void name_user(const struct program_sandbox *sandbox, struct owner owner) {
  static struct text line;
  if (mkdir("/etc", 0755) != 0 && errno != EEXIST) return;
  set(&line, "agent:x:", "");
  add_number(&line, owner.user);
  add(&line, ":");
  add_number(&line, owner.group);
  add(&line, "::");
  add(&line, sandbox->home);
  add(&line, ":/bin/sh\n");
  write_file("/etc/passwd", O_CREAT | O_EXCL, line.bytes, line.length);
}

// Says which stage failed; 0 for none.
static int make_root(const struct program_sandbox *sandbox, struct owner owner) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return PROGRAM_STAGE_ROOT;
  // Any folder does: nobody else sees what stands there now.
  if (mount("root", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0 ||
      mkdir("/tmp/old", 0700) != 0 || syscall(SYS_pivot_root, "/tmp", "/tmp/old") != 0 ||
      chdir("/") != 0)
    return PROGRAM_STAGE_ROOT;
  if (make_devices() != 0) return PROGRAM_STAGE_SYSTEM;
  if (make_home(sandbox) != 0) return PROGRAM_STAGE_QUOTA;
  for (const char *const *path = sandbox->visible; *path; path++) {
    if (show(*path, 1) != 0) return PROGRAM_STAGE_SYSTEM;
  }
  name_user(sandbox, owner);
  if (sandbox->has_processes &&
      (mkdir("/proc", 0555) != 0 ||
       mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0))
    return PROGRAM_STAGE_PROCESSES;
  if (umount2(old_root, MNT_DETACH) != 0 || rmdir(old_root) != 0 ||
      mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0)
    return PROGRAM_STAGE_ROOT;
  return 0;
}

// Writes the program's file into its home, and hands the home over.
static int furnish(const struct program_sandbox *sandbox, int control) {
  static struct text path;
  set(&path, sandbox->home, "/");
  add(&path, sandbox->file_name);
  if (write_file(path.bytes, O_CREAT | O_EXCL, sandbox->file_bytes, sandbox->file_length) != 0)
    return -1;
  int home = open(sandbox->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (home < 0) return -1;
  struct program_word word = {PROGRAM_HOME, 0, 0};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } space;
  memset(&space, 0, sizeof space);
  struct iovec part = {&word, sizeof word};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.bytes;
  message.msg_controllen = sizeof space.bytes;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &home, sizeof(int));
  ssize_t count = sendmsg(control, &message, MSG_NOSIGNAL);
  close(home);
  return count < 0 ? -1 : 0;
}

// MARK: The first process

static void give_up(int faults, int stage, int number) __attribute__((noreturn));

static void give_up(int faults, int stage, int number) {
  struct fault fault = {stage, number};
  ssize_t count = write(faults, &fault, sizeof fault);
  _exit(count == sizeof fault ? 127 : 126);
}

void live_as_first(
    const struct program_start *start, struct owner owner, int control, int faults, int statuses) {
  const struct program_sandbox *sandbox = start->sandbox;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setsid();
  if (sandbox->has_users && map_users(owner.user, owner.group) != 0)
    give_up(faults, PROGRAM_STAGE_USERS, errno);
  if (sandbox->has_root) {
    int stage = make_root(sandbox, owner);
    if (stage) give_up(faults, stage, errno);
    if (furnish(sandbox, control) != 0) give_up(faults, PROGRAM_STAGE_QUOTA, errno);
  }
  close(control);
  pid_t program = start_program(start, faults);
  if (program < 0) give_up(faults, PROGRAM_STAGE_WATCHER, errno);
  close(faults);
  for (int index = 0; index < 3; index++) close(start->streams[index]);
  for (;;) {
    int status;
    pid_t ended = waitpid(-1, &status, 0);
    if (ended == program) {
      ssize_t count = write(statuses, &status, sizeof status);
      _exit(count == sizeof status ? 0 : 126);
    }
    if (ended < 0 && errno == ECHILD) _exit(126);
  }
}
