/* Before the first round, or instead of it: what the target knows, and the products.
 *
 * All products are made and shown to the target before the first round, so that a spec that the
 * target does not take stops the run while it has cost nothing. */
#include "run.h"

#include "complain.h"
#include "shell_word.h"
#include "strategies_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int settle(enum target_result result, const char *why) {
    if (result == TARGET_OK)
        return 0;
    return run_fail(result == TARGET_REFUSED ? EXIT_USAGE : EXIT_UNREACHABLE, why);
}

int prepare_check(struct run *run) {
    const struct strategy_list *list = &run->options->list;
    json_t *strategies = NULL;
    char why[TARGET_WHY];
    int exit_code = settle(target_strategies(&run->target, &strategies, why, sizeof why), why);

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
    char why[TARGET_WHY];

    if (auditor_find(&run->auditor, &run->attacked, &found, why, sizeof why) != 0)
        return run_fail(EXIT_UNREACHABLE, why);
    if (!found.is_there) {
        complain("loadgen", "there is no product %s in the database inventory", run->attacked.id);
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

int prepare_list(struct run *run) {
    json_t *strategies = NULL;
    char why[TARGET_WHY];
    int exit_code = settle(target_strategies(&run->target, &strategies, why, sizeof why), why);

    if (exit_code == 0 && strcmp(run->options->output_format, "json") == 0)
        (void)json_dumpf(strategies, run->to, JSON_INDENT(2));
    else if (exit_code == 0)
        strategies_print(strategies, run->to);
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
