#include "history.h"

#include "json_read.h"
#include "utf8.h"
#include "why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_ROOM   1024
#define MOMENT_MOST (INT64_C(1) << 60) /* 36 years in ns */

static const char *const kind_texts[] = {
#define X(name, text) text,
    HISTORY_KINDS(X)
#undef X
};
static const char *const result_texts[] = {
#define X(name, text) text,
    HISTORY_RESULTS(X)
#undef X
};

const char *history_kind_text(enum history_kind kind) {
    return kind_texts[kind];
}

const char *history_result_text(enum history_result result) {
    return result_texts[result];
}

long history_add(struct history *history, const struct history_item *item) {
    size_t at = history->count;

    if (history->count == history->room) {
        const size_t room = history->room == 0 ? 64 : history->room * 2;
        struct history_item *items = realloc(history->items, room * sizeof *items);

        if (items == NULL)
            return -1;
        history->items = items;
        history->room = room;
    }
    while (at > 0 && history->items[at - 1].at_ns > item->at_ns)
        at--;
    memmove(history->items + at + 1, history->items + at,
            (history->count - at) * sizeof *history->items);
    history->items[at] = *item;
    history->count++;
    return (long)at;
}

void history_free(struct history *history) {
    free(history->items);
    *history = (struct history){NULL, 0, 0};
}

/* ---- lines: each member of an item by its name */

static json_t *item_json(const struct history_item *item) {
    json_t *json =
        json_pack("{s:s, s:I}", "kind", kind_texts[item->kind], "at_ns", (json_int_t)item->at_ns);
    int code = json == NULL ? -1 : 0;

    if (code == 0 && item->end_ns != HISTORY_OPEN)
        code = json_object_set_new(json, "end_ns", json_integer(item->end_ns));
    if (code == 0 && item->worker != HISTORY_NOBODY)
        code = json_object_set_new(json, "worker", json_integer(item->worker));
    if (code == 0 && item->result != HISTORY_RESULT_NONE)
        code = json_object_set_new(json, "result", json_string(result_texts[item->result]));
    if (code == 0 && item->fence != HISTORY_NO_FENCE)
        code = json_object_set_new(json, "fence", json_integer((json_int_t)item->fence));
    if (code == 0 && item->kind == HISTORY_ACQUIRE)
        code = json_object_update_new(
            json, json_pack("{s:I, s:I}", "ttl_ms", item->ttl_ms, "wait_ms", item->wait_ms));
    if (code == 0 && item->kind == HISTORY_FAULT)
        code = json_object_set_new(json, "flags", json_integer(item->flags));
    if (code == 0 && item->starting_ns > 0)
        code = json_object_set_new(json, "starting_ns", json_integer(item->starting_ns));
    if (code == 0 && item->ending_ns > 0)
        code = json_object_set_new(json, "ending_ns", json_integer(item->ending_ns));
    if (code == 0 && item->text[0] != '\0')
        code = json_object_set_new(json, "text", json_string(item->text));
    if (code == 0)
        return json;
    json_decref(json);
    return NULL;
}

int history_write(const struct history *history, FILE *to) {
    for (size_t i = 0; i < history->count; i++) {
        json_t *json = item_json(&history->items[i]);
        int code = json == NULL ? -1 : json_dumpf(json, to, JSON_COMPACT);

        json_decref(json);
        if (code != 0 || fputc('\n', to) == EOF)
            return -1;
    }
    return fflush(to) == 0 ? 0 : -1;
}

static int find_text(const char *const *texts, size_t count, const char *text) {
    for (size_t i = 0; text != NULL && i < count; i++)
        if (strcmp(texts[i], text) == 0)
            return (int)i;
    return -1;
}

/* The numbers of an item: their bounds keep each sum and difference of the rules within int64_t. */
enum number {
    AT_NS,
    END_NS,
    WORKER,
    FLAGS,
    FENCE,
    TTL_MS,
    WAIT_MS,
    STARTING_NS,
    ENDING_NS,
    NUMBERS
};

static const struct {
    const char *key;
    int64_t most, missing;
} numbers[NUMBERS] = {
    [AT_NS] = {"at_ns", MOMENT_MOST, 0},         [END_NS] = {"end_ns", MOMENT_MOST, HISTORY_OPEN},
    [WORKER] = {"worker", 9999, HISTORY_NOBODY}, [FLAGS] = {"flags", UINT32_MAX, 0},
    [FENCE] = {"fence", INT64_MAX, 0},           [TTL_MS] = {"ttl_ms", UINT32_MAX, 0},
    [WAIT_MS] = {"wait_ms", UINT32_MAX, 0},      [STARTING_NS] = {"starting_ns", MOMENT_MOST, 0},
    [ENDING_NS] = {"ending_ns", MOMENT_MOST, 0},
};

static int read_numbers(const json_t *json, int64_t read[NUMBERS], struct why *why) {
    for (int i = 0; i < NUMBERS; i++) {
        const json_t *member = json_object_get(json, numbers[i].key);

        read[i] = member == NULL ? numbers[i].missing : json_integer_value(member);
        if (member != NULL &&
            (!json_is_integer(member) || read[i] < 0 || read[i] > numbers[i].most))
            return why_set(why, "its %s is no integer from 0 to %" PRId64, numbers[i].key,
                           numbers[i].most);
    }
    return 0;
}

static int item_read(const json_t *json, struct history_item *item, struct why *why) {
    const json_t *result = json_object_get(json, "result");
    const char *text = json_string_value(json_object_get(json, "text"));
    const int kind = find_text(kind_texts, sizeof kind_texts / sizeof *kind_texts,
                               json_string_value(json_object_get(json, "kind")));
    const int known = result == NULL
                          ? (int)HISTORY_RESULT_NONE
                          : find_text(result_texts, sizeof result_texts / sizeof *result_texts,
                                      json_string_value(result));
    int64_t number[NUMBERS];

    if (kind < 0 || known < 0)
        return why_set(why, "it has no known \"%s\"", kind < 0 ? "kind" : "result");
    if (json_object_get(json, "at_ns") == NULL)
        return why_set(why, "it has no \"at_ns\"");
    if (read_numbers(json, number, why) != 0)
        return -1;
    *item = (struct history_item){
        .at_ns = number[AT_NS],
        .end_ns = number[END_NS],
        .kind = (enum history_kind)kind,
        .result = (enum history_result)known,
        .worker = (uint32_t)number[WORKER],
        .flags = (uint32_t)number[FLAGS],
        .fence = (uint64_t)number[FENCE],
        .ttl_ms = number[TTL_MS],
        .wait_ms = number[WAIT_MS],
        .starting_ns = number[STARTING_NS],
        .ending_ns = number[ENDING_NS],
    };
    if (item->end_ns < item->at_ns)
        return why_set(why, "its end_ns is before its at_ns");
    if (item->end_ns == HISTORY_OPEN && item->result != HISTORY_RESULT_NONE)
        return why_set(why, "it has a result, and no end_ns");
    (void)snprintf(item->text, sizeof item->text, "%s", text != NULL ? text : "");
    utf8_make_printable(item->text);
    return 0;
}

int history_read(struct history *history, FILE *from, struct why *why) {
    char line[LINE_ROOM];

    for (unsigned number = 1; fgets(line, sizeof line, from) != NULL; number++) {
        struct history_item item;
        struct why reason;
        json_error_t error;
        json_t *json = json_read(line, strlen(line), &error);
        const int code =
            json == NULL ? why_set(&reason, "%s", error.text) : item_read(json, &item, &reason);

        json_decref(json);
        if (code != 0)
            return why_set(why, "line %u: %.400s", number, reason.text);
        if (history_add(history, &item) < 0)
            return why_set(why, "out of memory");
    }
    return ferror(from) ? why_set(why, "it cannot be read") : 0;
}
