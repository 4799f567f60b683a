/* Splits a list of strategy specs, and adds the options that hold for all of them. */
#include "strategy_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int append(char *to, size_t size, const char *text, size_t length) {
    size_t used = strlen(to);

    if (used + length >= size)
        return -1;
    memcpy(to + used, text, length);
    to[used + length] = '\0';
    return 0;
}

static int add_strategy(struct strategy_list *list, const char *name, size_t length) {
    struct strategy_item *item = &list->items[list->count];

    if (list->count == STRATEGY_LIST_MAX || length >= sizeof item->name)
        return -1;
    memset(item, 0, sizeof *item);
    list->count++;
    (void)append(item->name, sizeof item->name, name, length);
    return append(item->given, sizeof item->given, name, length);
}

static int add_option(struct strategy_item *item, const char *option, size_t length) {
    if (append(item->given, sizeof item->given, ",", 1) != 0)
        return -1;
    return append(item->given, sizeof item->given, option, length);
}

static int add_element(struct strategy_list *list, const char *element, size_t length, char *why,
                       size_t why_size) {
    bool is_option = memchr(element, '=', length) != NULL;
    int rc;

    if (length == 0 || (is_option && list->count == 0)) {
        snprintf(why, why_size,
                 "--strategy wants names with options after them, as in redis,ttl=2s,none; found "
                 "%s",
                 length == 0 ? "nothing between two commas" : "an option before any name");
        return -1;
    }
    rc = is_option ? add_option(&list->items[list->count - 1], element, length)
                   : add_strategy(list, element, length);
    if (rc != 0)
        snprintf(why, why_size,
                 "--strategy is too long at \"%.*s\": a spec has at most %d bytes, "
                 "a list %d strategies",
                 (int)(length > 40 ? 40 : length), element, STRATEGY_SPEC_SIZE - 1,
                 STRATEGY_LIST_MAX);
    return rc;
}

static bool has_option(const struct strategy_item *item, const char *name) {
    char text[STRATEGY_NAME_SIZE];

    snprintf(text, sizeof text, ",%s=", name);
    return strstr(item->given, text) != NULL;
}

static int complete(struct strategy_item *item, const struct strategy_option *options) {
    char text[STRATEGY_SPEC_SIZE];

    memcpy(item->spec, item->given, sizeof item->spec);
    for (; options->name != NULL; options++) {
        if (options->value[0] == '\0' || has_option(item, options->name))
            continue;
        snprintf(text, sizeof text, ",%s=%s", options->name, options->value);
        if (append(item->spec, sizeof item->spec, text, strlen(text)) != 0)
            return -1;
    }
    return 0;
}

int strategy_list_parse(const char *text, const struct strategy_option *options,
                        struct strategy_list *list, char *why, size_t why_size) {
    list->count = 0;
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");

        if (add_element(list, at, length, why, why_size) != 0)
            return -1;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (complete(&list->items[i], options) != 0) {
            snprintf(why, why_size, "the spec of %s is longer than %d bytes", list->items[i].name,
                     STRATEGY_SPEC_SIZE - 1);
            return -1;
        }
    }
    return 0;
}
