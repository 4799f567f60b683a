/* Before the first round, or instead of it: what the target knows, and the products.
 *
 * All products are made and shown to the target before the first round, so that a spec that the
 * target does not take stops the run while it has cost nothing. */
#include "run.h"

#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int settle(enum target_result result, const char *why) {
    if (result == TARGET_OK)
        return 0;
    return run_fail(result == TARGET_REFUSED ? EXIT_USAGE : EXIT_UNREACHABLE, why);
}

static const char *text_of(const json_t *strategies, size_t i, const char *key) {
    const char *text = json_string_value(json_object_get(json_array_get(strategies, i), key));

    return text != NULL ? text : "?";
}

static bool is_known(const json_t *strategies, const char *name) {
    for (size_t i = 0; i < json_array_size(strategies); i++)
        if (strcmp(text_of(strategies, i, "name"), name) == 0)
            return true;
    return false;
}

static int refuse_strategy(const json_t *strategies, const char *name) {
    fprintf(stderr, "loadgen: there is no strategy \"%s\"; the target knows:", name);
    for (size_t i = 0; i < json_array_size(strategies); i++)
        fprintf(stderr, " %s", text_of(strategies, i, "name"));
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

int prepare_check(struct run *run) {
    const struct strategy_list *list = &run->options->list;
    json_t *strategies = NULL;
    char why[TARGET_WHY];
    int exit_code = settle(target_strategies(&run->target, &strategies, why, sizeof why), why);

    for (size_t i = 0; i < list->count && exit_code == 0; i++)
        if (!is_known(strategies, list->items[i].name))
            exit_code = refuse_strategy(strategies, list->items[i].name);
    json_decref(strategies);
    return exit_code;
}

/* What was sold before the run was not seen here, so that nothing could be said of it. */
static int refuse_sold_from(const struct run *run, const struct audit_found *found) {
    fprintf(stderr,
            "loadgen: product %s was sold from before, and only what this run sees can be judged: "
            "make another like it with %s create --strategy '%s' --stock %" PRId64 "\n",
            run->attacked.id, run->options->program, found->spec, found->stock);
    return EXIT_USAGE;
}

int prepare_attack(struct run *run) {
    struct audit_found found;
    char why[TARGET_WHY];

    if (auditor_find(&run->auditor, &run->attacked, &found, why, sizeof why) != 0)
        return run_fail(EXIT_UNREACHABLE, why);
    if (!found.is_there) {
        fprintf(stderr, "loadgen: there is no product %s in the database inventory\n",
                run->attacked.id);
        return EXIT_USAGE;
    }
    if (!found.is_fresh)
        return refuse_sold_from(run, &found);
    if (options_attack(run->options, found.spec, found.stock, why, sizeof why) != 0)
        return run_fail(EXIT_USAGE, why);
    return 0;
}

static int make_product(struct run *run, const struct round *round, struct product *product) {
    const struct options *options = run->options;
    char why[TARGET_WHY];

    if (run->attacked.id[0] == '\0' &&
        auditor_create(&run->auditor, options->name[0] != '\0' ? options->name : "loadgen",
                       options->stock, round->item->spec, product, why, sizeof why) != 0)
        return run_fail(EXIT_UNREACHABLE, why);
    return settle(target_meet_product(&run->target, product->id, why, sizeof why), why);
}

int prepare_products(struct run *run, struct round *round) {
    int exit_code = 0;

    round->items = (size_t)run->options->items;
    round->products = calloc(round->items, sizeof *round->products);
    if (round->products == NULL)
        return run_fail(EXIT_INTERNAL, "out of memory");
    round->products[0] = run->attacked;
    for (size_t i = 0; i < round->items && exit_code == 0 && !run->options->is_unjudged; i++)
        exit_code = make_product(run, round, &round->products[i]);
    return exit_code;
}

/* ---- instead of rounds */

static int finish(struct run *run) {
    if (fflush(run->to) == 0 && !ferror(run->to))
        return 0;
    return run_fail(EXIT_INTERNAL, "the output could not be written");
}

static void print_beside(const char *name, const char *label, const char *text, FILE *to) {
    char line[1024]; /* a target that says more is cut */

    snprintf(line, sizeof line, "%-16s%s%s", name, label, text);
    table_print_indented(line, 0, 17, table_columns(to), to);
}

static void print_strategies(json_t *strategies, FILE *to) {
    static const struct {
        const char *label, *key;
    } parts[] = {{" promises: ", "promise"}, {" broken by: ", "breaks"}, {" see: ", "source"}};

    for (size_t i = 0; i < json_array_size(strategies); i++) {
        print_beside(text_of(strategies, i, "name"), " ", text_of(strategies, i, "summary"), to);
        for (size_t j = 0; j < sizeof parts / sizeof *parts; j++)
            print_beside("", parts[j].label, text_of(strategies, i, parts[j].key), to);
    }
}

int prepare_list(struct run *run) {
    json_t *strategies = NULL;
    char why[TARGET_WHY];
    int exit_code = settle(target_strategies(&run->target, &strategies, why, sizeof why), why);

    if (exit_code == 0 && strcmp(run->options->output_format, "json") == 0)
        (void)json_dumpf(strategies, run->to, JSON_INDENT(2));
    else if (exit_code == 0)
        print_strategies(strategies, run->to);
    json_decref(strategies);
    return exit_code == 0 ? finish(run) : exit_code;
}

int prepare_create(struct run *run) {
    struct round round = {.item = &run->options->list.items[0]};
    int exit_code = prepare_products(run, &round);

    for (size_t i = 0; i < round.items && exit_code == 0; i++)
        fprintf(run->to, "%s\n", round.products[i].id);
    round_free(&round);
    return exit_code == 0 ? finish(run) : exit_code;
}
