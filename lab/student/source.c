/* The source: what it includes, and the few words that have no place in a strategy. */
#include "student_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const includes[] = {
    "\"strategy.h\"", "\"store.h\"", "\"read_then_write.h\"", "\"key_lock.h\"", "<stdbool.h>",
    "<stdint.h>",     "<stddef.h>",  "<inttypes.h>",          "<stdio.h>",      "<string.h>"};
#define INCLUDES                                                                                   \
    "\"strategy.h\", \"store.h\", \"read_then_write.h\", \"key_lock.h\", <stdbool.h>, "            \
    "<stdint.h>, <stddef.h>, <inttypes.h>, <stdio.h>, <string.h>"

static const char *const directives[] = {"include", "define", "undef", "if",    "ifdef",
                                         "ifndef",  "elif",   "else",  "endif", "error"};
static const char *const words[] = {"asm",         "__asm",         "__asm__",
                                    "__attribute", "__attribute__", "_Pragma",
                                    "__pragma",    "__has_include", "__has_include_next",
                                    "__DATE__",    "__TIME__",      "__TIMESTAMP__"};

/* ---- reading */

static bool is_of_word(char c) {
    return isalnum((unsigned char)c) != 0 || c == '_' || c == '$';
}

static bool is_listed(const char *const *list, size_t count, const char *word, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && memcmp(list[i], word, length) == 0)
            return true;
    return false;
}

static enum student_end open_regular(const char *path, int *fd, struct student_file *file) {
    struct stat is;

    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return student_refuse(file, "%s: %s", file->name,
                              errno == ELOOP ? "it is a link; hand in the file" : strerror(errno));
    if (fstat(*fd, &is) != 0 || !S_ISREG(is.st_mode)) {
        (void)close(*fd);
        return student_refuse(file, "%s: it is not a file", file->name);
    }
    return STUDENT_OK;
}

static ssize_t read_whole(int fd, char *text, size_t size) {
    size_t have = 0;
    ssize_t got = 1;

    while (have < size && got > 0) {
        got = read(fd, text + have, size - have);
        have += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? -1 : (ssize_t)have;
}

/* The code is what the compiler reads once it has joined the lines that a backslash splits. The
 * ends of these lines follow the joined one, so that the lines after it keep their numbers. */
static void join_lines(struct source *source) {
    const char *text = source->text;
    char *code = source->code;
    size_t split = 0;

    while (*text != '\0') {
        const size_t blanks = *text == '\\' ? strspn(text + 1, " \t\r") : 0;

        if (*text == '\\' && text[1 + blanks] == '\n') {
            text += blanks + 2;
            split++;
            continue;
        }
        *code++ = *text;
        for (; *text == '\n' && split > 0; split--)
            *code++ = '\n';
        text++;
    }
    *code = '\0';
}

/* A comment, a text or a character begins at `at`: where it ends. A line's end ends all but a
 * comment in stars. */
static size_t skip(const char *code, size_t at) {
    const char first = code[at];
    const bool is_block = first == '/' && code[at + 1] == '*';

    at += first == '/' ? 2 : 1;
    for (; code[at] != '\0'; at++) {
        if (is_block && code[at] == '*' && code[at + 1] == '/')
            return at + 2;
        if (!is_block && code[at] == '\n')
            return at;
        if (first != '/' && code[at] == first)
            return at + 1;
        if (first != '/' && code[at] == '\\' && code[at + 1] != '\0' && code[at + 1] != '\n')
            at++;
    }
    return at;
}

static bool is_include(const char *code, size_t at) {
    while (at > 0 && code[at - 1] != '\n')
        at--;
    while (code[at] == ' ' || code[at] == '\t')
        at++;
    if (code[at] != '#')
        return false;
    at++;
    while (code[at] == ' ' || code[at] == '\t')
        at++;
    return strncmp(code + at, "include", 7) == 0;
}

/* R"(...)", which does not end where other texts do. */
static bool is_raw(const char *code, size_t at) {
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    size_t from = at;

    while (from > 0 && is_of_word(code[from - 1]))
        from--;
    return code[at] == '"' &&
           is_listed(prefixes, sizeof prefixes / sizeof *prefixes, code + from, at - from);
}

/* False: where a text ends is not for us to say. */
static bool blank(char *code) {
    size_t at = 0;

    while (code[at] != '\0') {
        const bool is_comment = code[at] == '/' && (code[at + 1] == '*' || code[at + 1] == '/');
        const size_t end = is_comment || code[at] == '"' || code[at] == '\'' ? skip(code, at) : at;

        if (is_raw(code, at))
            return false;
        if (end > at && !(code[at] == '"' && is_include(code, at)))
            for (size_t i = at; i < end; i++)
                code[i] = code[i] == '\n' ? '\n' : ' ';
        at = end > at ? end : at + 1;
    }
    return true;
}

/* Others may split lines and words as well, and we would not see what the compiler sees. */
static bool is_plain(const char *text) {
    for (; *text != '\0'; text++)
        if ((*text == '\r' && text[1] != '\n') || *text == '\f' || *text == '\v')
            return false;
    return true;
}

enum student_end source_read(struct source *source, const char *path, struct student_file *file) {
    int fd;
    ssize_t size;
    enum student_end end = open_regular(path, &fd, file);

    if (end != STUDENT_OK)
        return end;
    size = read_whole(fd, source->text, sizeof source->text);
    (void)close(fd);
    if (size < 0)
        return student_refuse(file, "%s: it cannot be read", file->name);
    if (size > STUDENT_SOURCE)
        return student_refuse(file, "%s: it has more than %d bytes", file->name, STUDENT_SOURCE);
    source->size = (size_t)size;
    source->text[size] = '\0';
    if (strlen(source->text) != source->size)
        return student_refuse(file, "%s: it is not a text", file->name);
    if (strncmp(source->text, "\xef\xbb\xbf", 3) == 0)
        memcpy(source->text, "   ", 3);
    join_lines(source);
    if (!is_plain(source->text) || !blank(source->code))
        return student_refuse(file,
                              "%s: write it without R\"(texts)\" and without form feeds, vertical "
                              "tabs and lone carriage returns",
                              file->name);
    return STUDENT_OK;
}

/* ---- looking through */

static size_t find_word(const char *code, const char *word) {
    const size_t length = strlen(word);
    const char *found = code;

    while ((found = strstr(found, word)) != NULL) {
        if ((found == code || !is_of_word(found[-1])) && !is_of_word(found[length]))
            return (size_t)(found - code);
        found += length;
    }
    return SIZE_MAX;
}

static int line_at(const struct source *source, size_t at) {
    int line = 1;

    for (size_t i = 0; i < at; i++)
        line += source->code[i] == '\n';
    return line;
}

int source_line_of(const struct source *source, const char *word) {
    const size_t at = find_word(source->code, word);

    return at == SIZE_MAX ? 0 : line_at(source, at);
}

static size_t skip_blanks(const char *code, size_t at) {
    while (code[at] == ' ' || code[at] == '\t')
        at++;
    return at;
}

static enum student_end check_include(const struct source *source, size_t at,
                                      struct student_file *file) {
    const char *name = source->code + skip_blanks(source->code, at);
    size_t length = strcspn(name, " \t\r\n");

    if (is_listed(includes, sizeof includes / sizeof *includes, name, length))
        return STUDENT_OK;
    return student_refuse(file,
                          "%s:%d: #include %.*s: a strategy acts through the store alone; it may "
                          "include " INCLUDES,
                          file->name, line_at(source, at), (int)(length < 60 ? length : 60), name);
}

static enum student_end check_directive(const struct source *source, size_t at,
                                        struct student_file *file) {
    const char *code = source->code;
    const size_t word = skip_blanks(code, at);
    size_t length = 0;

    while (is_of_word(code[word + length]))
        length++;
    if (length == 0 && (code[word] == '\n' || code[word] == '\r'))
        return STUDENT_OK;
    if (!is_listed(directives, sizeof directives / sizeof *directives, code + word, length))
        return student_refuse(file, "%s:%d: #%.*s has no place in a strategy", file->name,
                              line_at(source, at), (int)(length < 40 ? length : 40), code + word);
    return strncmp(code + word, "include", 7) == 0 ? check_include(source, word + 7, file)
                                                   : STUDENT_OK;
}

/* A directive may begin with %:, and ## make any word of two. */
static enum student_end check_directives(const struct source *source, struct student_file *file) {
    const char *code = source->code;
    bool is_first = true; /* on its line */

    for (size_t at = 0; code[at] != '\0'; at++) {
        enum student_end checked = STUDENT_OK;

        if (code[at] == '%' && code[at + 1] == ':')
            return student_refuse(file, "%s:%d: write # for %%:", file->name, line_at(source, at));
        if (code[at] == '#' && code[at + 1] == '#')
            return student_refuse(file, "%s:%d: ## has no place in a strategy", file->name,
                                  line_at(source, at));
        if (code[at] == '#' && is_first)
            checked = check_directive(source, at + 1, file);
        if (checked != STUDENT_OK)
            return checked;
        if (code[at] == '\n')
            is_first = true;
        else if (code[at] != ' ' && code[at] != '\t' && code[at] != '\r')
            is_first = false;
    }
    return STUDENT_OK;
}

enum student_end source_check(const struct source *source, struct student_file *file) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (find_word(source->code, words[i]) != SIZE_MAX)
            return student_refuse(file, "%s:%d: %s has no place in a strategy", file->name,
                                  source_line_of(source, words[i]), words[i]);
    return check_directives(source, file);
}
