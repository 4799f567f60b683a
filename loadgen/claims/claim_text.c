/* Prints the table of claims: as text, JSON and Markdown. */
#include "claim_text.h"

#include "json_text.h"
#include "shell_word.h"
#include "table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MARKDOWN_WIDTH 120

/* ---- commands */

/* A command while it is printed. */
struct line {
    FILE *to;
    size_t indent, width, column; /* column 0: nothing is printed yet */
};

static void claim_text_put(struct line *line, const char *words) {
    size_t length = strlen(words);

    if (line->column == 0) {
        line->column = line->indent;
        fprintf(line->to, "%*s", (int)line->indent, "");
    } else if (line->column + 1 + length + 2 > line->width) {
        line->column = line->indent + 4;
        fprintf(line->to, " \\\n%*s", (int)line->column, "");
    } else {
        line->column++;
        fputc(' ', line->to);
    }
    fwrite(words, 1, length, line->to);
    line->column += length;
}

/* A flag and its value stay together. Returns where the next one begins. */
static const char *put_flag(struct line *line, const char *at) {
    char *words = NULL;
    size_t size;
    FILE *to = open_memstream(&words, &size);

    if (to == NULL)
        return "";
    do {
        size_t length = strcspn(at, " ");

        if (ftell(to) > 0)
            fputc(' ', to);
        shell_word_print(at, length, to);
        at += length;
        at += *at == ' ';
    } while (*at != '\0' && *at != '-');
    if (fclose(to) == 0)
        claim_text_put(line, words);
    free(words);
    return at;
}

static void put_flags(struct line *line, const char *flags) {
    while (*flags != '\0')
        flags = put_flag(line, flags);
    fputc('\n', line->to);
}

static void put_variable(struct line *line, const char *variable) {
    size_t name = strcspn(variable, "=") + 1;
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert(variable[name - 1] == '='); /* the table has "NAME=value" */
    if (to == NULL)
        return;
    fwrite(variable, 1, name, to);
    shell_word_print(variable + name, strlen(variable + name), to);
    if (fclose(to) == 0)
        claim_text_put(line, text);
    free(text);
}

void claim_print_stack(const struct claim_stack *stack, size_t indent, size_t width, FILE *to) {
    struct line line = {to, indent, width, 0};

    for (size_t i = 0; i < CLAIM_VARIABLES && stack->variables[i] != NULL; i++)
        put_variable(&line, stack->variables[i]);
    claim_text_put(&line, "scripts/stack up");
    put_flags(&line, stack->arguments);
}

void claim_print_run(const struct claim_step *step, size_t indent, size_t width, FILE *to) {
    struct line line = {to, indent, width, 0};

    claim_text_put(&line, "scripts/loadgen");
    put_flags(&line, step->run);
}

/* ---- the list */

static size_t widest_id(void) {
    size_t widest = 0;

    for (size_t i = 0; i < claim_count; i++)
        widest = strlen(claims[i].id) > widest ? strlen(claims[i].id) : widest;
    return widest;
}

void claim_list(FILE *to) {
    const size_t indent = widest_id() + 2, width = table_columns(to);

    for (size_t i = 0; i < claim_count; i++) {
        fprintf(to, "%-*s", (int)indent, claims[i].id);
        /* The first line is indented already. */
        table_print_indented(claims[i].sentence, 0, indent, width - indent, to);
        fprintf(to, "%*s%s\n", (int)indent, "", claims[i].source);
    }
}

static json_t *steps_json(const struct claim *claim) {
    json_t *json = json_array();

    for (const struct claim_step *step = claim->steps; step->label != NULL; step++) {
        json_t *variables = json_array();

        for (size_t i = 0; i < CLAIM_VARIABLES && step->stack->variables[i] != NULL; i++)
            json_text_append(&variables, json_text(step->stack->variables[i]));
        json_text_append(&json, JSON_TEXT_OBJECT({"label", json_text(step->label)},
                                                 {"stack_variables", variables},
                                                 {"stack", json_text(step->stack->arguments)},
                                                 {"run", json_text(step->run)}));
    }
    return json;
}

int claim_list_json(FILE *to) {
    json_t *json = json_array();

    for (size_t i = 0; i < claim_count; i++)
        json_text_append(&json, JSON_TEXT_OBJECT({"id", json_text(claims[i].id)},
                                                 {"source", json_text(claims[i].source)},
                                                 {"sentence", json_text(claims[i].sentence)},
                                                 {"how", json_text(claims[i].how)},
                                                 {"steps", steps_json(&claims[i])}));
    return json_text_print(json, to);
}

/* ---- docs/claims.md */

static void print_section(const struct claim *claim, FILE *to) {
    const struct claim_stack *stack = NULL;

    fprintf(to, "\n## %s\n\n**%s** (%s)\n\n", claim->id, claim->sentence, claim->source);
    table_print_indented(claim->how, 0, 0, MARKDOWN_WIDTH, to);
    fprintf(to, "\n```\n");
    for (const struct claim_step *step = claim->steps; step->label != NULL; step++) {
        fprintf(to, "# %s\n", step->label);
        if (step->stack != stack)
            claim_print_stack(step->stack, 0, MARKDOWN_WIDTH, to);
        claim_print_run(step, 0, MARKDOWN_WIDTH, to);
        stack = step->stack;
    }
    fprintf(to, "```\n");
}

static const char articles[] =
    "\nThe articles are Chinese:\n\n"
    "| here | its own title | what is known of it |\n|---|---|---|\n"
    "| How a distributed lock is made | 分布式锁的实现 | the one that "
    "this project started from; the "
    "copy at hand names neither author nor address |\n"
    "| Locks in practice | 终极锁实战：单JVM锁+分布式锁 | 只会一点java, 2017, jfox.info |\n"
    "| An overview of locks | 锁概述 | EastX, cnblogs.com/cnx01/p/16948315.html |\n"
    "| Three distributed locks | 分布式锁的实现 | Redis, ZooKeeper, "
    "database; no author, no address "
    "|\n";

void claim_list_markdown(FILE *to) {
    fputs("# Every claim, one command\n\n", to);
    table_print_indented(
        "`loadgen claims ID` runs the failure and its cure on a stack of its own, prints both "
        "verdicts and the evidence, and ends with 0 only when the failure appeared and the cure "
        "held; `loadgen claims all` runs them all. What follows is the same by hand. What a run "
        "catches without a failpoint is luck: [power.md](power.md) has how much. This page is "
        "printed by `loadgen claims --output-format markdown`.",
        0, 0, MARKDOWN_WIDTH, to);
    fputs("\n| claim | what it says | where it is said |\n|---|---|---|\n", to);
    for (size_t i = 0; i < claim_count; i++)
        fprintf(to, "| [%s](#%s) | %s | %s |\n", claims[i].id, claims[i].id, claims[i].sentence,
                claims[i].source);
    fputs(articles, to);
    for (size_t i = 0; i < claim_count; i++)
        print_section(&claims[i], to);
}
