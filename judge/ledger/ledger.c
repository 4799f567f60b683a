/* Sorts the rows of a ledger, finds them, and reads their times. */
#include "ledger.h"

#include "ids.h"
#include "text_copy.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(offsetof(struct ledger_sale, order_id) == 0, "by_id() needs the id in front");
_Static_assert(offsetof(struct ledger_order, order_id) == 0, "by_id() needs the id in front");

/* Compares sales or orders by id. A pointer to an id works as a key, because the id comes first in
 * both. */
static int by_id(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
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

static bool are_sorted(const char *rows, size_t count, size_t size) {
    for (size_t i = 1; i < count; i++)
        if (by_id(rows + (i - 1) * size, rows + i * size) > 0)
            return false;
    return true;
}

#define ROW_SIZE 256 /* no row is larger */

/* Moves each row to the place of its entry. The places form rings: row after row of a ring moves. */
static void put_in_order(char *rows, size_t count, size_t size, struct ids_entry *entries) {
    char first[ROW_SIZE];

    assert(size <= sizeof first);
    for (size_t i = 0; i < count; i++) {
        char *place = rows + i * size;
        size_t entry = i;

        if (entries[i].row == place)
            continue;
        memcpy(first, place, size);
        while (entries[entry].row != rows + i * size) {
            const char *next = entries[entry].row;

            memcpy(place, next, size);
            entries[entry].row = place;
            entry = (size_t)(next - rows) / size;
            place = rows + entry * size;
        }
        memcpy(place, first, size);
        entries[entry].row = place;
    }
}

/* The databases of the own services give them in this order, other shops do not. */
static void sort_by_id(char *rows, size_t count, size_t size) {
    struct ids_entry *entries;

    if (are_sorted(rows, count, size))
        return;
    entries = calloc(count, sizeof *entries);
    for (size_t i = 0; i < count && entries != NULL; i++)
        entries[i] = (struct ids_entry){.id = *(const char *const *)(rows + i * size),
                                        .row = rows + i * size};
    if (entries != NULL && ids_sort(entries, count) == 0)
        put_in_order(rows, count, size, entries);
    else
        qsort(rows, count, size, by_id); /* it needs less memory */
    free(entries);
}

void ledger_sort(struct ledger *ledger) {
    assert(ledger->sales != NULL || ledger->sale_count == 0);
    assert(ledger->orders != NULL || ledger->order_count == 0);
    sort_by_id((char *)ledger->sales, ledger->sale_count, sizeof *ledger->sales);
    sort_by_id((char *)ledger->orders, ledger->order_count, sizeof *ledger->orders);
    if (ledger->row_count > 0)
        qsort(ledger->rows, ledger->row_count, sizeof *ledger->rows, by_shard);
    writes_sort(ledger->writes, ledger->write_count);
    ledger_lay_out(ledger);
}

/* Go back to the first of equal rows: bsearch() may find any of them. */
static const void *ledger_find(const char *order_id, const char *rows, size_t count, size_t size) {
    const char *found = count > 0 ? bsearch(&order_id, rows, count, size, by_id) : NULL;

    while (found != NULL && found > rows && by_id(found - size, &order_id) == 0)
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

int64_t ledger_sold(const struct ledger *ledger) {
    int64_t sold = 0;

    for (size_t i = 0; i < ledger->sale_count; i++)
        sold += ledger->sales[i].quantity;
    return sold;
}

/* ---- the rows of a shop */

const char *ledger_keep_id(struct ledger *ledger, const char *id) {
    const size_t place = ledger->order_count;

    if (place < ledger->sale_count && ledger->sales[place].order_id != NULL &&
        strcmp(ledger->sales[place].order_id, id) == 0)
        return ledger->sales[place].order_id;
    return texts_add(&ledger->texts, id);
}

/* Returns the array, which may move, with a zeroed row after its `count` rows; or NULL without
 * memory, and then the array is unchanged. Its capacity follows from `count`: 16, doubled whenever
 * it is full. */
static void *add_row(void *array, size_t count, size_t size) {
    const bool is_full = count == 0 || (count >= 16 && (count & (count - 1)) == 0);

    if (is_full)
        array = realloc(array, (count == 0 ? 16 : 2 * count) * size);
    if (array != NULL)
        memset((char *)array + count * size, 0, size);
    return array;
}

int ledger_keep_instance(struct ledger *ledger, const char **instance, const char *name) {
    char printable[LEDGER_INSTANCE];

    *instance = NULL;
    if (name == NULL || name[0] == '\0')
        return 0;
    *instance = texts_shared(&ledger->texts, name);
    if (*instance != NULL)
        return 0;
    text_copy(printable, sizeof printable, name);
    utf8_make_printable(printable);
    *instance = texts_share(&ledger->texts, printable);
    return *instance != NULL ? 0 : -1;
}

int ledger_keep_extra(struct ledger *ledger, struct ledger_sale *sale,
                      const struct ledger_extra *extra) {
    const bool is_any = extra->key != NULL || extra->fence != 0 || extra->reserved >= 0;

    sale->extra = is_any ? texts_add_bytes(&ledger->texts, extra, sizeof *extra) : NULL;
    return is_any && sale->extra == NULL ? -1 : 0;
}

int ledger_add_sale(struct ledger *ledger, const struct ledger_told *told) {
    struct ledger_sale *sales = add_row(ledger->sales, ledger->sale_count, sizeof *sales), *sale;
    struct ledger_extra extra = {.fence = 0};

    if (sales == NULL)
        return -1;
    ledger->sales = sales;
    sale = &sales[ledger->sale_count];
    sale->order_id = texts_add(&ledger->texts, told->id);
    extra.key = told->key != NULL ? texts_add(&ledger->texts, told->key) : NULL;
    extra.reserved = told->reserved < 0 ? -1 : told->reserved;
    if (sale->order_id == NULL || (extra.key == NULL && told->key != NULL) ||
        ledger_keep_extra(ledger, sale, &extra) != 0 ||
        ledger_keep_instance(ledger, &sale->instance, told->instance) != 0)
        return -1;
    sale->at_us = told->at_us;
    sale->quantity = (int32_t)told->quantity;
    sale->unit = told->unit;
    sale->remaining = told->remaining;
    ledger->sale_count++;
    return 0;
}

int ledger_add_order(struct ledger *ledger, const struct ledger_told *told) {
    struct ledger_order *orders = add_row(ledger->orders, ledger->order_count, sizeof *orders);
    struct ledger_order *order;

    if (orders == NULL)
        return -1;
    ledger->orders = orders;
    order = &orders[ledger->order_count];
    order->order_id = ledger_keep_id(ledger, told->id);
    order->at_us = told->at_us;
    if (order->order_id == NULL ||
        ledger_keep_instance(ledger, &order->instance, told->instance) != 0)
        return -1;
    ledger->order_count++;
    return 0;
}

/* Without orders each sale stands for one. */
static int ledger_mirror(struct ledger *ledger) {
    const bool is_mirrored = ledger->order_count == 0;

    for (size_t i = 0; is_mirrored && i < ledger->sale_count; i++)
        if (ledger_add_order(ledger, &(struct ledger_told){.id = ledger->sales[i].order_id}) != 0)
            return -1;
    return 0;
}

/* Values that count only if each sale tells them. */
static void settle_untold(struct ledger *ledger) {
    const int64_t more = ledger_sold(ledger) - (int64_t)ledger->sale_count;
    bool have_units = ledger->sale_count > 0, have_remaining = have_units;

    for (size_t i = 0; i < ledger->sale_count; i++) {
        const struct ledger_sale *sale = &ledger->sales[i];

        have_units = have_units && sale->unit != LEDGER_UNTOLD;
        have_remaining = have_remaining && sale->remaining != LEDGER_UNTOLD;
        ledger->has_keys = ledger->has_keys || ledger_extra(sale).key != NULL;
        ledger->has_reserved = ledger->has_reserved || ledger_extra(sale).reserved >= 0;
    }
    ledger->has_unused = have_remaining && (ledger->can_return || more > LEDGER_NUMBERED_MAX);
    have_remaining = have_remaining && !ledger->has_unused;
    ledger->is_unnumbered = !have_remaining;
    ledger->has_units = have_units && !have_remaining;
    for (size_t i = 0; i < ledger->sale_count; i++) {
        struct ledger_sale *sale = &ledger->sales[i];

        sale->remaining = have_remaining ? sale->remaining : -1;
        sale->unit = have_remaining ? sale->remaining + 1 : have_units ? sale->unit : -1;
    }
}

struct units {
    int64_t first, count;
};

static int by_first(const void *a, const void *b) {
    const struct units *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* The number of different units that were sold, or -1 without memory. */
static int64_t count_units(const struct ledger *ledger) {
    struct units *units = calloc(ledger->sale_count + 1, sizeof *units);
    int64_t count = 0, end = INT64_MIN;

    if (units == NULL)
        return -1;
    for (size_t i = 0; i < ledger->sale_count; i++)
        units[i] = (struct units){ledger->sales[i].unit, ledger->sales[i].quantity};
    qsort(units, ledger->sale_count, sizeof *units, by_first);
    for (size_t i = 0; i < ledger->sale_count; i++) {
        const int64_t own_end = units[i].first + units[i].count;

        if (own_end <= end)
            continue;
        count += own_end - (units[i].first > end ? units[i].first : end);
        end = own_end;
    }
    free(units);
    return count;
}

int ledger_finish(struct ledger *ledger) {
    if (ledger_mirror(ledger) != 0)
        return -1;
    settle_untold(ledger);
    ledger_sort(ledger);
    ledger->counted = ledger_sold(ledger);
    ledger->units = ledger->is_unnumbered ? ledger->counted : count_units(ledger);
    for (size_t i = 0; i < ledger->order_count; i++) {
        struct ledger_order *order = &ledger->orders[i];
        const struct ledger_sale *sale = i < ledger->sale_count ? &ledger->sales[i] : NULL;

        if (sale == NULL || sale->order_id != order->order_id) /* else it is the order's own */
            sale = ledger_find_sale(ledger, order->order_id);
        order->unit = sale != NULL ? sale->unit : -1;
    }
    return ledger->units < 0 ? -1 : 0;
}

static bool is_amount(int64_t number) {
    return number == LEDGER_UNTOLD || (number >= -LEDGER_AMOUNT_MAX && number <= LEDGER_AMOUNT_MAX);
}

static int check_told(const struct ledger_told *told, struct why *why) {
    const bool is_id_wrong = !record_is_id(told->id);

    if (is_id_wrong || (told->key != NULL && !record_is_id(told->key))) {
        (void)why_set(why,
                      "the %s of an order must be 1 to 128 characters of ASCII without spaces, "
                      "quotes and backslashes: \"%.128s\"",
                      is_id_wrong ? "id" : "key", is_id_wrong ? told->id : told->key);
        utf8_make_printable(why->text);
        return -1;
    }
    if (told->quantity < 0 || told->quantity > LEDGER_QUANTITY_MAX)
        return why_set(why,
                       "the order %.128s has a quantity of %" PRId64
                       ", and it must be from 0 to %" PRId64,
                       told->id, told->quantity, LEDGER_QUANTITY_MAX);
    if (!is_amount(told->unit) || !is_amount(told->remaining) || !is_amount(told->reserved))
        return why_set(why, "the order %.128s has a number beyond %" PRId64, told->id,
                       LEDGER_AMOUNT_MAX);
    return 0;
}

int ledger_tell(struct ledger *ledger, int64_t initial, int64_t left,
                const struct ledger_told *rows, size_t count, bool can_return, struct why *why) {
    *ledger = (struct ledger){.initial = initial, .available = left, .can_return = can_return};
    if (!is_amount(initial) || !is_amount(left))
        return why_set(why, "the stock has a number beyond %" PRId64, LEDGER_AMOUNT_MAX);
    for (size_t i = 0; i < count; i++) {
        if (check_told(&rows[i], why) != 0)
            return -1;
        if (ledger_add_sale(ledger, &rows[i]) != 0)
            return why_set(why, "out of memory");
    }
    return ledger_finish(ledger) == 0 ? 0 : why_set(why, "out of memory");
}

void ledger_free(struct ledger *ledger) {
    free(ledger->sales);
    free(ledger->writes);
    free(ledger->orders);
    free(ledger->rows);
    free(ledger->returned_units);
    texts_free(&ledger->texts);
    memset(ledger, 0, sizeof *ledger);
}

/* ---- moments */

static const char form[LEDGER_TIME] = "0000-00-00T00:00:00.000000Z";

static bool has_form(const char *text) {
    for (size_t i = 0; i < sizeof form; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    return true;
}

static int ledger_number_of(const char *digits, int count) {
    int number = 0;

    for (int i = 0; i < count; i++)
        number = 10 * number + (digits[i] - '0');
    return number;
}

/* Days from 1970-01-01. A year counts from its March, so a leap day is its last one. */
static int64_t count_days(int year, int month, int day) {
    const int since_march = (month + 9) % 12, years = month < 3 ? year - 1 : year;

    return 365 * years + years / 4 - years / 100 + years / 400 + (153 * since_march + 2) / 5 + day -
           719469;
}

int64_t ledger_time_us(const char *text) {
    int year, month, day, hour, minute, second;
    int64_t us;

    if (!has_form(text))
        return 0;
    year = ledger_number_of(text, 4);
    month = ledger_number_of(text + 5, 2);
    day = ledger_number_of(text + 8, 2);
    hour = ledger_number_of(text + 11, 2);
    minute = ledger_number_of(text + 14, 2);
    second = ledger_number_of(text + 17, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
        second > 60)
        return 0;
    us = ((count_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    us = us * 1000000 + ledger_number_of(text + 20, 6);
    return us < LEDGER_TIME_END_US ? us : 0;
}

static void write_number(char *digits, int count, int number) {
    for (; count-- > 0; number /= 10)
        digits[count] = (char)('0' + number % 10);
}

const char *ledger_time_text(char text[LEDGER_TIME], int64_t at_us) {
    const time_t seconds = (time_t)(at_us / 1000000);
    struct tm utc;

    assert(at_us >= 0 && at_us < LEDGER_TIME_END_US);
    text[0] = '\0';
    if (at_us == 0 || gmtime_r(&seconds, &utc) == NULL)
        return text;
    memcpy(text, form, sizeof form);
    write_number(text, 4, utc.tm_year + 1900);
    write_number(text + 5, 2, utc.tm_mon + 1);
    write_number(text + 8, 2, utc.tm_mday);
    write_number(text + 11, 2, utc.tm_hour);
    write_number(text + 14, 2, utc.tm_min);
    write_number(text + 17, 2, utc.tm_sec);
    write_number(text + 20, 6, (int)(at_us % 1000000));
    return text;
}

const char *ledger_clock(char text[LEDGER_TIME], int64_t at_us) {
    (void)ledger_time_text(text, at_us);
    return at_us > 0 ? text + strlen("2026-11-21T") : text;
}
