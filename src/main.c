/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Arguments, wiring, exit status. */

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "daemon/dryrun.h"
#include "daemon/manager.h"
#include "io/conffile.h"
#include "io/journal.h"

typedef enum Mode {
        MODE_RUN,
        MODE_CHECK_CONFIG,
        MODE_DUMP_CONFIG,
        MODE_DRY_RUN,
        MODE_RELEASE,
        MODE_DONE, /* --help, --version */
} Mode;

typedef struct Arguments {
        Mode mode;
        const char *root;   /* --sysroot= */
        const char *config; /* --config= */
        char *run_dir;      /* owned */
} Arguments;

static int help(void) {
        puts("damon-tierd [OPTION...]\n\n"
             "Makes tiered memory work by itself, with the kernel's DAMON.\n\n"
             "  -h --help            Show this help\n"
             "     --version         Show the version\n"
             "     --config=FILE     Read this file only, no drop-ins\n"
             "     --sysroot=DIR     Take /sys, /proc, /etc and /run below DIR\n"
             "     --check-config    Read the configuration, tell what is wrong with it, end\n"
             "     --dump-config     Print the effective configuration, end\n"
             "     --dry-run         Print every write that a start would make, make none, end\n"
             "     --release         Give back what a crashed run left in the kernel, end\n\n"
             "See damon-tierd(8) and damon-tierd.conf(5).");
        return 0;
}

enum {
        OPT_VERSION = 0x100,
        OPT_CONFIG,
        OPT_SYSROOT,
        OPT_CHECK_CONFIG,
        OPT_DUMP_CONFIG,
        OPT_DRY_RUN,
        OPT_RELEASE,
};

static int parse_arguments(int argc, char **argv, Arguments *ret) {
        static const struct option options[] = {
                {"help", no_argument, NULL, 'h'},
                {"version", no_argument, NULL, OPT_VERSION},
                {"config", required_argument, NULL, OPT_CONFIG},
                {"sysroot", required_argument, NULL, OPT_SYSROOT},
                {"check-config", no_argument, NULL, OPT_CHECK_CONFIG},
                {"dump-config", no_argument, NULL, OPT_DUMP_CONFIG},
                {"dry-run", no_argument, NULL, OPT_DRY_RUN},
                {"release", no_argument, NULL, OPT_RELEASE},
                {},
        };
        int c;

        *ret = (Arguments){.root = "/"};
        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 'h':
                        ret->mode = MODE_DONE;
                        return help();
                case OPT_VERSION:
                        ret->mode = MODE_DONE;
                        puts("damon-tierd " DAMON_TIERD_VERSION);
                        return 0;
                case OPT_CONFIG:
                        ret->config = optarg;
                        break;
                case OPT_SYSROOT:
                        ret->root = optarg;
                        break;
                case OPT_CHECK_CONFIG:
                        ret->mode = MODE_CHECK_CONFIG;
                        break;
                case OPT_DUMP_CONFIG:
                        ret->mode = MODE_DUMP_CONFIG;
                        break;
                case OPT_DRY_RUN:
                        ret->mode = MODE_DRY_RUN;
                        break;
                case OPT_RELEASE:
                        ret->mode = MODE_RELEASE;
                        break;
                default:
                        return -EINVAL; /* getopt said it */
                }
        if (optind < argc) {
                fprintf(stderr, "damon-tierd: unexpected argument '%s'\n", argv[optind]);
                return -EINVAL;
        }
        if (asprintf(&ret->run_dir, "%s/run/damon-tierd",
                     strcmp(ret->root, "/") == 0 ? "" : ret->root) < 0) {
                ret->run_dir = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int load_config(void *userdata, ConfigProblems *problems, Config **ret) {
        const Arguments *arguments = userdata;
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        const ConfigAssignment *assignments;
        size_t n_assignments;
        int r, k;

        r = arguments->config ? conffile_load_path(arguments->config, problems, &file)
                              : conffile_load(arguments->root, problems, &file);
        if (r < 0)
                return r;
        /* Values are checked also when the syntax is wrong somewhere: tell all at once. */
        assignments = conffile_assignments(file, &n_assignments);
        k = problems->n_errors > 0 ? -EINVAL : 0;
        r = config_build(assignments, n_assignments, problems, ret);
        if (r >= 0 && k < 0) {
                config_free(*ret);
                *ret = NULL;
        }
        return r < 0 ? r : k;
}

/* Load for the modes that end at once: problems go to stderr. 0 or an exit status. */
static int load_for_once(Arguments *arguments, Config **ret) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        int r;

        r = load_config(arguments, &problems, ret);
        for (size_t i = 0; i < problems.n_items; i++)
                fprintf(stderr, "%s\n", problems.items[i].text);
        if (r < 0 && problems.n_errors == 0)
                fprintf(stderr, "Failed to read the configuration: %s\n", strerror(-r));
        return r < 0 ? MANAGER_EXIT_CONFIG : 0;
}

static int run_once(Arguments *arguments) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        _cleanup_(freep) char *dump = NULL;
        int r;

        r = load_for_once(arguments, &config);
        if (r != 0 || arguments->mode == MODE_CHECK_CONFIG)
                return r;
        if (arguments->mode == MODE_DUMP_CONFIG) {
                dump = config_dump(config);
                if (!dump)
                        return MANAGER_EXIT_FAILURE;
                (void) fputs(dump, stdout);
                return 0;
        }
        r = sysfs_open(arguments->root, SYSFS_READ_ONLY, &sysfs);
        if (r >= 0)
                r = dryrun(sysfs, arguments->run_dir, config, stdout);
        if (r < 0 && r != -EBUSY)
                fprintf(stderr, "Failed to look at this machine: %s\n", strerror(-r));
        return r == -EBUSY ? MANAGER_EXIT_REFUSED : r < 0 ? MANAGER_EXIT_FAILURE : 0;
}

static int run_service(Arguments *arguments) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        ManagerParams params = {
                .run_dir = arguments->run_dir,
                .sink = journal_default_sink(),
                .load_config = load_config,
                .userdata = arguments,
        };
        int r, status = MANAGER_EXIT_FAILURE;

        /* One small heap: a second arena for the worker would cost more than it could win. */
        (void) mallopt(M_ARENA_MAX, 1);

        r = sysfs_open(arguments->root, SYSFS_READ_WRITE, &sysfs);
        if (r >= 0) {
                params.sysfs = sysfs;
                r = arguments->mode == MODE_RELEASE ? manager_release(&params, &status)
                                                    : manager_run(&params, &status);
        }
        if (r < 0)
                fprintf(stderr, "Failed to start: %s\n", strerror(-r));
        return r < 0 ? MANAGER_EXIT_FAILURE : status;
}

int main(int argc, char **argv) {
        Arguments arguments;
        int r;

        r = parse_arguments(argc, argv, &arguments);
        if (r < 0)
                return 2;
        if (arguments.mode == MODE_DONE)
                return 0;
        if (arguments.mode == MODE_RUN || arguments.mode == MODE_RELEASE)
                r = run_service(&arguments);
        else
                r = run_once(&arguments);
        free(arguments.run_dir);
        return r;
}
