/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "die.h"
#include "node.h"
#include "set.h"

/* One percent of 2500 pages is 25: enough to tell 95 % from 94 %. */
#define SAMPLE_PAGES 2500U

const char set_keys[] =
        "where:  size=MIB or fill (until leave=MIB are left), node=N, rest=N (size as far as it\n"
        "        fits into node=N, the rest there), huge, file\n"
        "how:    touch, pause-us=N (between passes), pace=MIB (per second), cpu=N\n"
        "window: window=MIB (only this much is in use at a time, the rest counts as cold),\n"
        "        at=MIB (where it begins; default: at the end), slide=MIB (per second)\n";

static uint64_t number(const char *key, const char *text) {
        char *end = NULL;
        unsigned long long value;

        errno = EINVAL;
        if (!text || *text == '-')
                die(key);
        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno == 0 && (end == text || *end != '\0'))
                errno = EINVAL;
        if (errno != 0)
                die(key);
        return value;
}

static void check(const struct set *set, bool fill) {
        const char *wrong = NULL;

        if (fill == (set->size_bytes > 0))
                wrong = "a set needs either size= or fill";
        else if ((fill || set->rest_node >= 0) && set->node < 0)
                wrong = "fill and rest= need node=";
        else if (set->file && (set->huge || set->rest_node >= 0))
                wrong = "file goes neither with huge nor with rest=";
        else if (set->window_bytes > 0 &&
                 (fill || set->window_start + set->window_bytes > set->size_bytes))
                wrong = "a window must lie within size=";
        else if (set->window_bytes == 0 && (set->slide_bytes > 0 || set->window_start > 0))
                wrong = "at= and slide= need window=";
        if (!wrong)
                return;
        errno = EINVAL;
        die(wrong);
}

void set_parse(struct set *set, char *text) {
        size_t at_bytes = SIZE_MAX;
        char *save = NULL;
        bool fill = false;

        *set = (struct set){
                .name = "unnamed",
                .role = "unnamed",
                .node = -1,
                .rest_node = -1,
                .cpu = -1,
                .pause_us = 1000,
                .leave_bytes = 8UL << 20,
        };
        for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
                char *value = strchr(word, '=');

                if (value)
                        *value++ = '\0';
                if (strcmp(word, "name") == 0 && value)
                        set->name = value;
                else if (strcmp(word, "role") == 0 && value)
                        set->role = value;
                else if (strcmp(word, "size") == 0)
                        set->size_bytes = number(word, value) << 20;
                else if (strcmp(word, "fill") == 0)
                        fill = true;
                else if (strcmp(word, "leave") == 0)
                        set->leave_bytes = number(word, value) << 20;
                else if (strcmp(word, "node") == 0)
                        set->node = (int) number(word, value);
                else if (strcmp(word, "rest") == 0)
                        set->rest_node = (int) number(word, value);
                else if (strcmp(word, "huge") == 0)
                        set->huge = true;
                else if (strcmp(word, "file") == 0)
                        set->file = true;
                else if (strcmp(word, "touch") == 0)
                        set->touch = true;
                else if (strcmp(word, "pause-us") == 0)
                        set->pause_us = number(word, value);
                else if (strcmp(word, "pace") == 0)
                        set->pace_bytes = number(word, value) << 20;
                else if (strcmp(word, "cpu") == 0)
                        set->cpu = (int) number(word, value);
                else if (strcmp(word, "window") == 0)
                        set->window_bytes = number(word, value) << 20;
                else if (strcmp(word, "at") == 0)
                        at_bytes = number(word, value) << 20;
                else if (strcmp(word, "slide") == 0)
                        set->slide_bytes = number(word, value) << 20;
                else {
                        errno = EINVAL;
                        die(word);
                }
        }
        if (at_bytes != SIZE_MAX)
                set->window_start = at_bytes;
        else if (set->window_bytes > 0 && set->window_bytes < set->size_bytes)
                set->window_start = set->size_bytes - set->window_bytes;
        check(set, fill);
}

/* Address space on a huge page's boundary, so that a set of huge pages has nothing else. */
static char *reserve_anonymous(const struct set *set, size_t size_bytes) {
        char *start, *aligned;

        start = mmap(NULL, size_bytes + CHUNK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED)
                die("mmap");
        aligned = (char *) (((uintptr_t) start + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES);
        if (aligned > start)
                munmap(start, (size_t) (aligned - start));
        munmap(aligned + size_bytes, CHUNK_BYTES - (size_t) (aligned - start));
        /* Where huge pages are not the point, they would make the placement coarser than what is
         * measured. */
        if (madvise(aligned, size_bytes, set->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0)
                die("madvise");
        return aligned;
}

/* A file of nothing but a hole: its page cache is as good as any other, and the disk stays idle. */
static char *reserve_file(size_t size_bytes) {
        char path[] = "/var/tmp/workload-XXXXXX", *start;
        int fd = mkostemp(path, O_CLOEXEC);

        if (fd < 0 || unlink(path) < 0 || ftruncate(fd, (off_t) size_bytes) < 0)
                die(path);
        start = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (start == MAP_FAILED)
                die("mmap of a file");
        close(fd);
        return start;
}

static void fault_in(const struct set *set, size_t offset, size_t size_bytes) {
        if (!set->file) {
                memset(set->start + offset, 1, size_bytes);
                return;
        }
        for (size_t i = 0; i < size_bytes; i += PAGE_BYTES)
                (void) *(volatile char *) (set->start + offset + i);
}

/* Half of what is left at a time: close to the mark with few looks at it. */
static size_t next_step(const struct set *set, size_t left_bytes) {
        size_t usable = node_usable_bytes(set->node), step;

        if (usable < set->leave_bytes + CHUNK_BYTES)
                return 0;
        step = (usable - set->leave_bytes) / 2;
        step = step < CHUNK_BYTES ? CHUNK_BYTES : step / CHUNK_BYTES * CHUNK_BYTES;
        return step > left_bytes ? left_bytes : step;
}

void set_place(struct set *set) {
        bool fill = set->size_bytes == 0, stops_when_full = fill || set->rest_node >= 0;
        size_t size = fill ? node_size_bytes(set->node) : set->size_bytes, done = 0;

        size = (size + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
        set->start = set->file ? reserve_file(size) : reserve_anonymous(set, size);
        /* Page cache follows the thread's wish, other memory that of its range. */
        if (set->file)
                node_prefer(set->node);
        else if (set->node >= 0)
                node_prefer_range(set->node, set->start, size);
        while (done < size) {
                size_t step = stops_when_full ? next_step(set, size - done) : size - done;

                if (step == 0)
                        break;
                fault_in(set, done, step);
                done += step;
        }
        if (done < size && set->rest_node >= 0) {
                node_prefer_range(set->rest_node, set->start + done, size - done);
                fault_in(set, done, size - done);
                done = size;
        }
        if (done < size)
                munmap(set->start + done, size - done);
        if (done == 0) {
                errno = ENOMEM;
                die("the node is full already");
        }
        set->size_bytes = done;
        /* Only the first placement is ours: a policy left behind would hold back promotion. */
        if (set->file)
                node_prefer(-1);
        else
                node_prefer_range(-1, set->start, done);
}

size_t set_locate(const struct set *set, size_t offset, size_t size_bytes, size_t *ret_on_node) {
        static void *pages[SAMPLE_PAGES];
        static int status[SAMPLE_PAGES];
        size_t n_pages = size_bytes / PAGE_BYTES;
        size_t n_sampled = n_pages < SAMPLE_PAGES ? n_pages : SAMPLE_PAGES;

        for (size_t i = 0; i < n_sampled; i++)
                pages[i] = set->start + offset + n_pages * i / n_sampled * PAGE_BYTES;
        if (syscall(SYS_move_pages, 0, n_sampled, pages, NULL, status, 0) < 0)
                die("move_pages");
        for (size_t node = 0; node < NODES_MAX; node++)
                ret_on_node[node] = 0;
        /* A page under migration has no node for a moment; it counts as being nowhere. */
        for (size_t i = 0; i < n_sampled; i++)
                if (status[i] >= 0 && status[i] < NODES_MAX)
                        ret_on_node[status[i]]++;
        return n_sampled;
}
