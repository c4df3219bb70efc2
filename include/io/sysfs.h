/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

/* The only code that opens files below the root. Paths are relative to it, without a leading '/'
 * and without "..": "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "proc/zoneinfo". */

typedef struct Sysfs Sysfs;

/* What a root is made of. The real one is a directory; tests may put a model of the kernel behind
 * the same calls. All return 0 or a negative errno. */
typedef struct SysfsBackend {
        /* Whole content, NUL-terminated, at most size - 1 bytes, else -E2BIG. */
        int (*read)(void *userdata, const char *path, char *buf, size_t size, size_t *ret_len);
        /* Same; NULL where it would be no different. See sysfs_read_again(). */
        int (*read_again)(void *userdata, const char *path, char *buf, size_t size,
                          size_t *ret_len);
        int (*write)(void *userdata, const char *path, const char *value);
        /* 0 when it exists; -ENOENT. */
        int (*exists)(void *userdata, const char *path);
        /* Names in a directory, "." and ".." left out, sorted; NULL-terminated array, the caller
         * frees it and each name. */
        int (*list)(void *userdata, const char *path, char ***ret);
        void (*free)(void *userdata);
} SysfsBackend;

typedef enum SysfsFlags {
        SYSFS_READ_WRITE = 0,
        SYSFS_READ_ONLY = 1, /* every write returns -EROFS before anything is opened */
} SysfsFlags;

/* @root is "/" or a directory that a test made. 0 or a negative errno. */
int sysfs_open(const char *root, SysfsFlags flags, Sysfs **ret);

/* Takes ownership of @userdata (freed through backend->free, when that is set). */
int sysfs_new_backend_consume(const SysfsBackend *backend, void *userdata, Sysfs **ret);

Sysfs *sysfs_free(Sysfs *sysfs);
DEFINE_FREEP(Sysfs, sysfs_free)

/* Called for every write that is attempted, with its result. For write logs in tests. */
typedef void (*SysfsWriteLog)(void *userdata, const char *path, const char *value, int result);
void sysfs_set_write_log(Sysfs *sysfs, SysfsWriteLog log, void *userdata);

/* One attribute into @buf, one trailing newline stripped. -E2BIG when @buf is too small. */
int sysfs_read(Sysfs *sysfs, const char *path, char *buf, size_t size);

/* The same for an attribute that is read time and again, at a quarter of the cost: it stays open
 * from the first time on. For files that their owner changes in place, as sysfs does; one that is
 * renamed into their place is not seen. */
int sysfs_read_again(Sysfs *sysfs, const char *path, char *buf, size_t size);

/* A file of any size up to @max_bytes, unstripped (proc/zoneinfo, meminfo). Allocated. */
int sysfs_read_all(Sysfs *sysfs, const char *path, size_t max_bytes, char **ret);

int sysfs_read_u64(Sysfs *sysfs, const char *path, uint64_t *ret);
int sysfs_read_int(Sysfs *sysfs, const char *path, int *ret);

/* One write(2) of the whole value; never O_CREAT; a short write is -EIO. */
int sysfs_write(Sysfs *sysfs, const char *path, const char *value);

bool sysfs_exists(Sysfs *sysfs, const char *path);

/* NULL-terminated, sorted; free with sysfs_names_free(). */
int sysfs_list(Sysfs *sysfs, const char *path, char ***ret);
char **sysfs_names_free(char **names);
DEFINE_FREEP(char *, sysfs_names_free)
