/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The handle through which everything below /sys and /proc is reached. It exists so that one place
 * knows the root, and with it whether a run touches the running kernel, a directory that a test
 * made, or a model of the kernel.
 *
 * Paths are resolved with RESOLVE_IN_ROOT: /sys is full of links (node0/memory12 ->
 * ../../memory/memory12), and a link inside a test's root must never lead to the real /sys. No
 * file is ever created or truncated, and nothing is retried: one write(2) is one store in the
 * kernel (fs/kernfs/file.c:kernfs_fop_write_iter), so a second attempt would be a second command.
 * Must not know what the files mean. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/macro.h"
#include "base/parse.h"
#include "io/sysfs.h"

/* kernfs hands at most one page to a store; the rest would be a second store of its own. */
#define WRITE_MAX 4096

/* Longest number that we read: 20 digits, a sign, a newline, NUL; some room for odd padding. */
#define NUMBER_MAX 32

/* First buffer of sysfs_read_all(): a small machine's zoneinfo fits. */
#define READ_ALL_FIRST 16384

/* Files kept open for sysfs_read_again(): 13 for each of some 40 kdamonds, and half of what a
 * process may have open. Those beyond are opened each time. */
#define KEPT_MAX 512

/* openat2() gives up with EAGAIN when a rename anywhere crosses its walk through ".."; more than
 * a few in a row do not happen by chance. */
#define OPEN_ATTEMPTS_MAX 16

struct Sysfs {
        SysfsBackend backend;
        void *userdata;
        SysfsFlags flags;
        SysfsWriteLog log;
        void *log_userdata;
};

typedef struct Kept {
        char *path; /* NULL: free */
        int fd;     /* -1: to be opened again */
} Kept;

typedef struct DirRoot {
        int fd;
        bool is_whole;           /* "/" itself: there is nothing outside to keep out of */
        Kept kept[2 * KEPT_MAX]; /* by hash of the path; a free one ends the search */
        size_t n_kept;
} DirRoot;

static bool path_is_valid(const char *path) {
        const char *p = path;

        if (*path == '\0' || strlen(path) >= PATH_MAX)
                return false;

        for (;;) {
                size_t n = strcspn(p, "/");

                /* an empty component is a leading, trailing or doubled slash */
                if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
                        return false;
                if (p[n] == '\0')
                        return true;

                p += n + 1;
        }
}

static int dir_open(const DirRoot *root, const char *path, int flags) {
        struct open_how how = {
                .flags = (uint64_t) (flags | O_CLOEXEC),
                .resolve = RESOLVE_IN_ROOT,
        };

        for (unsigned i = 0; i < OPEN_ATTEMPTS_MAX; i++) {
                /* Under RestrictSUIDSGID= systemd answers ENOSYS to openat2(), whose flags its
                 * filter can't see; the service runs on the whole tree. */
                long fd = root->is_whole ? openat(root->fd, path, flags | O_CLOEXEC)
                                         : syscall(SYS_openat2, root->fd, path, &how, sizeof(how));

                if (fd >= 0)
                        return (int) fd;
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
        }

        return -EAGAIN;
}

static int dir_read(void *userdata, const char *path, char *buf, size_t size, size_t *ret_len) {
        _cleanup_(closep) int fd = -1;
        size_t len = 0;

        fd = dir_open(userdata, path, O_RDONLY | O_NOCTTY);
        if (fd < 0)
                return fd;

        while (len < size) {
                ssize_t n = read(fd, buf + len, size - len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;

                len += (size_t) n;
                /* An attribute comes whole (fs/kernfs/file.c:kernfs_file_read_iter()); asking for
                 * more would only tell that there is none. Files of /proc come in pieces. */
                if (len < size && strncmp(path, "sys/", 4) == 0)
                        break;
        }

        /* no room for the NUL: the content may go on */
        if (len == size)
                return -E2BIG;

        buf[len] = '\0';
        *ret_len = len;
        return 0;
}

/* The file's place, or the free one where it belongs. */
static Kept *find_kept(DirRoot *root, const char *path) {
        uint32_t hash = 2166136261; /* FNV-1a */

        for (const char *p = path; *p; p++)
                hash = (hash ^ (unsigned char) *p) * 16777619;
        for (;; hash++) {
                Kept *kept = &root->kept[hash % ELEMENTSOF(root->kept)];

                if (!kept->path || strcmp(kept->path, path) == 0)
                        return kept;
        }
}

/* Makes sure that there is a place with an open file. */
static int open_kept(DirRoot *root, const char *path, Kept *kept) {
        int fd = dir_open(root, path, O_RDONLY | O_NOCTTY);

        if (fd < 0)
                return fd;
        if (!kept->path) {
                kept->path = strdup(path);
                if (!kept->path) {
                        closep(&fd);
                        return -ENOMEM;
                }
                root->n_kept++;
        }
        kept->fd = fd;
        return 0;
}

/* Reading from the start makes the kernel show the attribute anew (fs/seq_file.c:seq_read_iter()).
 * Once its directory is gone that fails with ENODEV, also if there is another of that name. */
static int dir_read_again(void *userdata, const char *path, char *buf, size_t size,
                          size_t *ret_len) {
        DirRoot *root = userdata;
        Kept *kept = find_kept(root, path);
        bool is_new = !kept->path || kept->fd < 0;
        ssize_t n;
        int r;

        if (!kept->path && root->n_kept == KEPT_MAX)
                return dir_read(root, path, buf, size, ret_len);
        r = is_new ? open_kept(root, path, kept) : 0;
        if (r < 0)
                return r;
        n = pread(kept->fd, buf, size, 0);
        if (n < 0 && errno == ENODEV && !is_new) {
                closep(&kept->fd);
                kept->fd = -1;
                return dir_read_again(userdata, path, buf, size, ret_len);
        }
        if (n < 0)
                return -errno;
        if ((size_t) n == size)
                return -E2BIG;
        buf[n] = '\0';
        *ret_len = (size_t) n;
        return 0;
}

static int dir_write(void *userdata, const char *path, const char *value) {
        _cleanup_(closep) int fd = -1;
        size_t len = strlen(value);
        ssize_t n;

        /* As a shell does. To sysfs it means nothing, but the files of a copied tree keep the rest
         * of a longer value without it. */
        fd = dir_open(userdata, path, O_WRONLY | O_TRUNC | O_NOCTTY);
        if (fd < 0)
                return fd;

        n = write(fd, value, len);
        if (n < 0)
                return -errno;

        return (size_t) n == len ? 0 : -EIO;
}

static int dir_exists(void *userdata, const char *path) {
        _cleanup_(closep) int fd = -1;

        fd = dir_open(userdata, path, O_PATH);
        return fd < 0 ? fd : 0;
}

static int compare_names(const void *a, const void *b) {
        const char *const *x = a;
        const char *const *y = b;

        return strcmp(*x, *y);
}

static void closedirp(DIR **dir) {
        if (*dir)
                (void) closedir(*dir); /* it was only read */
}

/* Appends every name; the array stays NULL-terminated. */
static int read_names(DIR *dir, char ***names, size_t *n_names) {
        size_t n_alloc = 0;
        int r;

        for (;;) {
                const struct dirent *entry;
                char *name;

                r = ARRAY_GROW(*names, n_alloc, *n_names + 2);
                if (r < 0)
                        return r;

                errno = 0;
                entry = readdir(dir);
                if (!entry)
                        return -errno;
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;

                name = strdup(entry->d_name);
                if (!name)
                        return -ENOMEM;
                (*names)[(*n_names)++] = name;
        }
}

static int dir_list(void *userdata, const char *path, char ***ret) {
        _cleanup_(sysfs_names_freep) char **names = NULL;
        _cleanup_(closedirp) DIR *dir = NULL;
        _cleanup_(closep) int fd = -1;
        size_t n_names = 0;
        int r;

        fd = dir_open(userdata, path, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
                return fd;

        dir = fdopendir(fd);
        if (!dir)
                return -errno;
        (void) TAKE_FD(fd); /* closedir() closes it */

        r = read_names(dir, &names, &n_names);
        if (r < 0)
                return r;

        qsort(names, n_names, sizeof(*names), compare_names);
        *ret = TAKE_PTR(names);
        return 0;
}

static void dir_free(void *userdata) {
        DirRoot *root = userdata;

        for (size_t i = 0; i < ELEMENTSOF(root->kept); i++) {
                if (!root->kept[i].path)
                        continue;
                closep(&root->kept[i].fd);
                free(root->kept[i].path);
        }
        closep(&root->fd);
        free(root);
}

static const SysfsBackend dir_backend = {
        .read = dir_read,
        .read_again = dir_read_again,
        .write = dir_write,
        .exists = dir_exists,
        .list = dir_list,
        .free = dir_free,
};

int sysfs_new_backend_consume(const SysfsBackend *backend, void *userdata, Sysfs **ret) {
        Sysfs *sysfs;

        sysfs = calloc(1, sizeof(*sysfs));
        if (!sysfs) {
                if (backend->free)
                        backend->free(userdata);
                return -ENOMEM;
        }

        *sysfs = (Sysfs){.backend = *backend, .userdata = userdata};
        *ret = sysfs;
        return 0;
}

int sysfs_open(const char *root, SysfsFlags flags, Sysfs **ret) {
        _cleanup_(freep) DirRoot *dir = NULL;
        int r;

        dir = calloc(1, sizeof(*dir));
        if (!dir)
                return -ENOMEM;

        dir->is_whole = strcmp(root, "/") == 0;
        dir->fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir->fd < 0)
                return -errno;

        r = sysfs_new_backend_consume(&dir_backend, TAKE_PTR(dir), ret);
        if (r < 0)
                return r;

        (*ret)->flags = flags;
        return 0;
}

Sysfs *sysfs_free(Sysfs *sysfs) {
        if (!sysfs)
                return NULL;

        if (sysfs->backend.free)
                sysfs->backend.free(sysfs->userdata);
        free(sysfs);
        return NULL;
}

void sysfs_set_write_log(Sysfs *sysfs, SysfsWriteLog log, void *userdata) {
        sysfs->log = log;
        sysfs->log_userdata = userdata;
}

typedef int (*ReadCall)(void *userdata, const char *path, char *buf, size_t size, size_t *ret_len);

static int read_attribute(Sysfs *sysfs, ReadCall call, const char *path, char *buf, size_t size) {
        size_t len;
        int r;

        if (!path_is_valid(path))
                return -EINVAL;

        r = call(sysfs->userdata, path, buf, size, &len);
        if (r < 0)
                return r;

        if (len > 0 && buf[len - 1] == '\n')
                buf[len - 1] = '\0';
        return 0;
}

int sysfs_read(Sysfs *sysfs, const char *path, char *buf, size_t size) {
        return read_attribute(sysfs, sysfs->backend.read, path, buf, size);
}

int sysfs_read_again(Sysfs *sysfs, const char *path, char *buf, size_t size) {
        return read_attribute(
                sysfs, sysfs->backend.read_again ? sysfs->backend.read_again : sysfs->backend.read,
                path, buf, size);
}

int sysfs_read_all(Sysfs *sysfs, const char *path, size_t max_bytes, char **ret) {
        size_t size = MIN((size_t) READ_ALL_FIRST, max_bytes);
        int r;

        if (!path_is_valid(path))
                return -EINVAL;

        /* The backend reads whole files only, so that a text never is a mixture of two moments. */
        for (;;) {
                _cleanup_(freep) char *buf = NULL;
                size_t len;

                if (size == SIZE_MAX)
                        return -E2BIG;

                buf = malloc(size + 1);
                if (!buf)
                        return -ENOMEM;

                r = sysfs->backend.read(sysfs->userdata, path, buf, size + 1, &len);
                if (r >= 0) {
                        *ret = TAKE_PTR(buf);
                        return 0;
                }
                if (r != -E2BIG || size >= max_bytes)
                        return r;

                size = size > max_bytes / 4 ? max_bytes : size * 4;
        }
}

int sysfs_read_u64(Sysfs *sysfs, const char *path, uint64_t *ret) {
        char buf[NUMBER_MAX];
        int r;

        r = sysfs_read(sysfs, path, buf, sizeof(buf));
        if (r < 0)
                return r;

        return parse_u64(buf, ret);
}

int sysfs_read_int(Sysfs *sysfs, const char *path, int *ret) {
        char buf[NUMBER_MAX];
        int r;

        r = sysfs_read(sysfs, path, buf, sizeof(buf));
        if (r < 0)
                return r;

        return parse_int(buf, ret);
}

static int checked_write(Sysfs *sysfs, const char *path, const char *value) {
        if (sysfs->flags & SYSFS_READ_ONLY)
                return -EROFS;
        if (!path_is_valid(path))
                return -EINVAL;
        /* a write of nothing succeeds without reaching the store, which nobody can mean */
        if (*value == '\0')
                return -EINVAL;
        if (strlen(value) > WRITE_MAX)
                return -E2BIG;

        return sysfs->backend.write(sysfs->userdata, path, value);
}

int sysfs_write(Sysfs *sysfs, const char *path, const char *value) {
        int r;

        r = checked_write(sysfs, path, value);
        if (sysfs->log)
                sysfs->log(sysfs->log_userdata, path, value, r);
        return r;
}

bool sysfs_exists(Sysfs *sysfs, const char *path) {
        return path_is_valid(path) && sysfs->backend.exists(sysfs->userdata, path) >= 0;
}

int sysfs_list(Sysfs *sysfs, const char *path, char ***ret) {
        if (!path_is_valid(path))
                return -EINVAL;

        return sysfs->backend.list(sysfs->userdata, path, ret);
}

char **sysfs_names_free(char **names) {
        if (!names)
                return NULL;

        for (char **name = names; *name; name++)
                free(*name);
        free(names);
        return NULL;
}
