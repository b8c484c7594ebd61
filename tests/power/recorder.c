/* Records what a program asks of the disk below one folder, in the order in which it happened.

   cc -shared -fPIC -o recorder.so recorder.c -ldl -lpthread
   LD_PRELOAD=recorder.so RECORD_BELOW=/folder RECORD_TO=/log program

   A record: a letter, the inode, an offset, the lengths of a path, a second path and data; then these three.
   `replay.py` reads it. A change and its record are made under one lock, so threads do not change the order. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))
#define CHANGE(call)                                                                                                   \
    pthread_mutex_lock(&lock);                                                                                         \
    __typeof__(call) result = call;                                                                                    \
    int problem = errno
#define DONE                                                                                                           \
    pthread_mutex_unlock(&lock);                                                                                       \
    errno = problem;                                                                                                   \
    return result
#define MAPS 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char below[PATH_MAX];
static int log_file = -1;
static struct { char *start; size_t length; off_t offset; uint64_t inode; } maps[MAPS];

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("RECORD_BELOW"), *to = getenv("RECORD_TO");
    if (folder && to && realpath(folder, below))
        log_file = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int is_below(const char *path) {
    size_t length = strlen(below);
    return log_file >= 0 && !strncmp(path, below, length) && (path[length] == '/' || !path[length]);
}

static void record(char kind, uint64_t inode, int64_t offset, const char *path, const char *second, const void *data,
                   uint64_t size) {
    struct __attribute__((packed)) { char kind; uint64_t inode; int64_t offset; uint32_t first, second; uint64_t size; }
        head = {kind, inode, offset, path ? strlen(path) : 0, second ? strlen(second) : 0, size};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.first}, {(void *)second, head.second}, {(void *)data, size}};
    size_t whole = sizeof head + head.first + head.second + size;
    if (syscall(SYS_writev, log_file, parts, 4) != (long)whole) abort();
}

/* The absolute path of a name; 0 if it is not below our folder. */
static int locate(int folder, const char *name, char *path) {
    if (log_file < 0 || !name) return 0;
    if (name[0] == '/') snprintf(path, PATH_MAX, "%s", name);
    else {
        char link[64], place[PATH_MAX];
        if (folder == AT_FDCWD) { if (!getcwd(place, sizeof place)) return 0; }
        else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t length = readlink(link, place, sizeof place - 1);
            if (length < 0) return 0;
            place[length] = 0;
        }
        if ((size_t)snprintf(path, PATH_MAX, "%s/%s", place, name) >= PATH_MAX) return 0;
    }
    return is_below(path);
}

/* Whether a descriptor is a file or a folder below ours. */
static int watched(int file, struct stat *facts) {
    char link[64], path[PATH_MAX];
    if (log_file < 0 || fstat(file, facts) || !(S_ISREG(facts->st_mode) || S_ISDIR(facts->st_mode))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static int opened(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    struct stat facts;
    if (!(flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE || !locate(folder, name, path))
        return syscall(SYS_openat, folder, name, flags, mode);
    pthread_mutex_lock(&lock);
    int there = !lstat(path, &facts);
    int result = syscall(SYS_openat, folder, name, flags, mode), problem = errno;
    if (result >= 0 && !fstat(result, &facts)) {
        if (!there) record('C', facts.st_ino, 0, path, NULL, NULL, 0);
        else if (flags & O_TRUNC) record('T', facts.st_ino, 0, NULL, NULL, NULL, 0);
    }
    DONE;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest; va_start(rest, flags);                                                                           \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        return opened(AT_FDCWD, path, flags, mode);                                                                    \
    }
#define OPENAT(name)                                                                                                   \
    int name(int folder, const char *path, int flags, ...) {                                                           \
        va_list rest; va_start(rest, flags);                                                                           \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        return opened(folder, path, flags, mode);                                                                      \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
int __open_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* Writes: at the end of a file opened to append, else where the descriptor stands, unless a place is given. */
static int64_t standing(int file, const struct stat *facts) {
    return fcntl(file, F_GETFL) & O_APPEND ? facts->st_size : lseek(file, 0, SEEK_CUR);
}

ssize_t write(int file, const void *data, size_t size) {
    struct stat facts;
    if (!watched(file, &facts)) return syscall(SYS_write, file, data, size);
    pthread_mutex_lock(&lock);
    fstat(file, &facts);
    int64_t place = standing(file, &facts);
    ssize_t result = syscall(SYS_write, file, data, size);
    int problem = errno;
    if (result > 0) record('W', facts.st_ino, place, NULL, NULL, data, result);
    DONE;
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) {
    struct stat facts;
    if (!watched(file, &facts)) return syscall(SYS_pwrite64, file, data, size, place);
    CHANGE((ssize_t)syscall(SYS_pwrite64, file, data, size, place));
    if (result > 0) record('W', facts.st_ino, place, NULL, NULL, data, result);
    DONE;
}
ssize_t pwrite(int file, const void *data, size_t size, off_t place) { return pwrite64(file, data, size, place); }

ssize_t writev(int file, const struct iovec *parts, int count) {
    struct stat facts;
    if (!watched(file, &facts)) return syscall(SYS_writev, file, parts, count);
    ssize_t whole = 0;
    for (int part = 0; part < count; part++) {
        ssize_t done = parts[part].iov_len ? write(file, parts[part].iov_base, parts[part].iov_len) : 0;
        if (done < 0) return whole ? whole : done;
        whole += done;
        if ((size_t)done < parts[part].iov_len) break;
    }
    return whole;
}

/* Copies inside the kernel are made of reads and writes here, so that their bytes are seen. */
static ssize_t copied(int to, int from, off64_t *place, size_t size) {
    char part[65536];
    if (size > sizeof part) size = sizeof part;
    ssize_t got = place ? pread(from, part, size, *place) : read(from, part, size);
    if (got <= 0) return got;
    ssize_t result = write(to, part, got);
    if (place && result > 0) *place += result;
    return result;
}
ssize_t sendfile64(int to, int from, off64_t *place, size_t size) {
    struct stat facts;
    return watched(to, &facts) ? copied(to, from, place, size) : syscall(SYS_sendfile, to, from, place, size);
}
ssize_t sendfile(int to, int from, off_t *place, size_t size) { return sendfile64(to, from, place, size); }
ssize_t copy_file_range(int from, off64_t *place, int to, off64_t *target, size_t size, unsigned flags) {
    struct stat facts;
    if (!watched(to, &facts)) return syscall(SYS_copy_file_range, from, place, to, target, size, flags);
    if (target) { errno = EINVAL; return -1; }
    return copied(to, from, place, size);
}

int ftruncate64(int file, off64_t size) {
    struct stat facts;
    if (!watched(file, &facts)) return syscall(SYS_ftruncate, file, size);
    CHANGE((int)syscall(SYS_ftruncate, file, size));
    if (!result) record('T', facts.st_ino, size, NULL, NULL, NULL, 0);
    DONE;
}
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }
int truncate64(const char *path, off64_t size) {
    int file = opened(AT_FDCWD, path, O_WRONLY, 0);
    if (file < 0) return -1;
    int result = ftruncate64(file, size);
    close(file);
    return result;
}
int truncate(const char *path, off_t size) { return truncate64(path, size); }
int posix_fallocate64(int file, off64_t place, off64_t size) {
    struct stat facts;
    if (!watched(file, &facts)) return REAL(posix_fallocate64)(file, place, size);
    return facts.st_size < place + size && ftruncate64(file, place + size) ? errno : 0;
}
int posix_fallocate(int file, off_t place, off_t size) { return posix_fallocate64(file, place, size); }

static int synced(int file, long number) {
    struct stat facts;
    if (!watched(file, &facts)) return syscall(number, file);
    CHANGE((int)syscall(number, file));
    if (!result) record('S', facts.st_ino, 0, NULL, NULL, NULL, 0);
    DONE;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

/* Names. */
static int renamed(int folder, const char *old, int other, const char *new, unsigned flags) {
    char from[PATH_MAX], to[PATH_MAX];
    int ours = locate(folder, old, from) | locate(other, new, to);
    CHANGE((int)syscall(SYS_renameat2, folder, old, other, new, flags));
    if (ours && !result) record('R', 0, 0, from, to, NULL, 0);
    DONE;
}
int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int folder, const char *old, int other, const char *new) { return renamed(folder, old, other, new, 0); }
int renameat2(int folder, const char *old, int other, const char *new, unsigned flags) {
    return renamed(folder, old, other, new, flags);
}

static int removed(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    int ours = locate(folder, name, path);
    CHANGE((int)syscall(SYS_unlinkat, folder, name, flags));
    if (ours && !result) record('U', 0, 0, path, NULL, NULL, 0);
    DONE;
}
int unlink(const char *name) { return removed(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return removed(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int folder, const char *name, int flags) { return removed(folder, name, flags); }
int remove(const char *name) {
    int result = unlink(name);
    return result && errno == EISDIR ? rmdir(name) : result;
}

int mkdirat(int folder, const char *name, mode_t mode) {
    char path[PATH_MAX];
    struct stat facts;
    int ours = locate(folder, name, path);
    CHANGE((int)syscall(SYS_mkdirat, folder, name, mode));
    if (ours && !result && !stat(path, &facts)) record('D', facts.st_ino, 0, path, NULL, NULL, 0);
    DONE;
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

int linkat(int folder, const char *old, int other, const char *new, int flags) {
    char from[PATH_MAX], to[PATH_MAX];
    int ours = locate(folder, old, from) | locate(other, new, to);
    CHANGE((int)syscall(SYS_linkat, folder, old, other, new, flags));
    if (ours && !result) record('L', 0, 0, from, to, NULL, 0);
    DONE;
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

/* Memory that is written and shared with a file: seen when it is synced. */
void *mmap64(void *hint, size_t length, int rights, int flags, int file, off64_t place) {
    struct stat facts;
    char *start = (char *)syscall(SYS_mmap, hint, length, rights, flags, file, place);
    if (start != MAP_FAILED && file >= 0 && rights & PROT_WRITE && flags & MAP_SHARED && watched(file, &facts)) {
        pthread_mutex_lock(&lock);
        record('M', facts.st_ino, place, NULL, NULL, NULL, 0);
        for (int map = 0; map < MAPS; map++)
            if (!maps[map].start || maps[map].start == start) {
                maps[map].start = start, maps[map].length = length, maps[map].offset = place, maps[map].inode = facts.st_ino;
                break;
            }
        pthread_mutex_unlock(&lock);
    }
    return start;
}
void *mmap(void *hint, size_t length, int rights, int flags, int file, off_t place) {
    return mmap64(hint, length, rights, flags, file, place);
}
int msync(void *start, size_t length, int flags) {
    CHANGE((int)syscall(SYS_msync, start, length, flags));
    for (int map = 0; map < MAPS && !result && flags & MS_SYNC; map++) {
        char *first = start;
        if (first < maps[map].start || first >= maps[map].start + maps[map].length) continue;
        record('W', maps[map].inode, maps[map].offset + (first - maps[map].start), NULL, NULL, first, length);
        record('S', maps[map].inode, 0, NULL, NULL, NULL, 0);
    }
    DONE;
}
