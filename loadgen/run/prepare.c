/* Before the first round, or instead of it: what the target knows, and the products.
 *
 * All products are made and shown to the target before the first round, so that a spec that the
 * target does not take stops the run while it has cost nothing. */
#include "run.h"

#include "complain.h"
#include "shell_word.h"
#include "table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 19         /* of what stands beside a name */
#define LINE   (4 * 1024) /* a target that says more is cut */

/* ---- what the target says of its strategies: by family, in its order */

static const char *prepare_text_of(const json_t *strategy, const char *key) {
    const char *text = json_string_value(json_object_get(strategy, key));

    return text != NULL ? text : "?";
}

static bool strategies_have(const json_t *strategies, const char *name) {
    size_t i;
    json_t *strategy;

    json_array_foreach (strategies, i, strategy)
        if (strcmp(prepare_text_of(strategy, "name"), name) == 0)
            return true;
    return false;
}

/* Append a word to a line; one that does not fit is left out. */
static void prepare_append(char line[LINE], const char *word) {
    size_t used = strlen(line);

    if (used + strlen(word) + 2 < LINE)
        (void)snprintf(line + used, LINE - used, " %s", word);
}

static bool prepare_has_option(const json_t *strategy, const char *option) {
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
        if (!prepare_has_option(strategy, option))
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
            prepare_append(line, json_string_value(option));
            has_any = true;
        }
    return has_any;
}

static void print_beside(const char *name, const char *label, const char *text, FILE *to) {
    char line[LINE];

    (void)snprintf(line, sizeof line, "%-16s %s%s", name, label, text);
    table_print_indented(line, 2, INDENT, table_columns(to), to);
}

static void prepare_print_strategy(const json_t *strategies, const json_t *strategy, FILE *to) {
    char options[LINE] = "";

    print_beside(prepare_text_of(strategy, "name"), "", prepare_text_of(strategy, "summary"), to);
    print_beside("", "promises: ", prepare_text_of(strategy, "promise"), to);
    print_beside("", "broken by: ", prepare_text_of(strategy, "breaks"), to);
    print_beside("", "see: ", prepare_text_of(strategy, "source"), to);
    if (append_options(options, strategies, strategy, false))
        print_beside("", "options:", options, to);
}

static void strategies_print(const json_t *strategies, FILE *to) {
    const char *family = NULL;
    char common[LINE] = "options of all:";
    size_t i;
    json_t *strategy;

    json_array_foreach (strategies, i, strategy) {
        if (family == NULL || strcmp(family, prepare_text_of(strategy, "family")) != 0) {
            fputs(family != NULL ? "\n" : "", to);
            family = prepare_text_of(strategy, "family");
            table_print_indented(family, 0, 0, table_columns(to), to);
        }
        prepare_print_strategy(strategies, strategy, to);
    }
    if (append_options(common, strategies, json_array_get(strategies, 0), true)) {
        fprintf(to, "\n");
        table_print_indented(common, 0, 2, table_columns(to), to);
    }
}

static void strategies_print_unknown(const json_t *strategies, const char *name, FILE *to) {
    char line[LINE];
    size_t i;
    json_t *strategy;

    (void)snprintf(line, sizeof line,
                   "loadgen: there is no strategy \"%s\"; the target knows:", name);
    json_array_foreach (strategies, i, strategy)
        prepare_append(line, prepare_text_of(strategy, "name"));
    table_print_indented(line, 0, 2, table_columns(to), to);
}

/* ---- before the first round */

static int prepare_settle(enum target_result result, const char *why) {
    if (result == TARGET_OK)
        return 0;
    return run_fail(result == TARGET_REFUSED ? EXIT_USAGE : EXIT_UNREACHABLE, why);
}

int prepare_check(struct run *run) {
    const struct strategy_list *list = &run->options->list;
    json_t *strategies = NULL;
    struct why why;
    int exit_code = prepare_settle(target_strategies(&run->target, &strategies, &why), why.text);

    for (size_t i = 0; i < list->count && exit_code == 0; i++)
        if (!strategies_have(strategies, list->items[i].name)) {
            strategies_print_unknown(strategies, list->items[i].name, stderr);
            exit_code = EXIT_USAGE;
        }
    json_decref(strategies);
    return exit_code;
}

/* What was sold before the run was not seen here, so that nothing could be said of it. */
static int refuse_sold_from(const struct run *run, const struct audit_found *found) {
    const char *program = run->options->program;

    fprintf(stderr,
            "loadgen: product %s was sold from before, and only what this run sees can be judged: "
            "make another like it with ",
            run->attacked.id);
    shell_word_print(program, strlen(program), stderr);
    fputs(" create --strategy ", stderr);
    shell_word_print(found->spec, strlen(found->spec), stderr);
    fprintf(stderr, " --stock %" PRId64 "\n", found->stock);
    return EXIT_USAGE;
}

int prepare_attack(struct run *run) {
    struct audit_found found;
    struct why why;

    assert(run->attacked.id[0] != '\0');
    if (auditor_find(&run->auditor, &run->attacked, &found, &why) != 0)
        return run_fail(EXIT_UNREACHABLE, why.text);
    if (!found.is_there) {
        complain("loadgen", "there is no product %s in the database inventory", run->attacked.id);
        return EXIT_USAGE;
    }
    if (!found.is_fresh)
        return refuse_sold_from(run, &found);
    if (options_attack(run->options, found.spec, found.stock, &why) != 0)
        return run_fail(EXIT_USAGE, why.text);
    return 0;
}

static int make_product(struct run *run, const struct round *round, struct product *product) {
    const struct options *options = run->options;
    struct why why;

    if (run->attacked.id[0] == '\0' &&
        auditor_create(&run->auditor, options->name[0] != '\0' ? options->name : "loadgen",
                       options->stock, round->item->spec, product, &why) != 0)
        return run_fail(EXIT_UNREACHABLE, why.text);
    return prepare_settle(target_meet_product(&run->target, product->id, &why), why.text);
}

int prepare_products(struct run *run, struct round *round) {
    int exit_code = 0;

    assert(round->products == NULL && run->options->items > 0);
    round->items = (size_t)run->options->items;
    round->products = calloc(round->items, sizeof *round->products);
    if (round->products == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    round->products[0] = run->attacked;
    for (size_t i = 0; i < round->items && exit_code == 0 && !run->options->no_judge; i++)
        exit_code = make_product(run, round, &round->products[i]);
    return exit_code;
}

/* ---- instead of rounds */

static int prepare_finish(struct run *run) {
    if (fflush(run->to) == 0 && !ferror(run->to))
        return 0;
    return run_fail(EXIT_INTERNAL, "the output could not be written");
}

int prepare_list(struct run *run) {
    json_t *strategies = NULL;
    struct why why;
    int exit_code = prepare_settle(target_strategies(&run->target, &strategies, &why), why.text);

    if (exit_code == 0 && strcmp(run->options->output_format, "json") == 0)
        (void)json_dumpf(strategies, run->to, JSON_INDENT(2));
    else if (exit_code == 0)
        strategies_print(strategies, run->to);
    json_decref(strategies);
    return exit_code == 0 ? prepare_finish(run) : exit_code;
}

int prepare_create(struct run *run) {
    struct round round = {.item = &run->options->list.items[0]};
    int exit_code = prepare_products(run, &round);

    assert(run->options->list.count == 1);
    for (size_t i = 0; i < round.items && exit_code == 0; i++)
        fprintf(run->to, "%s\n", round.products[i].id);
    round_free(&round);
    return exit_code == 0 ? prepare_finish(run) : exit_code;
}
