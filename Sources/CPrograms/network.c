// A network for one program, in which nothing can be reached but a socket of whoever started it.

#include "internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { descriptor_count = 5 };

// MARK: In the network

static int raise_loopback(void) {
  int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return -1;
  struct ifreq request;
  memset(&request, 0, sizeof request);
  memcpy(request.ifr_name, "lo", 3);
  int result = ioctl(file, SIOCGIFFLAGS, &request);
  if (result == 0) {
    request.ifr_flags |= IFF_UP | IFF_RUNNING;
    result = ioctl(file, SIOCSIFFLAGS, &request);
  }
  int number = errno;
  close(file);
  errno = number;
  return result;
}

static int listen_on_loopback(int32_t *port) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -1;
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 256) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
    int number = errno;
    close(listener);
    errno = number;
    return -1;
  }
  *port = ntohs(address.sin_port);
  return listener;
}

// Sends the port and the descriptors, or the error number alone.
static void tell(int control, int32_t said, const int *descriptors) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(descriptor_count * sizeof(int))];
  } space;
  memset(&space, 0, sizeof space);
  struct iovec part = {&said, sizeof said};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors) {
    message.msg_control = space.bytes;
    message.msg_controllen = sizeof space.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptor_count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, descriptor_count * sizeof(int));
  }
  while (sendmsg(control, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
}

static void live_in_network(int control) __attribute__((noreturn));

// After a fork of a process with threads: nothing that is not safe then.
static void live_in_network(int control) {
  int32_t port = 0;
  char word = 0;
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    tell(control, -errno, NULL);
    _exit(1);
  }
  // Only from outside may all users be told who they are in here.
  tell(control, 0, NULL);
  if (recv(control, &word, 1, 0) != 1) _exit(1);
  int descriptors[descriptor_count] = {-1, -1, -1, -1, -1};
  if (raise_loopback() != 0 || (descriptors[0] = listen_on_loopback(&port)) < 0 ||
      (descriptors[1] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC)) < 0 ||
      (descriptors[2] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0 ||
      (descriptors[3] = open("/proc/self/net/tcp", O_RDONLY | O_CLOEXEC)) < 0 ||
      // Where there is no IPv6, there is no table of it.
      ((descriptors[4] = open("/proc/self/net/tcp6", O_RDONLY | O_CLOEXEC)) < 0 &&
       (descriptors[4] = fcntl(descriptors[3], F_DUPFD_CLOEXEC, 0)) < 0)) {
    tell(control, -errno, NULL);
    _exit(1);
  }
  tell(control, port, descriptors);
  _exit(0);
}

// MARK: Outside

// What the process says next: a number, and descriptors where they come with it. 0 where it says nothing.
static int hear(int control, int32_t *said, int *descriptors) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(descriptor_count * sizeof(int))];
  } space;
  struct iovec part = {said, sizeof *said};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.bytes;
  message.msg_controllen = sizeof space.bytes;
  ssize_t count;
  do count = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count != sizeof *said) return 0;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(descriptor_count * sizeof(int)))
    memcpy(descriptors, CMSG_DATA(header), descriptor_count * sizeof(int));
  return 1;
}

static int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t count = write(file, text, strlen(text));
  int number = errno;
  close(file);
  errno = number;
  return count == (ssize_t)strlen(text) ? 0 : -1;
}

// Everybody whom this process knows is the same in there; where that may not be said, whoever runs it alone.
static int map_all(pid_t child, const char *kind, const char *own, uint32_t number) {
  char path[64], lines[4096] = "", line[128];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)child, kind);
  FILE *known = fopen(own, "re");
  if (known) {
    unsigned long inside, outside, count;
    while (fscanf(known, "%lu %lu %lu", &inside, &outside, &count) == 3) {
      int length = snprintf(line, sizeof line, "%lu %lu %lu\n", inside, inside, count);
      if (length > 0 && strlen(lines) + (size_t)length < sizeof lines) strcat(lines, line);
    }
    fclose(known);
  }
  if (lines[0] && write_text(path, lines) == 0) return 0;
  snprintf(line, sizeof line, "%lu %lu 1\n", (unsigned long)number, (unsigned long)number);
  return write_text(path, line);
}

static int map_users(pid_t child) {
  char path[64];
  if (map_all(child, "uid_map", "/proc/self/uid_map", geteuid()) != 0) return -1;
  // Whoever may not say who everybody is may not either say that they leave their groups.
  if (geteuid() != 0) {
    snprintf(path, sizeof path, "/proc/%d/setgroups", (int)child);
    if (write_text(path, "deny") != 0 && errno != ENOENT) return -1;
  }
  return map_all(child, "gid_map", "/proc/self/gid_map", getegid());
}

int32_t program_network(struct program_network *network) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  // No handler of this process may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    live_in_network(ends[1]);
  }
  int number = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return -number;
  }
  int descriptors[descriptor_count] = {-1, -1, -1, -1, -1};
  int32_t said = -EPERM;
  if (hear(ends[0], &said, descriptors) && said == 0) {
    if (map_users(child) != 0) {
      said = -errno;
    } else if (send(ends[0], "g", 1, MSG_NOSIGNAL) != 1 || !hear(ends[0], &said, descriptors) ||
               said == 0 || (said > 0 && descriptors[descriptor_count - 1] < 0)) {
      said = -EPERM;
    }
  }
  close(ends[0]);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
  if (said < 0) return said;
  network->port = said;
  network->listener = descriptors[0];
  network->users = descriptors[1];
  network->network = descriptors[2];
  network->sockets = descriptors[3];
  network->sockets6 = descriptors[4];
  return 0;
}
