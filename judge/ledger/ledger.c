/* Sorts the rows of a ledger, finds them, and reads their times. */
#include "ledger.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(offsetof(struct ledger_sale, order_id) == 0, "by_id() needs the id in front");
_Static_assert(offsetof(struct ledger_order, order_id) == 0, "by_id() needs the id in front");

/* Compares sales or orders by id. An id alone works as a key, because the id comes first in
 * both. */
static int by_id(const void *a, const void *b) {
    return strcmp(a, b);
}

static int by_shard(const void *a, const void *b) {
    const struct ledger_row *x = a, *y = b;

    return (x->shard > y->shard) - (x->shard < y->shard);
}

/* Each row ends where the next one, in order of units, begins; the last one ends with the stock. If
 * several rows begin with the same unit, only the last one has it. */
static void ledger_lay_out(struct ledger *ledger) {
    for (size_t i = 0; i < ledger->row_count; i++) {
        int64_t end = ledger->initial + 1;

        for (size_t j = 0; j < ledger->row_count; j++)
            if (ledger->rows[j].first_unit + (j > i) > ledger->rows[i].first_unit &&
                ledger->rows[j].first_unit < end)
                end = ledger->rows[j].first_unit;
        ledger->rows[i].initial = end - ledger->rows[i].first_unit;
    }
}

/* They are nearly always sorted already: databases and histories give them in this order. */
static void sort_by_id(void *rows, size_t count, size_t size) {
    for (size_t i = 1; i < count; i++)
        if (by_id((char *)rows + (i - 1) * size, (char *)rows + i * size) > 0) {
            qsort(rows, count, size, by_id);
            return;
        }
}

void ledger_sort(struct ledger *ledger) {
    assert(ledger->sales != NULL || ledger->sale_count == 0);
    assert(ledger->orders != NULL || ledger->order_count == 0);
    sort_by_id(ledger->sales, ledger->sale_count, sizeof *ledger->sales);
    sort_by_id(ledger->orders, ledger->order_count, sizeof *ledger->orders);
    if (ledger->row_count > 0)
        qsort(ledger->rows, ledger->row_count, sizeof *ledger->rows, by_shard);
    ledger_lay_out(ledger);
}

/* Go back to the first of equal rows: bsearch() may find any of them. */
static const void *ledger_find(const char *order_id, const char *rows, size_t count, size_t size) {
    const char *found = count > 0 ? bsearch(order_id, rows, count, size, by_id) : NULL;

    while (found != NULL && found > rows && by_id(found - size, order_id) == 0)
        found -= size;
    return found;
}

const struct ledger_sale *ledger_find_sale(const struct ledger *ledger, const char *order_id) {
    return ledger_find(order_id, (const char *)ledger->sales, ledger->sale_count,
                       sizeof *ledger->sales);
}

const struct ledger_order *ledger_find_order(const struct ledger *ledger, const char *order_id) {
    return ledger_find(order_id, (const char *)ledger->orders, ledger->order_count,
                       sizeof *ledger->orders);
}

void ledger_free(struct ledger *ledger) {
    free(ledger->sales);
    free(ledger->writes);
    free(ledger->orders);
    free(ledger->rows);
    free(ledger->returned_units);
    memset(ledger, 0, sizeof *ledger);
}

bool ledger_is_time(const char *at) {
    static const char form[] = "0000-00-00T00:00:00.000000Z";

    for (size_t i = 0; i < sizeof form; i++)
        if (form[i] == '0' ? at[i] < '0' || at[i] > '9' : at[i] != form[i])
            return false;
    return strncmp(at, "1970", 4) >= 0 && strncmp(at, "2200", 4) < 0;
}

static int ledger_number_of(const char *digits, int count) {
    int number = 0;

    for (int i = 0; i < count; i++) {
        assert(digits[i] >= '0' && digits[i] <= '9'); /* ledger_is_time() checked it */
        number = 10 * number + (digits[i] - '0');
    }
    return number;
}

int64_t ledger_time_us(const char *at) {
    struct tm tm = {0};

    if (!ledger_is_time(at))
        return -1;
    tm.tm_year = ledger_number_of(at, 4) - 1900;
    tm.tm_mon = ledger_number_of(at + 5, 2) - 1;
    tm.tm_mday = ledger_number_of(at + 8, 2);
    tm.tm_hour = ledger_number_of(at + 11, 2);
    tm.tm_min = ledger_number_of(at + 14, 2);
    tm.tm_sec = ledger_number_of(at + 17, 2);
    return (int64_t)timegm(&tm) * 1000000 + ledger_number_of(at + 20, 6);
}

const char *ledger_clock(const char *at) {
    return strlen(at) == LEDGER_TIME - 1 ? at + strlen("2026-11-21T") : at;
}
