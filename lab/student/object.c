/* The object: what it calls, what it keeps, and what would run before anybody calls it.
 *
 * It is what our own compiler wrote, for this machine; but each offset in it is looked at before it
 * is followed. */
#include "student_internal.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const callable[] = {
    /* the seam */
    "store_read_stock", "store_read_for_update", "store_write_stock", "store_take_stock",
    "store_take_in_batch", "store_hand_out", "store_write_pending", "store_begin", "store_end",
    "store_lock", "store_lock_shared", "store_stamp", "store_lock_stamped", "store_unlock",
    "store_kv_set_absent", "store_kv_expire", "store_kv_get", "store_kv_delete",
    "store_kv_delete_if_equal", "store_kv_script", "store_deal", "store_saw_empty",
    "store_random_token", "store_pause", "store_work", "store_find_sale", "store_take_returned",
    "read_then_write", "lock_then_write", "look_then_write", "lock_row_then_write", "key_lock_win",
    "outcome_name", "outcome_text", "lock_kind_name",
    /* of the C library, what compiles to a call, and what looks at texts */
    "memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strnlen", "strcmp", "strncmp",
    "strcpy", "strncpy", "strcat", "strncat", "strchr", "strrchr", "strstr", "strspn", "strcspn",
    "snprintf", "sscanf", "__isoc99_sscanf", "__isoc23_sscanf", "__stack_chk_fail",
    "_GLOBAL_OFFSET_TABLE_"};

struct object {
    const unsigned char *bytes;
    size_t size;
    const Elf64_Shdr *sections;
    size_t section_count;
    const struct source *source;
    struct student_file *file;
};

/* ---- parts of the file, or NULL */

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

static enum student_end strange(const struct object *object) {
    return student_refuse(object->file, "%s: it compiles to an object that cannot be read",
                          object->file->name);
}

/* A static variable of a function is n.0 to one compiler, sell.n to another. */
static int line_of(const struct source *source, const char *symbol) {
    char name[80];
    const char *dot = strchr(symbol, '.');
    int line = source_line_of(source, symbol);

    if (line > 0 || dot == NULL)
        return line;
    (void)snprintf(name, sizeof name, "%.*s", (int)(dot - symbol), symbol);
    return isdigit((unsigned char)dot[1]) ? source_line_of(source, name)
                                          : source_line_of(source, dot + 1);
}

static enum student_end refuse_symbol(const struct object *object, const char *symbol,
                                      const char *why) {
    const int line = line_of(object->source, symbol);

    return line > 0
               ? student_refuse(object->file, "%s:%d: %.80s: %s", object->file->name, line, symbol,
                                why)
               : student_refuse(object->file, "%s: %.80s: %s", object->file->name, symbol, why);
}

/* ---- sections */

static bool starts(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

/* Constant data that holds addresses is written once, when it is loaded. */
static bool is_shared_state(const Elf64_Shdr *section, const char *name) {
    return (section->sh_flags & SHF_WRITE) != 0 && section->sh_size > 0 &&
           !starts(name, ".data.rel.ro");
}

static bool does_run(const Elf64_Shdr *section, const char *name) {
    return section->sh_type == SHT_INIT_ARRAY || section->sh_type == SHT_FINI_ARRAY ||
           section->sh_type == SHT_PREINIT_ARRAY || starts(name, ".init") ||
           starts(name, ".fini") || starts(name, ".ctors") || starts(name, ".dtors") ||
           starts(name, ".preinit");
}

static enum student_end check_sections(const struct object *object, const Elf64_Shdr *names) {
    for (size_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        const char *name = text_in(object, names, section->sh_name);

        if (name == NULL)
            return strange(object);
        if (does_run(section, name))
            return student_refuse(object->file, "%s: it has code that runs when it is loaded",
                                  object->file->name);
    }
    return STUDENT_OK;
}

/* ---- symbols */

static bool is_callable(const char *name) {
    for (size_t i = 0; i < sizeof callable / sizeof *callable; i++)
        if (strcmp(callable[i], name) == 0)
            return true;
    return false;
}

static enum student_end check_defined(const struct object *object, const Elf64_Shdr *names,
                                      const Elf64_Sym *symbol, const char *name) {
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    const char *section;

    if (type == STT_GNU_IFUNC)
        return refuse_symbol(object, name,
                             "it would be chosen by code that runs when it is loaded");
    if (strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0)
        return refuse_symbol(object, name, "it would run when it is loaded or unloaded");
    if (symbol->st_shndx == SHN_COMMON || type == STT_TLS || type == STT_COMMON)
        return refuse_symbol(object, name,
                             "a variable that sales share behind the store; keep it in the store");
    if (symbol->st_shndx >= object->section_count || symbol->st_shndx == SHN_UNDEF)
        return STUDENT_OK;
    section = text_in(object, names, object->sections[symbol->st_shndx].sh_name);
    if (section == NULL)
        return strange(object);
    if (type == STT_OBJECT && is_shared_state(&object->sections[symbol->st_shndx], section))
        return refuse_symbol(
            object, name,
            "a variable that sales share behind the store; keep it in the store, or "
            "make it const");
    return STUDENT_OK;
}

static enum student_end check_symbol(const struct object *object, const Elf64_Shdr *names,
                                     const Elf64_Sym *symbol, const char *name,
                                     bool *has_strategy) {
    if (symbol->st_shndx == SHN_UNDEF)
        return name[0] == '\0' || is_callable(name)
                   ? STUDENT_OK
                   : refuse_symbol(object, name,
                                   "a strategy may not call this: it acts through the store alone");
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

/* What no symbol told. */
static enum student_end check_nameless(const struct object *object, const Elf64_Shdr *names) {
    for (size_t i = 1; i < object->section_count; i++) {
        const char *name = text_in(object, names, object->sections[i].sh_name);

        if (name != NULL && is_shared_state(&object->sections[i], name))
            return student_refuse(object->file,
                                  "%s: it has a variable that sales share behind the store",
                                  object->file->name);
    }
    return STUDENT_OK;
}

static enum student_end check(struct object *object) {
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
        end =
            student_refuse(object->file, "%s: it has no `const struct strategy strategy_exercise`",
                           object->file->name);
    return end;
}

enum student_end object_check(const char *path, const struct source *source,
                              struct student_file *file) {
    struct object object = {.source = source, .file = file};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat is;
    void *bytes = MAP_FAILED;
    enum student_end end;

    if (fd >= 0 && fstat(fd, &is) == 0 && is.st_size > 0)
        bytes = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (bytes == MAP_FAILED)
        return strange(&object);
    object.bytes = bytes;
    object.size = (size_t)is.st_size;
    end = check(&object);
    (void)munmap(bytes, object.size);
    return end;
}
