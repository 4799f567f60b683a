/* lab strategies: lists which faults each strategy survives, from the strategies' own tables. */
#include "command.h"

#include "complain.h"
#include "json_text.h"
#include "settings.h"
#include "spec.h"
#include "strategies.h"
#include "tell.h"

#include <stdio.h>

static struct { bool is_json; } set;

static const struct setting table[] = {
    {"json", 0, SETTING_FLAG, &set.is_json, NULL, "print an array of objects", NULL},
    {.name = NULL}};

static const struct settings_program program = {
    .about = "lab strategies: list which faults each strategy survives and which break it\n"
             "\nExplored without options: three orders on two instances, a stock of 2, three\n"
             "preemptions. A strategy that is not right fails without any fault.",
    .prefix = "LAB",
    .name = "lab strategies",
    .rest = ""};
const struct reference_command reference_strategies = {"strategies", &program, table};

/* ---- as text */

static int command_strategies_print_text(void) {
    char survives[MODEL_FAULTS_TEXT], breaks[MODEL_FAULTS_TEXT];

    printf("%-16s  %-5s  %-42s  %s\n", "strategy", "right", "survives", "broken by");
    for (size_t i = 0; strategies[i] != NULL; i++) {
        const struct strategy *strategy = strategies[i];

        (void)model_faults_write(strategy->survives, ", ", survives);
        (void)model_faults_write(SURVIVES_ALL & ~strategy->survives, ", ", breaks);
        if (strategy->is_right)
            printf("%-16s  %-5s  %-42s  %s\n", strategy->name, "yes",
                   survives[0] != '\0' ? survives : "-", breaks[0] != '\0' ? breaks : "-");
        else
            printf("%-16s  %-5s  %-42s  %s\n", strategy->name, "no", "-", "fails without a fault");
    }
    return fflush(stdout);
}

/* ---- as JSON */

static json_t *make_options(const struct strategy *strategy) {
    char options[SPEC_OPTIONS_MAX][SPEC_OPTION_TEXT];
    const size_t count = spec_options(strategy, options);
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_text_append(&array, json_text(options[i]));
    return array;
}

static int command_strategies_print_json(void) {
    json_t *all = json_array();

    for (size_t i = 0; strategies[i] != NULL; i++) {
        const struct strategy *strategy = strategies[i];

        json_text_append(
            &all,
            JSON_TEXT_OBJECT(
                {"name", json_text(strategy->name)}, {"family", json_text(strategy->family)},
                {"summary", json_text(strategy->summary)}, {"options", make_options(strategy)},
                {"right", json_boolean(strategy->is_right)},
                {"survives", tell_json_faults(strategy->survives)},
                {"breaks", tell_json_faults(SURVIVES_ALL & ~strategy->survives)}));
    }
    return json_text_print(all, stdout);
}

int command_strategies(int argc, char **argv) {
    enum settings_result result = settings_read(table, &program, &argc, argv, NULL);
    int code = result == SETTINGS_HELP ? 0 : EXIT_USAGE;

    if (result == SETTINGS_OK && argc == 1)
        code =
            (set.is_json ? command_strategies_print_json() : command_strategies_print_text()) == 0
                ? 0
                : EXIT_INTERNAL;
    else if (result == SETTINGS_OK)
        complain("lab strategies", "it takes no argument; remove \"%.60s\"", argv[1]);
    settings_free(table);
    return code;
}
