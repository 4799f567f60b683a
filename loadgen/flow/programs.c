/* See programs.h. */
#include "programs.h"

#include <assert.h>
#include <stdlib.h>

static int add(struct programs *programs, const void *owner, struct jq_program *jq) {
    struct program *more;

    if (jq == NULL)
        return -1;
    more = realloc(programs->items, (programs->count + 1) * sizeof *more);
    if (more == NULL) {
        jq_program_close(jq);
        return -1;
    }
    programs->items = more;
    more[programs->count++] = (struct program){.owner = owner, .jq = jq};
    return 0;
}

/* The parser has checked that these texts are literals. */
static const char *source_of(const struct shop_text *text) {
    return text->count > 0 ? text->parts[0].text : "";
}

static int add_query(struct programs *programs, const struct shop_query *query, struct why *why) {
    if (query->kind == SHOP_QUERY_JQ)
        return add(programs, query, jq_program_open(source_of(&query->argument), why));
    if (query->kind == SHOP_QUERY_REGEX)
        return add(programs, query, jq_program_open_regex(source_of(&query->argument), why));
    return 0;
}

static int add_both(struct programs *programs, const struct shop_query *query,
                    const struct shop_predicate *predicate, struct why *why) {
    if (add_query(programs, query, why) != 0)
        return -1;
    return predicate->kind != SHOP_MATCHES
               ? 0
               : add(programs, predicate, jq_program_open_regex(source_of(&predicate->text), why));
}

/* `line` gets the line of the program that is compiled. */
static int add_step(struct programs *programs, const struct shop_step *step, int *line,
                    struct why *why) {
    for (size_t i = 0; i < step->capture_count; i++) {
        *line = step->captures[i].line;
        if (add_query(programs, &step->captures[i].query, why) != 0)
            return -1;
    }
    for (size_t i = 0; i < step->assert_count; i++) {
        *line = step->asserts[i].line;
        if (add_both(programs, &step->asserts[i].query, &step->asserts[i].predicate, why) != 0)
            return -1;
    }
    return 0;
}

static int add_all(struct programs *programs, const struct shop *shop, int *line, struct why *why) {
    for (int i = 0; i < SHOP_SECTIONS; i++)
        for (size_t j = 0; j < shop->sections[i].count; j++)
            if (add_step(programs, &shop->sections[i].items[j], line, why) != 0)
                return -1;
    for (size_t i = 0; i < shop->outcome_count; i++) {
        const struct shop_outcome *outcome = &shop->outcomes[i];

        *line = outcome->line;
        if (add_both(programs, &outcome->query, &outcome->predicate, why) != 0)
            return -1;
    }
    return 0;
}

int programs_open(struct programs *programs, const struct shop *shop, struct why *why) {
    struct why reason = {.text = "out of memory"};
    int line = 0;

    *programs = (struct programs){0};
    if (add_all(programs, shop, &line, &reason) == 0)
        return 0;
    programs_close(programs);
    return why_set(why, "%s:%d: %s", shop->path, line,
                   reason.text[0] != '\0' ? reason.text : "out of memory");
}

struct jq_program *programs_find(const struct programs *programs, const void *owner) {
    for (size_t i = 0; i < programs->count; i++)
        if (programs->items[i].owner == owner)
            return programs->items[i].jq;
    return NULL;
}

void programs_close(struct programs *programs) {
    for (size_t i = 0; i < programs->count; i++)
        jq_program_close(programs->items[i].jq);
    free(programs->items);
    *programs = (struct programs){0};
}
