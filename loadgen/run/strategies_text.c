/* The target's strategies in lines of text: by family, in the target's order. */
#include "strategies_text.h"

#include "table.h"

#include <string.h>

#define INDENT 19         /* of what stands beside a name */
#define LINE   (4 * 1024) /* a target that says more is cut */

static const char *text_of(const json_t *strategy, const char *key) {
    const char *text = json_string_value(json_object_get(strategy, key));

    return text != NULL ? text : "?";
}

bool strategies_have(const json_t *strategies, const char *name) {
    size_t i;
    json_t *strategy;

    json_array_foreach (strategies, i, strategy)
        if (strcmp(text_of(strategy, "name"), name) == 0)
            return true;
    return false;
}

/* Append a word to a line; one that does not fit is left out. */
static void append(char line[LINE], const char *word) {
    size_t used = strlen(line);

    if (used + strlen(word) + 2 < LINE)
        (void)snprintf(line + used, LINE - used, " %s", word);
}

static bool has_option(const json_t *strategy, const char *option) {
    size_t i;
    json_t *other;

    json_array_foreach (json_object_get(strategy, "options"), i, other)
        if (strcmp(json_string_value(other) != NULL ? json_string_value(other) : "?", option) == 0)
            return true;
    return false;
}

static bool all_have_option(const json_t *strategies, const char *option) {
    size_t i;
    json_t *strategy;

    json_array_foreach (strategies, i, strategy)
        if (!has_option(strategy, option))
            return false;
    return true;
}

/* Its options that all strategies have, or those that not all have; returns whether it has any. */
static bool append_options(char line[LINE], const json_t *strategies, const json_t *strategy,
                           bool is_common) {
    size_t i;
    bool has_any = false;
    json_t *option;

    json_array_foreach (json_object_get(strategy, "options"), i, option)
        if (json_is_string(option) &&
            all_have_option(strategies, json_string_value(option)) == is_common) {
            append(line, json_string_value(option));
            has_any = true;
        }
    return has_any;
}

static void print_beside(const char *name, const char *label, const char *text, FILE *to) {
    char line[LINE];

    (void)snprintf(line, sizeof line, "%-16s %s%s", name, label, text);
    table_print_indented(line, 2, INDENT, table_columns(to), to);
}

static void print_strategy(const json_t *strategies, const json_t *strategy, FILE *to) {
    char options[LINE] = "";

    print_beside(text_of(strategy, "name"), "", text_of(strategy, "summary"), to);
    print_beside("", "promises: ", text_of(strategy, "promise"), to);
    print_beside("", "broken by: ", text_of(strategy, "breaks"), to);
    print_beside("", "see: ", text_of(strategy, "source"), to);
    if (append_options(options, strategies, strategy, false))
        print_beside("", "options:", options, to);
}

void strategies_print(const json_t *strategies, FILE *to) {
    const char *family = NULL;
    char common[LINE] = "options of all:";
    size_t i;
    json_t *strategy;

    json_array_foreach (strategies, i, strategy) {
        if (family == NULL || strcmp(family, text_of(strategy, "family")) != 0) {
            fputs(family != NULL ? "\n" : "", to);
            family = text_of(strategy, "family");
            table_print_indented(family, 0, 0, table_columns(to), to);
        }
        print_strategy(strategies, strategy, to);
    }
    if (append_options(common, strategies, json_array_get(strategies, 0), true)) {
        fprintf(to, "\n");
        table_print_indented(common, 0, 2, table_columns(to), to);
    }
}

void strategies_print_unknown(const json_t *strategies, const char *name, FILE *to) {
    char line[LINE];
    size_t i;
    json_t *strategy;

    (void)snprintf(line, sizeof line,
                   "loadgen: there is no strategy \"%s\"; the target knows:", name);
    json_array_foreach (strategies, i, strategy)
        append(line, text_of(strategy, "name"));
    table_print_indented(line, 0, 2, table_columns(to), to);
}
