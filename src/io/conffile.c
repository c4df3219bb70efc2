/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Configuration files -> assignments with file and line. inih takes the lines apart, but takes more
 * than it should: it splits lines over 199 characters, joins indented ones to the key before, lets
 * keys after a malformed header land in the section before, takes ':' for '=', cuts values at " ;"
 * and ignores what follows a ']'. So it is fed one line at a time, and only such lines as leave it
 * no choice; the others are reported, and the reading goes on. Knows nothing of sections and keys
 * but their form. */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <ini.h>

#include "base/array.h"
#include "io/confdir.h"
#include "io/conffile.h"

/* Some hundred times what anybody wrote; a log file named .conf by mistake is not read to its end.
 */
#define FILE_MAX_BYTES (1024U * 1024U)

/* INI_MAX_LINE is 200, with newline and NUL. Comments may be longer: inih does not see them. */
#define LINE_MAX_CHARS 198U
#define LINE_MAX_TEXT "198"

/* inih keeps 49 characters of a section's name (MAX_SECTION) and drops the rest. */
#define SECTION_MAX_CHARS 49U

struct ConfFile {
        char **strings;
        size_t n_strings;
        size_t n_strings_alloc;
        ConfigAssignment *assignments;
        size_t n_assignments;
        size_t n_assignments_alloc;
};

/* inih's stream: hands out the lines of one file. */
typedef struct Reader {
        ConfFile *file;
        ConfigProblems *problems;
        const char *path;
        const char *next; /* rest of the text */
        const char *end;
        unsigned line;
        const char *section; /* of the last assignment; belongs to the file */
        bool in_section;
        bool in_bad_section; /* the last header was malformed: its keys belong nowhere */
        int error;           /* of memory; ends the reading */
} Reader;

/* A piece of a line. */
typedef struct Span {
        const char *text;
        size_t len;
} Span;

ConfFile *conffile_free(ConfFile *file) {
        if (!file)
                return NULL;

        for (size_t i = 0; i < file->n_strings; i++)
                free(file->strings[i]);

        free(file->strings);
        free(file->assignments);
        free(file);
        return NULL;
}

/* A copy of @text that lives as long as the file does; NULL without memory. */
static const char *keep(ConfFile *file, const char *text) {
        _cleanup_(freep) char *copy = NULL;

        copy = strdup(text);
        if (!copy)
                return NULL;

        if (ARRAY_GROW(file->strings, file->n_strings_alloc, file->n_strings + 1) < 0)
                return NULL;

        file->strings[file->n_strings++] = copy;
        return TAKE_PTR(copy);
}

static int complain(Reader *reader, const char *fmt, ...) _printf_(2, 3);
static int complain(Reader *reader, const char *fmt, ...) {
        va_list ap;
        int r;

        va_start(ap, fmt);
        r = config_problems_addv(reader->problems, /* is_error= */ true, reader->path, reader->line,
                                 NULL, fmt, ap);
        va_end(ap);
        return r;
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

static Span strip(Span s) {
        while (s.len > 0 && is_blank(s.text[0])) {
                s.text++;
                s.len--;
        }
        while (s.len > 0 && (is_blank(s.text[s.len - 1]) || s.text[s.len - 1] == '\r'))
                s.len--;

        return s;
}

static bool is_comment(Span s) {
        return s.len > 0 && (s.text[0] == '#' || s.text[0] == ';');
}

/* A comment behind a value: ';' or '#' after a blank. */
static bool has_comment(Span s) {
        for (size_t i = 0; i < s.len; i++)
                if ((s.text[i] == ';' || s.text[i] == '#') && (i == 0 || is_blank(s.text[i - 1])))
                        return true;

        return false;
}

/* Printable ASCII and tabs. */
static bool is_plain(Span s) {
        for (size_t i = 0; i < s.len; i++)
                if ((s.text[i] < ' ' || s.text[i] > '~') && s.text[i] != '\t')
                        return false;

        return true;
}

static bool is_key(Span s) {
        for (size_t i = 0; i < s.len; i++) {
                char c = s.text[i];

                if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9'))
                        return false;
        }

        return s.len > 0;
}

/* The checks of lines return 1 for a line that inih may see, 0 for one that it must not (a problem
 * was added if it was not mere comment), -ENOMEM. */

static int check_header(Reader *reader, Span line) {
        Span name = {line.text + 1, line.len - 1};
        int r;

        reader->in_bad_section = true;
        if (name.len < 2 || name.text[name.len - 1] != ']') {
                r = complain(reader,
                             "'%.*s' is not a section; expected [Section] alone on its "
                             "line, ignoring the keys that follow",
                             (int) line.len, line.text);
                return r < 0 ? r : 0;
        }

        name.len--;
        for (size_t i = 0; i < name.len; i++)
                if (strchr("[];#", name.text[i])) {
                        r = complain(reader,
                                     "'%.*s' is not a section; expected a name without "
                                     "brackets, ';' and '#', ignoring the keys that follow",
                                     (int) line.len, line.text);
                        return r < 0 ? r : 0;
                }

        if (name.len > SECTION_MAX_CHARS) {
                r = complain(reader,
                             "'%.*s' is too long; expected at most %u characters in a "
                             "section's name, ignoring the keys that follow",
                             (int) line.len, line.text, SECTION_MAX_CHARS);
                return r < 0 ? r : 0;
        }

        reader->in_bad_section = false;
        reader->in_section = true;
        return 1;
}

static int check_assignment(Reader *reader, Span line) {
        const char *equals = memchr(line.text, '=', line.len);
        Span key, value;
        int r;

        if (!equals) {
                r = complain(reader, "'%.*s' is not an assignment; expected Key=value or [Section]",
                             (int) line.len, line.text);
                return r < 0 ? r : 0;
        }

        key = strip((Span){line.text, (size_t) (equals - line.text)});
        if (!is_key(key)) {
                r = complain(reader, "'%.*s' is not a key; expected letters and digits before '='",
                             (int) key.len, key.text);
                return r < 0 ? r : 0;
        }

        value = strip((Span){equals + 1, line.len - (size_t) (equals - line.text) - 1});
        if (has_comment(value)) {
                r = complain(reader,
                             "'%.*s' holds a comment; expected comments on lines of their "
                             "own",
                             (int) value.len, value.text);
                return r < 0 ? r : 0;
        }

        if (reader->in_bad_section)
                return 0; /* said at the header */

        if (!reader->in_section) {
                r = complain(reader, "'%.*s' stands before any section; expected a [Section] first",
                             (int) line.len, line.text);
                return r < 0 ? r : 0;
        }

        return 1;
}

/* What makes a line one that inih would misread, whatever stands in it; NULL for nothing. */
static const char *misread(Span raw, Span line, size_t size) {
        if (!is_plain(line))
                return "the line has bytes that are not plain ASCII; expected such in comments "
                       "only";
        if (raw.len > LINE_MAX_CHARS || raw.len + 2 > size)
                return "the line is too long; expected at most " LINE_MAX_TEXT " characters";
        if (is_blank(raw.text[0]))
                return "the line is indented; expected no blanks in front, lines are not continued";

        return NULL;
}

static int check_line(Reader *reader, Span raw, size_t size) {
        Span line = strip(raw);
        const char *problem;
        int r;

        if (line.len == 0 || is_comment(line))
                return 0;

        problem = misread(raw, line, size);
        if (problem) {
                reader->in_bad_section |= line.text[0] == '[';
                r = complain(reader, "%s", problem);
                return r < 0 ? r : 0;
        }

        return line.text[0] == '[' ? check_header(reader, line) : check_assignment(reader, line);
}

/* inih's reader, which is called as fgets() is. A line that inih must not see is an empty one to
 * it, so that its lines and ours are the same. */
static char *read_line(char *buf, int size, void *stream) {
        Reader *reader = stream;
        const char *newline;
        Span line;
        int r;

        if (reader->next >= reader->end || reader->error < 0)
                return NULL;

        reader->line++;
        newline = memchr(reader->next, '\n', (size_t) (reader->end - reader->next));
        line = (Span){reader->next, (size_t) ((newline ? newline : reader->end) - reader->next)};
        reader->next = newline ? newline + 1 : reader->end;

        while (line.len > 0 &&
               (is_blank(line.text[line.len - 1]) || line.text[line.len - 1] == '\r'))
                line.len--;

        r = check_line(reader, line, (size_t) size);
        if (r < 0) {
                reader->error = r;
                return NULL;
        }
        if (r == 0)
                line.len = 0;

        memcpy(buf, line.text, line.len);
        buf[line.len] = '\n';
        buf[line.len + 1] = '\0';
        return buf;
}

/* inih's handler; called within the line that read_line() gave last. Non-zero is success. */
static int take_assignment(void *userdata, const char *section, const char *key,
                           const char *value) {
        Reader *reader = userdata;
        ConfFile *file = reader->file;
        ConfigAssignment assignment = {.path = reader->path, .line = reader->line};

        if (!reader->section || strcmp(reader->section, section) != 0)
                reader->section = keep(file, section);

        assignment.section = reader->section;
        assignment.key = keep(file, key);
        assignment.value = keep(file, value);
        if (!assignment.section || !assignment.key || !assignment.value ||
            ARRAY_GROW(file->assignments, file->n_assignments_alloc, file->n_assignments + 1) < 0) {
                reader->error = -ENOMEM;
                return 0;
        }

        file->assignments[file->n_assignments++] = assignment;
        return 1;
}

static int parse_text(ConfFile *file, const char *path, const char *text, size_t size,
                      ConfigProblems *problems) {
        static const char bom[] = "\xef\xbb\xbf";
        Reader reader = {.file = file, .problems = problems, .next = text, .end = text + size};
        int r;

        reader.path = keep(file, path);
        if (!reader.path)
                return -ENOMEM;

        /* Some editors cannot help it; inih would skip it as well. */
        if (size >= strlen(bom) && memcmp(text, bom, strlen(bom)) == 0)
                reader.next += strlen(bom);

        r = ini_parse_stream(read_line, &reader, take_assignment, &reader);
        if (reader.error < 0)
                return reader.error;
        if (r < 0)
                return -ENOMEM;
        if (r == 0)
                return 0;

        /* Our checks let a line through that inih does not take. Better refused than lost. */
        reader.line = (unsigned) r;
        return complain(&reader, "the line cannot be understood; expected Key=value or [Section]");
}

static int new_file(ConfFile **ret) {
        ConfFile *file = calloc(1, sizeof(*file));

        if (!file)
                return -ENOMEM;

        *ret = file;
        return 0;
}

int conffile_parse(const char *path, const char *text, size_t size, ConfigProblems *problems,
                   ConfFile **ret) {
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        int r;

        r = new_file(&file);
        if (r < 0)
                return r;

        r = parse_text(file, path, text, size, problems);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(file);
        return 0;
}

/* All of @fd, into *ret, which the caller frees also on error. */
static int read_all(int fd, char **ret, size_t *ret_size) {
        size_t n_alloc = 0, size = 0;
        int r;

        for (;;) {
                ssize_t n;

                r = ARRAY_GROW(*ret, n_alloc, size + 4096);
                if (r < 0)
                        return r;

                n = read(fd, *ret + size, n_alloc - size);
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;

                size += (size_t) n;
                if (size > FILE_MAX_BYTES)
                        return -E2BIG;
        }

        *ret_size = size;
        return 0;
}

/* The text of a file; none for /dev/null, which masks. */
static int slurp(const char *path, char **ret, size_t *ret_size) {
        _cleanup_(closep) int fd = -1;
        struct stat st;

        /* O_NONBLOCK: a pipe without a writer must not stop the service from starting. */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return -errno;

        if (fstat(fd, &st) < 0)
                return -errno;

        if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) {
                *ret_size = 0;
                return 0;
        }

        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;

        return read_all(fd, ret, ret_size);
}

static int load(ConfFile *file, const char *path, ConfigProblems *problems) {
        _cleanup_(freep) char *text = NULL;
        size_t size = 0;
        const char *why;
        int r;

        r = slurp(path, &text, &size);
        if (r >= 0)
                return size == 0 ? 0 : parse_text(file, path, text, size, problems);
        if (r == -ENOMEM)
                return r;

        why = strerror(-r);
        if (r == -EINVAL)
                why = "Not a regular file";
        if (r == -E2BIG)
                why = "Larger than 1 MiB";

        if (config_problems_add(problems, /* is_error= */ true, path, 0, NULL, "cannot be read: %s",
                                why) < 0)
                return -ENOMEM;

        return r;
}

int conffile_load_path(const char *path, ConfigProblems *problems, ConfFile **ret) {
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        int r;

        r = new_file(&file);
        if (r < 0)
                return r;

        r = load(file, path, problems);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(file);
        return 0;
}

int conffile_load(const char *root, ConfigProblems *problems, ConfFile **ret) {
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        _cleanup_(confdir_paths_done) ConfPaths paths = {};
        int failed;
        int r;

        r = new_file(&file);
        if (r < 0)
                return r;

        /* All that is wrong is reported; the first failure is the result. */
        failed = confdir_find(root, problems, &paths);
        if (failed == -ENOMEM)
                return failed;

        for (size_t i = 0; i < paths.n_items; i++) {
                r = load(file, paths.items[i].path, problems);
                if (r == -ENOMEM)
                        return r;
                if (r < 0 && failed == 0)
                        failed = r;
        }

        if (failed < 0)
                return failed;

        *ret = TAKE_PTR(file);
        return 0;
}

const ConfigAssignment *conffile_assignments(const ConfFile *file, size_t *ret_n) {
        *ret_n = file->n_assignments;
        return file->assignments;
}
