/* What a server says of a lock comes from strangers: it is made printable before a terminal, and
 * UTF-8 before JSON, gets it. */
#include "inspection.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 256

static json_t *text_json(const char *text) {
    char *clean = malloc(UTF8_ROOM(strlen(text)));
    json_t *json;

    if (clean == NULL)
        return NULL;
    (void)utf8_clean(clean, text);
    json = json_string(clean);
    free(clean);
    return json;
}

static const char *mode_text(enum lk_mode mode) {
    return mode == LK_SHARED ? "shared" : "exclusive";
}

/* What is not known is null. */
static json_t *holder_json(const struct lk_holder *holder) {
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:I}", "owner", text_json(holder->owner), "label",
                     text_json(holder->label), "fence",
                     holder->fence ? json_integer((json_int_t)holder->fence) : json_null(),
                     "remaining_ms",
                     holder->remaining_ms >= 0 ? json_integer(holder->remaining_ms) : json_null(),
                     "mode", mode_text(holder->mode), "permits", (json_int_t)holder->permits);
}

static json_t *holders_json(const struct lk_holder *holders, size_t count) {
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, holder_json(&holders[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *inspection_json(const char *name, const struct lk_inspection *inspection) {
    return json_pack("{s:o, s:o, s:o}", "name", text_json(name), "holders",
                     holders_json(inspection->holders, inspection->holder_count), "waiters",
                     holders_json(inspection->waiters, inspection->waiter_count));
}

int json_print(json_t *json) {
    int rc = json != NULL ? json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) : -1;

    json_decref(json);
    return rc == 0 && putchar('\n') == '\n' && fflush(stdout) == 0 ? 0 : -1;
}

static const char *inspection_printable(char to[TEXT_BYTES], const char *text) {
    (void)snprintf(to, TEXT_BYTES, "%s", text);
    utf8_make_printable(to);
    return to;
}

static void inspection_print_row(const char *what, const struct lk_holder *holder) {
    char owner[TEXT_BYTES], label[TEXT_BYTES], fence[24] = "-", left[32] = "-";

    if (holder->fence)
        (void)snprintf(fence, sizeof fence, "%" PRIu64, holder->fence);
    if (holder->remaining_ms >= 0)
        (void)snprintf(left, sizeof left, "%.1f s", (double)holder->remaining_ms / 1000);
    (void)printf("%-7s  %-9s  %7" PRIu32 "  %-40s  %16s  %9s  %s\n", what, mode_text(holder->mode),
                 holder->permits, inspection_printable(owner, holder->owner), fence, left,
                 inspection_printable(label, holder->label));
}

void inspection_print(const struct lk_inspection *inspection) {
    if (inspection->holder_count + inspection->waiter_count == 0) {
        (void)puts("free");
        return;
    }
    (void)printf("%-7s  %-9s  %7s  %-40s  %16s  %9s  %s\n", "", "MODE", "PERMITS", "OWNER", "FENCE",
                 "LEFT", "LABEL");
    for (size_t i = 0; i < inspection->holder_count; i++)
        inspection_print_row("holds", &inspection->holders[i]);
    for (size_t i = 0; i < inspection->waiter_count; i++)
        inspection_print_row("waits", &inspection->waiters[i]);
}
