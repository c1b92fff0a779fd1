/* System calls that fail, or that a process dies at, on files below one folder; preloaded into any process.
 *
 *   HOSTILE_HOME   the folder: calls on other files are passed on and not counted
 *   HOSTILE_CALLS  which calls are counted: open, create, write, fsync, rename, mmap, ftruncate, unlink (with commas)
 *   HOSTILE_TRACE  a file outside of the folder: one line "call path" for each counted call, "! call path" where it hit
 *   HOSTILE_NTH    the number of the call that is hit, from 1; 0: none
 *   HOSTILE_LASTS  1: so is every counted call after it
 *   HOSTILE_ERRNO  what the call that is hit fails with; without it the process is killed there:
 *   HOSTILE_KILL   before (the default) or after the call, or torn: after the first half of what is written
 *
 * The count is a process's own: a child begins at 1 again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char home[PATH_MAX], trace[PATH_MAX], calls[256];
static size_t home_length;
static int nth, lasts, error_number;
static char kill_when = 'b';
static atomic_int counted;
static pid_t counting_pid;

static const char *value(const char *name) {
    const char *found = getenv(name);
    return found ? found : "";
}

__attribute__((constructor)) static void read_environment(void) {
    snprintf(home, sizeof home, "%s", value("HOSTILE_HOME"));
    snprintf(trace, sizeof trace, "%s", value("HOSTILE_TRACE"));
    snprintf(calls, sizeof calls, ",%s,", value("HOSTILE_CALLS"));
    home_length = strlen(home);
    nth = atoi(value("HOSTILE_NTH"));
    lasts = atoi(value("HOSTILE_LASTS"));
    error_number = atoi(value("HOSTILE_ERRNO"));
    if (*value("HOSTILE_KILL")) kill_when = *value("HOSTILE_KILL");
    counting_pid = getpid();
}

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

#define REAL(name) static __typeof__(name) *next_##name; if (!next_##name) next_##name = (__typeof__(name) *)real(#name)

static void note(const char *mark, const char *call, const char *path) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%s%s %s\n", mark, call, path + home_length);
    if (!*trace) return;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    syscall(SYS_write, descriptor, line, (size_t)length);
    syscall(SYS_close, descriptor);
}

static int is_below(const char *path) {
    return home_length && !strncmp(path, home, home_length) && (path[home_length] == '/' || !path[home_length]);
}

static int wants(const char *call) {
    char word[64];
    snprintf(word, sizeof word, ",%s,", call);
    return strstr(calls, word) != NULL;
}

/* Whether this call is the one: 0 pass it on, 1 let it fail (errno is set), 2 kill after it. */
static int is_hit(const char *call, const char *path) {
    if (!home_length || !is_below(path) || !wants(call)) return 0;
    if (counting_pid != getpid()) {
        counting_pid = getpid();
        atomic_store(&counted, 0);
    }
    int number = atomic_fetch_add(&counted, 1) + 1;
    int hit = nth && (number == nth || (lasts && number > nth));
    note(hit ? "! " : "", call, path);
    if (!hit) return 0;
    if (error_number) {
        errno = error_number;
        return 1;
    }
    if (kill_when == 'b') kill(getpid(), SIGKILL);
    return 2;
}

static void die_if(int verdict) {
    if (verdict == 2) kill(getpid(), SIGKILL);
}

static int is_hit_at(const char *call, int descriptor) {
    char link[64], path[PATH_MAX];
    if (!home_length || !wants(call)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int before = errno;
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    return is_hit(call, path);
}

static const char *absolute(int folder, const char *path, char *room) {
    char link[64];
    if (path[0] == '/') return path;
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, room, PATH_MAX);
    if (length < 0) return path;
    snprintf(room + length, PATH_MAX, "/%s", path);
    return room;
}

static int is_open_hit(int folder, const char *path, int flags) {
    char room[2 * PATH_MAX + 2];
    const char *whole = absolute(folder, path, room);
    int verdict = is_hit("open", whole);
    if (!verdict && (flags & (O_CREAT | O_ACCMODE))) verdict = is_hit("create", whole);
    return verdict;
}

#define MODE_OF(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        MODE_OF(flags) \
        REAL(name); \
        int verdict = is_open_hit(AT_FDCWD, path, flags); \
        if (verdict == 1) return -1; \
        int found = next_##name(path, flags, mode); \
        die_if(verdict); \
        return found; \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        MODE_OF(flags) \
        REAL(name); \
        int verdict = is_open_hit(folder, path, flags); \
        if (verdict == 1) return -1; \
        int found = next_##name(folder, path, flags, mode); \
        die_if(verdict); \
        return found; \
    }
OPENAT(openat)
OPENAT(openat64)

/* A call on a descriptor; `torn` is what happens when the process is to die in the middle of it. */
#define ON_DESCRIPTOR(type, name, call, parameters, arguments, torn) \
    type name parameters { \
        REAL(name); \
        int verdict = is_hit_at(call, descriptor); \
        if (verdict == 1) return -1; \
        if (verdict == 2 && kill_when == 't') { torn; die_if(2); } \
        type found = next_##name arguments; \
        die_if(verdict); \
        return found; \
    }
ON_DESCRIPTOR(ssize_t, write, "write", (int descriptor, const void *data, size_t size), (descriptor, data, size),
              next_write(descriptor, data, size / 2))
ON_DESCRIPTOR(ssize_t, pwrite, "write", (int descriptor, const void *data, size_t size, off_t place),
              (descriptor, data, size, place), next_pwrite(descriptor, data, size / 2, place))
ON_DESCRIPTOR(ssize_t, pwrite64, "write", (int descriptor, const void *data, size_t size, off64_t place),
              (descriptor, data, size, place), next_pwrite64(descriptor, data, size / 2, place))
ON_DESCRIPTOR(ssize_t, writev, "write", (int descriptor, const struct iovec *parts, int count),
              (descriptor, parts, count), next_writev(descriptor, parts, count / 2))
ON_DESCRIPTOR(int, fsync, "fsync", (int descriptor), (descriptor), (void)0)
ON_DESCRIPTOR(int, fdatasync, "fsync", (int descriptor), (descriptor), (void)0)
ON_DESCRIPTOR(int, ftruncate, "ftruncate", (int descriptor, off_t size), (descriptor, size), (void)0)
ON_DESCRIPTOR(int, ftruncate64, "ftruncate", (int descriptor, off64_t size), (descriptor, size), (void)0)

#define MAP(name, offset_type) \
    void *name(void *place, size_t size, int protection, int flags, int descriptor, offset_type offset) { \
        REAL(name); \
        int verdict = descriptor < 0 ? 0 : is_hit_at("mmap", descriptor); \
        if (verdict == 1) return MAP_FAILED; \
        void *found = next_##name(place, size, protection, flags, descriptor, offset); \
        die_if(verdict); \
        return found; \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

#define ON_PATH(name, call, parameters, arguments, folder, path) \
    int name parameters { \
        char room[2 * PATH_MAX + 2]; \
        REAL(name); \
        int verdict = is_hit(call, absolute(folder, path, room)); \
        if (verdict == 1) return -1; \
        int found = next_##name arguments; \
        die_if(verdict); \
        return found; \
    }
ON_PATH(rename, "rename", (const char *old, const char *new), (old, new), AT_FDCWD, new)
ON_PATH(renameat, "rename", (int from, const char *old, int to, const char *new), (from, old, to, new), to, new)
ON_PATH(renameat2, "rename", (int from, const char *old, int to, const char *new, unsigned int flags),
        (from, old, to, new, flags), to, new)
ON_PATH(unlink, "unlink", (const char *path), (path), AT_FDCWD, path)
ON_PATH(unlinkat, "unlink", (int folder, const char *path, int flags), (folder, path, flags), folder, path)
