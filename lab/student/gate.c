/* Three gates. The first checks a source: its includes, and a few words that a strategy may not use.
 * The second checks the source again once its macros are expanded. The third checks an object: its
 * calls, its variables, and code that would run when it is loaded.
 *
 * Our own compiler wrote the object, for this machine. Yet each offset in it is checked before it
 * is used. */
#include "gate.h"

#include "strategy.h"

#include <assert.h>
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const includes[] = {"\"strategy.h\"", "\"store.h\"", "\"read_then_write.h\"",
                                       "\"key_lock.h\"", "<stdbool.h>", "<stdint.h>",
                                       "<stddef.h>",     "<limits.h>",  "<iso646.h>",
                                       "<inttypes.h>",   "<stdio.h>",   "<string.h>"};
#define INCLUDES                                                                                   \
    "\"strategy.h\", \"store.h\", \"read_then_write.h\", \"key_lock.h\", <stdbool.h>, "            \
    "<stdint.h>, <stddef.h>, <limits.h>, <iso646.h>, <inttypes.h>, <stdio.h>, <string.h>"

static const char *const directives[] = {"include", "define", "undef", "if",    "ifdef",
                                         "ifndef",  "elif",   "else",  "endif", "error"};
static const char *const words[] = {
    "asm",      "__asm",    "__asm__",       "__attribute",        "__attribute__",
    "_Pragma",  "__pragma", "__has_include", "__has_include_next", "__has_embed",
    "__DATE__", "__TIME__", "__TIMESTAMP__"};

static const char *const printers[] = {"printf", "puts", "putchar", "fprintf", "fputs", "putc"};

static const char *const callable[] = {
    /* the seam */
    "store_read_stock", "store_read_for_update", "store_write_stock", "store_take_stock",
    "store_take_in_batch", "store_open_data_set", "store_hand_out", "store_load_row",
    "store_take_loaded", "store_write_pending", "store_begin", "store_end", "store_lock",
    "store_lock_shared", "store_stamp", "store_lock_stamped", "store_unlock", "store_kv",
    "store_kv_set_absent", "store_kv_expire", "store_kv_get", "store_kv_delete",
    "store_kv_delete_if_equal", "store_deal", "store_cart", "store_saw_empty", "store_random_token",
    "store_pause", "store_work", "store_work_for", "store_trace", "store_find_sale",
    "store_take_returned", "read_then_write", "lock_shard_then_write", "lock_then_write",
    "look_then_write", "lock_row_then_write", "key_lock_win", "outcome_name", "outcome_text",
    "lock_kind_name",
    /* the C library: functions that compilers call by themselves, and functions for texts */
    "memcpy", "memmove", "memset", "memcmp", "bcmp", "memchr", "stpcpy", "__popcountdi2", "strlen",
    "strnlen", "strcmp", "strncmp", "strcpy", "strncpy", "strcat", "strncat", "strchr", "strrchr",
    "strstr", "strspn", "strcspn", "strpbrk", "sprintf", "snprintf", "sscanf", "__isoc99_sscanf",
    "__isoc23_sscanf", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"};

/* Set the message to the place and the reason, and return STUDENT_REFUSED. Line 0: unknown. */
__attribute__((format(printf, 3, 4))) static enum student_end gate_refuse(struct student_file *file,
                                                                          int line,
                                                                          const char *format, ...) {
    const size_t room = sizeof file->message;
    int used = snprintf(file->message, room, "%s:", file->name);
    va_list args;

    if (line > 0)
        used += snprintf(file->message + used, room - (size_t)used, "%d:", line);
    used += snprintf(file->message + used, room - (size_t)used, " ");
    va_start(args, format);
    (void)vsnprintf(file->message + used, room - (size_t)used, format, args);
    va_end(args);
    return STUDENT_REFUSED;
}

/* The machine is at fault. */
static enum student_end gate_broken(struct student_file *file, const char *what) {
    (void)snprintf(file->message, sizeof file->message, "%s: %s", what, strerror(errno));
    return STUDENT_BROKEN;
}

/* ---- the source: read it */

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
    if (*fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO))
        return gate_broken(file, "the file");
    if (*fd < 0)
        return gate_refuse(file, 0, "%s",
                           errno == ELOOP ? "it is a link; hand in the file" : strerror(errno));
    if (fstat(*fd, &is) != 0 || !S_ISREG(is.st_mode)) {
        (void)close(*fd);
        return gate_refuse(file, 0, "it is not a file");
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

/* Join the lines that a backslash splits, like the compiler. Write the line ends that this
 * removes after the joined line, so that later lines keep their numbers. */
static void join_lines(struct gate_source *source) {
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
    assert((size_t)(code - source->code) <= source->size);
}

/* Return the end of the comment, text or character that begins at `at`. A line's end ends all of
 * them, except a comment in stars. */
static size_t gate_skip(const char *code, size_t at) {
    const char first = code[at];
    const bool is_block = first == '/' && code[at + 1] == '*';

    assert(first == '/' || first == '"' || first == '\'');
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

static size_t skip_blanks(const char *code, size_t at) {
    while (code[at] == ' ' || code[at] == '\t')
        at++;
    return at;
}

static bool is_include(const char *code, size_t at) {
    while (at > 0 && code[at - 1] != '\n')
        at--;
    at = skip_blanks(code, at);
    return code[at] == '#' && strncmp(code + skip_blanks(code, at + 1), "include", 7) == 0;
}

/* True for R"(...)", which ends by another rule than other texts. */
static bool is_raw(const char *code, size_t at) {
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    size_t from = at;

    while (from > 0 && is_of_word(code[from - 1]))
        from--;
    return code[at] == '"' &&
           is_listed(prefixes, sizeof prefixes / sizeof *prefixes, code + from, at - from);
}

/* Blank comments and texts. False: there is a raw text, and its end is not known. */
static bool blank(char *code) {
    size_t at = 0;

    while (code[at] != '\0') {
        const bool is_comment = code[at] == '/' && (code[at + 1] == '*' || code[at + 1] == '/');
        const size_t end =
            is_comment || code[at] == '"' || code[at] == '\'' ? gate_skip(code, at) : at;

        if (is_raw(code, at))
            return false;
        if (end > at && !(code[at] == '"' && is_include(code, at)))
            for (size_t i = at; i < end; i++)
                code[i] = code[i] == '\n' ? '\n' : ' ';
        at = end > at ? end : at + 1;
    }
    return true;
}

/* False: it has other characters that split lines or words. The compiler may treat them in another
 * way than this file. */
static bool gate_is_plain(const char *text) {
    for (; *text != '\0'; text++)
        if ((*text == '\r' && text[1] != '\n') || *text == '\f' || *text == '\v')
            return false;
    return true;
}

/* ---- the source: check it */

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

static int line_at(const struct gate_source *source, size_t at) {
    int line = 1;

    for (size_t i = 0; i < at; i++)
        line += source->code[i] == '\n';
    return line;
}

/* The first line of the code with this word; 0: none. */
static int line_of_word(const struct gate_source *source, const char *word) {
    const size_t at = find_word(source->code, word);

    return at == SIZE_MAX ? 0 : line_at(source, at);
}

static enum student_end check_include(const struct gate_source *source, size_t at,
                                      struct student_file *file) {
    const char *name = source->code + skip_blanks(source->code, at);
    size_t length = strcspn(name, " \t\r\n");

    if (is_listed(includes, sizeof includes / sizeof *includes, name, length))
        return STUDENT_OK;
    return gate_refuse(file, line_at(source, at),
                       "#include %.*s: a strategy may act only through "
                       "the store; it may include " INCLUDES,
                       (int)(length < 60 ? length : 60), name);
}

static enum student_end check_directive(const struct gate_source *source, size_t at,
                                        struct student_file *file) {
    static const char *const namers[] = {"define", "undef"};
    const char *code = source->code;
    const size_t word = skip_blanks(code, at);
    size_t length = 0;

    assert(at > 0 && code[at - 1] == '#');
    while (is_of_word(code[word + length]))
        length++;
    if (length == 0 && (code[word] == '\n' || code[word] == '\r'))
        return STUDENT_OK;
    if (!is_listed(directives, sizeof directives / sizeof *directives, code + word, length))
        return gate_refuse(file, line_at(source, at), "#%.*s has no place in a strategy",
                           (int)(length < 40 ? length : 40), code + word);
    if (strncmp(code + word, "include", 7) == 0)
        return check_include(source, word + 7, file);
    return is_listed(namers, 2, code + word, length) &&
                   strncmp(code + skip_blanks(code, word + length), "__", 2) == 0
               ? gate_refuse(file, line_at(source, at),
                             "choose another name: the compiler's begin with __")
               : STUDENT_OK;
}

/* `%:` can begin a directive, and `##` can make any word of two, so both are refused. */
static enum student_end check_directives(const struct gate_source *source,
                                         struct student_file *file) {
    const char *code = source->code;
    bool is_first = true; /* on its line */

    for (size_t at = 0; code[at] != '\0'; at++) {
        enum student_end checked = STUDENT_OK;

        if (code[at] == '%' && code[at + 1] == ':')
            return gate_refuse(file, line_at(source, at), "write # instead of %%:");
        if (code[at] == '#' && code[at + 1] == '#')
            return gate_refuse(file, line_at(source, at), "## has no place in a strategy");
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

/* `[[` begins an attribute in C23; `<:` is another spelling of `[`. 0: there is none. */
static int line_of_attribute(const struct gate_source *source) {
    const char *code = source->code;
    bool was_bracket = false;

    for (size_t at = 0; code[at] != '\0'; at++) {
        const bool is_digraph = code[at] == '<' && code[at + 1] == ':';

        if (isspace((unsigned char)code[at]))
            continue;
        if (was_bracket && (code[at] == '[' || is_digraph))
            return line_at(source, at);
        was_bracket = code[at] == '[' || is_digraph;
        at += is_digraph;
    }
    return 0;
}

static enum student_end check_words(const struct gate_source *source, struct student_file *file) {
    const int line = line_of_attribute(source);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (find_word(source->code, words[i]) != SIZE_MAX)
            return gate_refuse(file, line_of_word(source, words[i]),
                               "%s has no place in a strategy", words[i]);
    for (size_t i = 0; i < sizeof printers / sizeof *printers; i++)
        if (find_word(source->code, printers[i]) != SIZE_MAX)
            return gate_refuse(file, line_of_word(source, printers[i]),
                               "%s: a strategy may not call this; store_trace(sale, \"text\") "
                               "shows a text where the sale's steps are shown",
                               printers[i]);
    return line > 0 ? gate_refuse(file, line, "an attribute has no place in a strategy")
                    : STUDENT_OK;
}

static enum student_end check_source(const struct gate_source *source, struct student_file *file) {
    const enum student_end end = check_words(source, file);

    return end == STUDENT_OK ? check_directives(source, file) : end;
}

enum student_end gate_read(struct gate_source *source, const char *path,
                           struct student_file *file) {
    int fd;
    ssize_t size;
    enum student_end end = open_regular(path, &fd, file);

    if (end != STUDENT_OK)
        return end;
    size = read_whole(fd, source->text, sizeof source->text);
    end = size < 0 ? gate_broken(file, "the file") : STUDENT_OK;
    (void)close(fd);
    if (end != STUDENT_OK)
        return end;
    if (size > STUDENT_SOURCE)
        return gate_refuse(file, 0, "it has more than %d bytes", STUDENT_SOURCE);
    source->size = (size_t)size;
    source->text[size] = '\0';
    if (strlen(source->text) != source->size)
        return gate_refuse(file, 0, "it is not a text");
    if (strncmp(source->text, "\xef\xbb\xbf", 3) == 0)
        memcpy(source->text, "   ", 3);
    join_lines(source);
    if (!gate_is_plain(source->text) || !blank(source->code))
        return gate_refuse(file, 0,
                           "write it without R\"(texts)\" and without form feeds, vertical "
                           "tabs and lone carriage returns");
    return check_source(source, file);
}

/* ---- the source with its macros expanded */

/* NULL, with errno, if the file cannot be read or is empty. */
static const void *map_file(const char *path, size_t *size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat is;
    void *bytes = MAP_FAILED;

    errno = fd >= 0 ? EIO : errno;
    if (fd >= 0 && fstat(fd, &is) == 0 && is.st_size > 0) {
        *size = (size_t)is.st_size;
        bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0)
        (void)close(fd);
    return bytes != MAP_FAILED ? bytes : NULL;
}

/* Read a marker such as `# 12 "01.c" 2`. All files but the student's have names with a folder, or
 * names such as <built-in>. False: this line is no marker. */
static bool read_marker(const char *line, const char *end, int *number, bool *is_own) {
    int at = 0;

    if (end - line < 3 || line[0] != '#' || line[1] != ' ' || !isdigit((unsigned char)line[2]))
        return false;
    for (line += 2; line < end && isdigit((unsigned char)*line) && at < STUDENT_SOURCE; line++)
        at = 10 * at + *line - '0';
    *number = at;
    *is_own = end - line > 2 && line[1] == '"' && line[2] != '/' && line[2] != '<';
    return true;
}

/* Keep the student's lines, each on its own line again. False: they are too long. */
static bool keep_own_lines(struct gate_source *source, const char *text, size_t size) {
    const char *const whole = text + size;
    int wanted = 1, now = 1;
    size_t used = 0;

    for (bool is_own = false; text < whole;) {
        const char *feed = memchr(text, '\n', (size_t)(whole - text));
        const char *end = feed != NULL ? feed : whole;
        const size_t length = (size_t)(end - text);

        if (!read_marker(text, end, &wanted, &is_own) && is_own) {
            if (used + length + (size_t)(wanted > now ? wanted - now : 0) + 2 > sizeof source->code)
                return false;
            for (; now < wanted; now++)
                source->code[used++] = '\n';
            memcpy(source->code + used, text, length);
            used += length;
            source->code[used++] = '\n';
            wanted = ++now;
        }
        text = feed != NULL ? feed + 1 : whole;
    }
    source->code[used] = '\0';
    return strlen(source->code) == used && blank(source->code);
}

enum student_end gate_check_expanded(const char *path, struct gate_source *room,
                                     struct student_file *file) {
    size_t size;
    const char *text = map_file(path, &size);
    enum student_end end;

    if (text == NULL)
        return gate_broken(file, "the expanded file");
    end = keep_own_lines(room, text, size)
              ? check_words(room, file)
              : gate_refuse(file, 0, "its macros make it longer than %d bytes", STUDENT_SOURCE);
    (void)munmap((void *)(uintptr_t)text, size);
    return end;
}

struct object {
    const unsigned char *bytes;
    size_t size;
    const Elf64_Shdr *sections;
    size_t section_count;
    const struct gate_source *source;
    struct student_file *file;
};

/* ---- the object: its parts; NULL if they are not inside it */

static const void *part(const struct object *object, size_t offset, size_t size) {
    return offset <= object->size && size <= object->size - offset && offset % 8 == 0
               ? object->bytes + offset
               : NULL;
}

static const char *text_in(const struct object *object, const Elf64_Shdr *texts, size_t at) {
    const char *text = (const char *)object->bytes + texts->sh_offset;

    if (texts->sh_offset > object->size || texts->sh_size > object->size - texts->sh_offset ||
        at >= texts->sh_size || memchr(text + at, '\0', texts->sh_size - at) == NULL)
        return NULL;
    return text + at;
}

/* The compiler did not write what it should. */
static enum student_end strange(const struct object *object) {
    errno = EIO;
    return gate_broken(object->file, "the compiler's object");
}

/* For a static variable n of sell(), one compiler writes n.0 and another writes sell.n. */
static int line_of(const struct gate_source *source, const char *symbol) {
    char name[80];
    const char *dot = strchr(symbol, '.');
    int line = line_of_word(source, symbol);

    if (line > 0 || dot == NULL)
        return line;
    (void)snprintf(name, sizeof name, "%.*s", (int)(dot - symbol), symbol);
    return isdigit((unsigned char)dot[1]) ? line_of_word(source, name)
                                          : line_of_word(source, dot + 1);
}

static enum student_end refuse_symbol(const struct object *object, const char *symbol,
                                      const char *why) {
    return gate_refuse(object->file, line_of(object->source, symbol), "%.80s: %s", symbol, why);
}

/* ---- the object: sections */

static bool starts(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

/* By its flags, because an object may give a section any name. `.data.rel.ro` is constant data with
 * addresses: only the loader writes to it. */
static bool is_shared_state(const Elf64_Shdr *section, const char *name) {
    return (section->sh_flags & (SHF_WRITE | SHF_TLS)) != 0 && section->sh_size > 0 &&
           strcmp(name, ".data.rel.ro") != 0 && strcmp(name, ".data.rel.ro.local") != 0;
}

static bool does_run(const Elf64_Shdr *section, const char *name) {
    return section->sh_type == SHT_INIT_ARRAY || section->sh_type == SHT_FINI_ARRAY ||
           section->sh_type == SHT_PREINIT_ARRAY || starts(name, ".init") ||
           starts(name, ".fini") || starts(name, ".ctors") || starts(name, ".dtors") ||
           starts(name, ".preinit") ||
           ((section->sh_flags & SHF_EXECINSTR) != 0 && !starts(name, ".text"));
}

static enum student_end check_sections(const struct object *object, const Elf64_Shdr *names) {
    for (size_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        const char *name = text_in(object, names, section->sh_name);

        if (name == NULL)
            return strange(object);
        if (does_run(section, name))
            return gate_refuse(object->file, 0, "it has code that runs when it is loaded");
    }
    return STUDENT_OK;
}

/* ---- the object: symbols */

static enum student_end check_defined(const struct object *object, const Elf64_Shdr *names,
                                      const Elf64_Sym *symbol, const char *name) {
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    const char *section;

    if (type == STT_GNU_IFUNC)
        return refuse_symbol(object, name, "code that runs when it is loaded would choose it");
    if (ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
        is_listed(callable, sizeof callable / sizeof *callable, name, strlen(name)))
        return refuse_symbol(object, name,
                             "the store or the C library has a function of this name; choose "
                             "another, or make it static");
    if (strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0)
        return refuse_symbol(object, name, "it would run when it is loaded or unloaded");
    if (strcmp(name, "_DYNAMIC") == 0)
        return refuse_symbol(object, name, "the linker has this name; choose another");
    if (symbol->st_shndx == SHN_COMMON || type == STT_TLS || type == STT_COMMON)
        return refuse_symbol(object, name,
                             "a variable that sales share behind the store; keep it in the store");
    if (symbol->st_shndx >= object->section_count || symbol->st_shndx == SHN_UNDEF)
        return STUDENT_OK;
    section = text_in(object, names, object->sections[symbol->st_shndx].sh_name);
    if (section == NULL)
        return strange(object);
    if (type == STT_OBJECT && is_shared_state(&object->sections[symbol->st_shndx], section))
        return refuse_symbol(object, name,
                             "a variable that sales share behind the store; keep it "
                             "in the store, or make it const");
    return STUDENT_OK;
}

static enum student_end check_symbol(const struct object *object, const Elf64_Shdr *names,
                                     const Elf64_Sym *symbol, const char *name,
                                     bool *has_strategy) {
    if (symbol->st_shndx == SHN_UNDEF)
        return name[0] == '\0' ||
                       is_listed(callable, sizeof callable / sizeof *callable, name, strlen(name))
                   ? STUDENT_OK
                   : refuse_symbol(object, name,
                                   "a strategy may not call this; it may act only through the "
                                   "store");
    if (strcmp(name, "strategy_exercise") == 0 && symbol->st_size == sizeof(struct strategy) &&
        ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL)
        *has_strategy = true;
    return check_defined(object, names, symbol, name);
}

static enum student_end check_table(const struct object *object, const Elf64_Shdr *names,
                                    const Elf64_Shdr *table, bool *has_strategy) {
    const Elf64_Sym *symbols = part(object, table->sh_offset, table->sh_size);

    if (symbols == NULL || table->sh_link >= object->section_count)
        return strange(object);
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const char *name = text_in(object, &object->sections[table->sh_link], symbols[i].st_name);
        enum student_end end = name == NULL
                                   ? strange(object)
                                   : check_symbol(object, names, &symbols[i], name, has_strategy);

        if (end != STUDENT_OK)
            return end;
    }
    return STUDENT_OK;
}

/* A variable may have no symbol, so check the sections, too. */
static enum student_end check_nameless(const struct object *object, const Elf64_Shdr *names) {
    for (size_t i = 1; i < object->section_count; i++) {
        const char *name = text_in(object, names, object->sections[i].sh_name);

        if (name != NULL && is_shared_state(&object->sections[i], name))
            return gate_refuse(object->file, 0,
                               "it has a variable that sales share behind the store");
    }
    return STUDENT_OK;
}

static enum student_end check_object(struct object *object) {
    const Elf64_Ehdr *header = part(object, 0, sizeof *header);
    const Elf64_Shdr *names;
    bool has_strategy = false;
    enum student_end end;

    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL ||
        header->e_shentsize != sizeof *names || header->e_shstrndx >= header->e_shnum)
        return strange(object);
    object->section_count = header->e_shnum;
    object->sections = part(object, header->e_shoff, object->section_count * sizeof *names);
    if (object->sections == NULL)
        return strange(object);
    names = &object->sections[header->e_shstrndx];
    end = check_sections(object, names);
    for (size_t i = 1; i < object->section_count && end == STUDENT_OK; i++)
        if (object->sections[i].sh_type == SHT_SYMTAB)
            end = check_table(object, names, &object->sections[i], &has_strategy);
    if (end == STUDENT_OK)
        end = check_nameless(object, names);
    if (end == STUDENT_OK && !has_strategy)
        end = gate_refuse(object->file, 0, "it has no `const struct strategy strategy_exercise`");
    return end;
}

enum student_end gate_check_object(const char *path, const struct gate_source *source,
                                   struct student_file *file) {
    struct object object = {.source = source, .file = file};
    enum student_end end;

    object.bytes = map_file(path, &object.size);
    if (object.bytes == NULL)
        return gate_broken(file, "the compiler's object");
    end = check_object(&object);
    (void)munmap((void *)(uintptr_t)object.bytes, object.size);
    return end;
}
