/* Records what a process does to the files below a directory, for tests/helpers/power.py.
 *
 *     gcc -shared -fPIC -O1 -o journal.so journal.c
 *     JOURNAL_ROOT=/tmp/x JOURNAL_LOG=/tmp/log LD_PRELOAD=$PWD/journal.so program
 *
 * Each function of the C library that changes files or names calls the kernel itself, and then appends one record to the log:
 * struct record, two names, data. Reads are not recorded. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
    uint64_t inode, length, name_length, other_length;
    int64_t offset;
    uint64_t kind;
} __attribute__((packed));

static char root[PATH_MAX];
static char site[4096]; /* of the next fsync; see journal_site */
static int journal = -1;

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("JOURNAL_ROOT"), *log = getenv("JOURNAL_LOG");
    if (directory == NULL || log == NULL) return;
    snprintf(root, sizeof root, "%s", directory);
    int low = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    journal = fcntl(low, F_DUPFD_CLOEXEC, 200); /* out of the way of programs that count on low numbers */
    syscall(SYS_close, low);
    if (journal < 0) abort();
}

static void note(char kind, uint64_t inode, int64_t offset, const char *name, const char *other, const void *data,
                 size_t length) {
    if (journal < 0) return;
    int before = errno;
    struct record record = {inode, length, strlen(name), strlen(other), offset, (uint64_t)kind};
    struct iovec parts[] = {{&record, sizeof record},
                            {(void *)name, record.name_length},
                            {(void *)other, record.other_length},
                            {(void *)data, length}};
    ssize_t whole = sizeof record + record.name_length + record.other_length + length;
    if (syscall(SYS_writev, journal, parts, 4) != whole) abort(); /* one call: processes do not mix their records */
    errno = before;
}

/* For the program that is recorded: something to know about this moment, and who calls fsync next. */
void journal_mark(const char *text) { note('M', 0, 0, text, "", "", 0); }
void journal_site(const char *text) { snprintf(site, sizeof site, "%s", text); }

static int below_root(const char *path) {
    size_t length = strlen(root);
    return journal >= 0 && strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* Whether a name is below the root; `full` is its absolute path, without links in its directory. */
static int ours(int directory, const char *path, char *full) {
    if (journal < 0) return 0;
    int before = errno;
    char joined[PATH_MAX], parent[PATH_MAX], link[64], *slash;
    if (path[0] == '/') {
        snprintf(joined, sizeof joined, "%s", path);
    } else {
        if (directory == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        ssize_t length = readlink(link, joined, sizeof joined - 1);
        if (length < 0) length = 0;
        snprintf(joined + length, sizeof joined - length, "/%s", path);
    }
    while ((slash = strrchr(joined, '/')) != NULL && slash[1] == 0 && slash != joined) *slash = 0;
    int known = slash != NULL;
    if (known) {
        *slash = 0;
        known = realpath(joined[0] ? joined : "/", parent) != NULL;
        if (known) snprintf(full, PATH_MAX, "%s/%s", strcmp(parent, "/") ? parent : "", slash + 1);
    }
    errno = before;
    return known && below_root(full);
}

/* Whether an open file is below the root; `path` is its name now. */
static int ours_open(int file, struct stat *status, char *path) {
    if (journal < 0 || file == journal) return 0;
    int before = errno;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length >= 0) path[length] = 0;
    int found = length >= 0 && below_root(path) && fstat(file, status) == 0;
    errno = before;
    return found;
}

static int opened(int directory, const char *path, int flags, mode_t mode) {
    char name[PATH_MAX];
    struct stat status;
    int found = ours(directory, path, name), before = errno;
    int existed = !found || lstat(name, &status) == 0;
    errno = before;
    int file = syscall(SYS_openat, directory, path, flags, mode);
    if (file >= 0 && found && (flags & (O_CREAT | O_TRUNC)) && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        if (!existed) note('C', status.st_ino, 0, name, "", "", 0);
        else if (flags & O_TRUNC) note('T', status.st_ino, 0, name, "", "", 0);
    }
    return file;
}

#define MODE                                          \
    mode_t mode = 0;                                  \
    if (flags & (O_CREAT | __O_TMPFILE)) {            \
        va_list more;                                 \
        va_start(more, flags);                        \
        mode = va_arg(more, int);                     \
        va_end(more);                                 \
    }

int open(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int directory, const char *path, int flags, ...) { MODE return opened(directory, path, flags, mode); }
int openat64(int directory, const char *path, int flags, ...) { MODE return opened(directory, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int __open_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags | O_LARGEFILE, 0); }
int __openat_2(int directory, const char *path, int flags) { return opened(directory, path, flags, 0); }
int __openat64_2(int directory, const char *path, int flags) { return opened(directory, path, flags | O_LARGEFILE, 0); }

ssize_t write(int file, const void *data, size_t length) {
    struct stat status;
    char path[PATH_MAX];
    ssize_t done = syscall(SYS_write, file, data, length);
    if (done > 0 && ours_open(file, &status, path))
        note('W', status.st_ino, lseek(file, 0, SEEK_CUR) - done, "", "", data, done);
    return done;
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t offset) {
    struct stat status;
    char path[PATH_MAX];
    ssize_t done = syscall(SYS_pwrite64, file, data, length, offset);
    if (done > 0 && ours_open(file, &status, path)) note('W', status.st_ino, offset, "", "", data, done);
    return done;
}
ssize_t pwrite(int file, const void *data, size_t length, off_t offset) { return pwrite64(file, data, length, offset); }

ssize_t writev(int file, const struct iovec *parts, int count) {
    ssize_t done = 0;
    for (int k = 0; k < count; k++) {
        ssize_t more = write(file, parts[k].iov_base, parts[k].iov_len);
        if (more < 0) return done ? done : more;
        done += more;
        if (more < (ssize_t)parts[k].iov_len) break;
    }
    return done;
}

int ftruncate64(int file, off64_t length) {
    struct stat status;
    char path[PATH_MAX];
    int failed = syscall(SYS_ftruncate, file, length);
    if (!failed && ours_open(file, &status, path)) note('T', status.st_ino, length, "", "", "", 0);
    return failed;
}
int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

int truncate64(const char *path, off64_t length) {
    char name[PATH_MAX];
    struct stat status;
    int found = ours(AT_FDCWD, path, name) && stat(path, &status) == 0;
    int failed = syscall(SYS_truncate, path, length);
    if (!failed && found) note('T', status.st_ino, length, "", "", "", 0);
    return failed;
}
int truncate(const char *path, off_t length) { return truncate64(path, length); }

static int synced(int file, long call) {
    struct stat status;
    char path[PATH_MAX];
    int failed = syscall(call, file);
    if (!failed && ours_open(file, &status, path)) note('S', status.st_ino, 0, site, path, "", 0);
    site[0] = 0;
    return failed;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    char before[PATH_MAX], after[PATH_MAX];
    int found = ours(from, old, before) && ours(to, new, after);
    int failed = syscall(SYS_renameat2, from, old, to, new, flags);
    if (!failed && found) note('R', 0, 0, before, after, "", 0);
    return failed;
}
int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }

int unlinkat(int directory, const char *path, int flags) {
    char name[PATH_MAX];
    int found = ours(directory, path, name);
    int failed = syscall(SYS_unlinkat, directory, path, flags);
    if (!failed && found) note('U', 0, 0, name, "", "", 0);
    return failed;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int directory, const char *path, mode_t mode) {
    char name[PATH_MAX];
    struct stat status;
    int failed = syscall(SYS_mkdirat, directory, path, mode);
    if (!failed && ours(directory, path, name) && lstat(name, &status) == 0) note('D', status.st_ino, 0, name, "", "", 0);
    return failed;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
