/* Splits a list of strategy specs, and adds the options for all strategies. */
#include "strategy_list.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static int strategy_list_append(char spec[STRATEGY_SPEC_SIZE],
                                                                      const char *format, ...) {
    size_t used = strlen(spec);
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(spec + used, STRATEGY_SPEC_SIZE - used, format, arguments);
    va_end(arguments);
    return length >= 0 && (size_t)length < STRATEGY_SPEC_SIZE - used ? 0 : -1;
}

static int add_strategy(struct strategy_list *list, const char *name, size_t length) {
    struct strategy_item *item = &list->items[list->count];

    if (list->count == STRATEGY_LIST_MAX || length >= sizeof item->name)
        return -1;
    memset(item, 0, sizeof *item);
    list->count++;
    memcpy(item->name, name, length);
    memcpy(item->given, name, length);
    return 0;
}

static int add_element(struct strategy_list *list, const char *element, size_t length,
                       struct why *why) {
    bool is_option = memchr(element, '=', length) != NULL;
    int rc;

    if (length == 0 || (is_option && list->count == 0))
        return why_set(why,
                       "--strategy needs names, each followed by its options, "
                       "such as redis,ttl=2s,none; found %s",
                       length == 0 ? "nothing between two commas" : "an option before any name");
    rc = is_option ? strategy_list_append(list->items[list->count - 1].given, ",%.*s", (int)length,
                                          element)
                   : add_strategy(list, element, length);
    if (rc != 0)
        why_set(why,
                "--strategy is too long at \"%.*s\": a spec has at most %d bytes, "
                "a list %d strategies",
                (int)(length > 40 ? 40 : length), element, STRATEGY_SPEC_SIZE - 1,
                STRATEGY_LIST_MAX);
    return rc;
}

static int complete(struct strategy_item *item, const struct strategy_option *options) {
    memcpy(item->spec, item->given, sizeof item->spec);
    for (; options->name != NULL; options++) {
        char given[STRATEGY_NAME_SIZE];

        snprintf(given, sizeof given, ",%s=", options->name);
        if (options->value[0] == '\0' || (!options->is_added && strstr(item->given, given) != NULL))
            continue;
        if (strategy_list_append(item->spec, ",%s=%s", options->name, options->value) != 0)
            return -1;
    }
    return 0;
}

int strategy_list_parse(const char *text, const struct strategy_option *options,
                        struct strategy_list *list, struct why *why) {
    list->count = 0;
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");

        if (add_element(list, at, length, why) != 0)
            return -1;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (complete(&list->items[i], options) != 0)
            return why_set(why, "the spec of %s is longer than %d bytes", list->items[i].name,
                           STRATEGY_SPEC_SIZE - 1);
    }
    return 0;
}
