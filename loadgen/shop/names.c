/* See names.h. */
#include "names.h"

#include <stdio.h>
#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of_name(char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

size_t name_length(const char *text) {
    size_t length = 0;

    while (is_letter(text[0]) && is_of_name(text[length]))
        length++;
    return length;
}

const struct name *names_find(const struct names *names, const char *text, size_t length) {
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->items[i].text) == length &&
            strncmp(names->items[i].text, text, length) == 0)
            return &names->items[i];
    return NULL;
}

int names_add(struct names *names, struct shop_memory *memory, struct name name) {
    struct name *items = memory_grow(memory, names->items, names->count, sizeof *items);

    if (items == NULL)
        return -1;
    names->items = items;
    names->items[names->count++] = name;
    return 0;
}

const char *names_list(const struct names *names, enum name_scope scope, char *to, size_t size) {
    size_t used = 0;

    to[0] = '\0';
    for (size_t i = 0; i < names->count; i++) {
        const struct name *name = &names->items[i];
        const char *comma = used > 0 ? ", " : "";

        if (name->scope > scope || used + strlen(comma) + strlen(name->text) >= size)
            continue;
        used += (size_t)snprintf(to + used, size - used, "%s%s", comma, name->text);
    }
    return to;
}
