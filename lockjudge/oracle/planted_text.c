/* Reads the text of a planted history. There is a second form because the JSON lines of history.h are
 * five times as long: nobody would see the case in them. */
#include "planted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned flags;
} flag_names[] = {{"stops", HISTORY_STOPS},      {"kills", HISTORY_KILLS},
                  {"away", HISTORY_AWAY},        {"works", HISTORY_WORKS},
                  {"loads", HISTORY_LOADS},      {"forgets", HISTORY_FORGETS},
                  {"restarts", HISTORY_RESTARTS}};

static int planted_read_result(struct history_item *item, const char *result) {
    for (size_t i = 0; item->kind == HISTORY_FAULT && i < sizeof flag_names / sizeof *flag_names;
         i++)
        if (strcmp(result, flag_names[i].name) == 0) {
            item->flags = flag_names[i].flags;
            return 0;
        }
    for (int i = 0; i <= HISTORY_RESULT_REFUSED; i++)
        if (strcmp(result, history_result_text((enum history_result)i)) == 0) {
            item->result = (enum history_result)i;
            return 0;
        }
    return -1;
}

static int planted_read_item(const char *line, struct history_item *item) {
    char kind[16], result[16] = "none", fence[16] = "-";
    long from, to;
    int used = 0, kinds = 0;

    *item = (struct history_item){.ttl_ms = PLANTED_TTL_MS};
    if (sscanf(line, " %u %ld..%ld%n", &item->worker, &from, &to, &used) != 3 || used == 0) {
        if (sscanf(line, " %u %ld%n", &item->worker, &from, &used) != 2)
            return -1;
        to = from;
    }
    if (sscanf(line + used, " %15s %15s %15s", kind, result, fence) < 1)
        return -1;
    item->worker--;
    item->at_ns = from * 1000000L;
    item->end_ns = to * 1000000L;
    item->fence = strtoull(fence, NULL, 10);
    while (strcmp(history_kind_text((enum history_kind)kinds), kind) != 0)
        if (++kinds > HISTORY_STALL)
            return -1;
    item->kind = (enum history_kind)kinds;
    if (item->kind == HISTORY_FAULT) {
        item->starting_ns = item->ending_ns = (int64_t)item->fence * 1000000;
        item->fence = HISTORY_NO_FENCE;
    }
    return planted_read_result(item, result);
}

int planted_read(const char *text, struct history *history) {
    while (*text != '\0') {
        char line[128];
        const size_t length = strcspn(text, ";\n");
        struct history_item item;

        if (length >= sizeof line)
            return -1;
        memcpy(line, text, length);
        line[length] = '\0';
        text += length + (text[length] != '\0');
        if (line[strspn(line, " ")] != '\0' &&
            (planted_read_item(line, &item) != 0 || history_add(history, &item) < 0))
            return -1;
    }
    return 0;
}
