/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Give every file of the corpus directories in the arguments to the fuzz target, without a fuzzer:
 * what once crashed must not crash again. An empty corpus fails, because it tests nothing. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/macro.h"
#include "fuzz.h"

static int read_file(int fd, uint8_t **ret, size_t *ret_size) {
        size_t n_alloc = 0, size = 0;
        ssize_t n;
        int r;

        do {
                r = ARRAY_GROW(*ret, n_alloc, size + 4096);
                if (r < 0)
                        return r;

                n = read(fd, *ret + size, n_alloc - size);
                if (n < 0)
                        return -errno;

                size += (size_t) n;
        } while (n > 0);

        *ret_size = size;
        return 0;
}

/* 1 when the entry was an input, 0 when it was something else. */
static int replay(int dir_fd, const char *name) {
        _cleanup_(closep) int fd = -1;
        _cleanup_(freep) uint8_t *data = NULL;
        _cleanup_(freep) uint8_t *exact = NULL;
        struct stat st;
        size_t size;
        int r;

        fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;

        if (!S_ISREG(st.st_mode))
                return 0;

        r = read_file(fd, &data, &size);
        if (r < 0)
                return r;

        /* A buffer without a byte to spare, so that the sanitizer sees a read past the end. */
        exact = malloc(size > 0 ? size : 1);
        if (!exact)
                return -ENOMEM;
        memcpy(exact, data, size);

        /* Named before, so that a crash tells its file. */
        printf("%s\n", name);
        fflush(stdout);
        (void) LLVMFuzzerTestOneInput(exact, size); /* libFuzzer wants it to be 0 */
        return 1;
}

static int replay_directory(const char *path) {
        DIR *dir = opendir(path);
        const struct dirent *entry;
        int n = 0;
        int r = 0;

        if (!dir)
                return -errno;

        while (r >= 0 && (entry = readdir(dir))) {
                r = replay(dirfd(dir), entry->d_name);
                n += r > 0;
        }

        (void) closedir(dir); /* it was only read */
        return r < 0 ? r : n;
}

int main(int argc, char **argv) {
        int n, total = 0;

        for (int i = 1; i < argc; i++) {
                n = replay_directory(argv[i]);
                if (n <= 0) {
                        fprintf(stderr, "%s: %s\n", argv[i], n < 0 ? strerror(-n) : "no inputs");
                        return EXIT_FAILURE;
                }

                total += n;
        }

        printf("%d inputs\n", total);
        return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
