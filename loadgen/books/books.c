/* Rows become orders and counts. */
#include "books.h"

#include "sql_time.h"
#include "utf8.h"
#include "uuid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int require(const struct rows *rows, enum column column, struct why *why) {
    if (rows->has[column] || !rows->has_head)
        return 0;
    return why_set(why, "%s: there is no column %s; name it with AS %s", rows->query,
                   column_names[column], column_names[column]);
}

/* The cell; or NULL with the reason: a column that is there has a value in each row. */
static const char *cell_of(const struct rows *rows, size_t row, enum column column,
                           struct why *why) {
    const char *cell = rows->items[row].cells[column];

    if (cell == NULL)
        (void)why_set(why, "%s, row %zu: the column %s is NULL; a coalesce() gives it a value",
                      rows->query, row + 1, column_names[column]);
    return cell;
}

/* A whole number. Databases write the sum of whole numbers also as 3.00, and JSON as "3". */
static int take_number(const struct rows *rows, size_t row, enum column column, int64_t *number,
                       struct why *why) {
    const char *cell;
    char *end;

    if (!rows->has[column])
        return 0;
    cell = cell_of(rows, row, column, why);
    if (cell == NULL)
        return -1;
    errno = 0;
    *number = strtoll(cell, &end, 10);
    if (*end == '.' && end[1] != '\0')
        end += 1 + strspn(end + 1, "0");
    if (errno != 0 || *end != '\0' || end == cell || strchr("-0123456789", cell[0]) == NULL)
        return why_set(why, "%s, row %zu: the column %s is \"%.40s\", and not a whole number",
                       rows->query, row + 1, column_names[column], cell);
    return 0;
}

static int take_text(const struct rows *rows, size_t row, enum column column, char **text,
                     struct why *why) {
    const char *cell;

    if (!rows->has[column])
        return 0;
    cell = cell_of(rows, row, column, why);
    if (cell == NULL)
        return -1;
    *text = strdup(cell);
    return *text != NULL ? 0 : why_set(why, "%s: out of memory", rows->query);
}

static int take_moment(const struct rows *rows, size_t row, int64_t *at_us, struct why *why) {
    const char *cell = rows->has[COLUMN_AT] ? cell_of(rows, row, COLUMN_AT, why) : "";

    *at_us = cell != NULL ? sql_time(cell) : 0;
    return cell != NULL ? 0 : -1;
}

static int take_order(struct books *books, const struct rows *rows, size_t row, struct why *why) {
    struct books_order *order = &books->orders[books->count++];

    if (take_text(rows, row, COLUMN_ORDER_ID, &order->id, why) != 0 ||
        take_number(rows, row, COLUMN_QUANTITY, &order->quantity, why) != 0 ||
        take_number(rows, row, COLUMN_UNIT, &order->unit, why) != 0 ||
        take_number(rows, row, COLUMN_REMAINING, &order->remaining, why) != 0 ||
        take_number(rows, row, COLUMN_RESERVED, &order->reserved, why) != 0 ||
        take_text(rows, row, COLUMN_KEY, &order->key, why) != 0 ||
        take_moment(rows, row, &order->at_us, why) != 0 ||
        take_text(rows, row, COLUMN_INSTANCE, &order->instance, why) != 0)
        return -1;
    if (order->id[0] == '\0' || strlen(order->id) > BOOKS_ID_BYTES)
        return why_set(why, "%s, row %zu: the column order_id has %zu bytes, and not 1 to %d",
                       rows->query, row + 1, strlen(order->id), BOOKS_ID_BYTES);
    if (order->quantity < 1 || __builtin_add_overflow(books->sold, order->quantity, &books->sold))
        return why_set(why, "%s, row %zu: the column quantity is %" PRId64 ", and not 1 or more",
                       rows->query, row + 1, order->quantity);
    return 0;
}

static int by_id(const void *a, const void *b) {
    const struct books_order *x = a, *y = b;

    return strcmp(x->id, y->id);
}

/* The later row of that id, for the reason. */
static size_t last_row_of(const struct rows *rows, const char *id) {
    size_t row = rows->count;

    while (row > 1 && strcmp(rows->items[row - 1].cells[COLUMN_ORDER_ID], id) != 0)
        row--;
    return row;
}

int books_take_orders(struct books *books, const struct rows *rows, struct why *why) {
    if (require(rows, COLUMN_ORDER_ID, why) != 0 || require(rows, COLUMN_QUANTITY, why) != 0)
        return -1;
    if (rows->count == 0)
        return 0;
    for (size_t c = 0; c < COLUMN_LEFT; c++)
        books->has[c] = rows->has[c];
    books->orders = calloc(rows->count, sizeof *books->orders);
    if (books->orders == NULL)
        return why_set(why, "%s: out of memory", rows->query);
    for (size_t i = 0; i < rows->count; i++)
        if (take_order(books, rows, i, why) != 0)
            return -1;
    qsort(books->orders, books->count, sizeof *books->orders, by_id);
    for (size_t i = 1; i < books->count; i++)
        if (by_id(&books->orders[i - 1], &books->orders[i]) == 0)
            return why_set(why,
                           "%s, row %zu: the column order_id has \"%s\" a second time; an order is "
                           "one row: use sum(quantity) and GROUP BY",
                           rows->query, last_row_of(rows, books->orders[i].id),
                           books->orders[i].id);
    return 0;
}

int books_take_stock(struct books *books, const struct rows *rows, struct why *why) {
    if (require(rows, COLUMN_LEFT, why) != 0)
        return -1;
    if (rows->count != 1)
        return why_set(why, "%s: it must have one row, and has %zu", rows->query, rows->count);
    books->has[COLUMN_LEFT] = true;
    books->has[COLUMN_INITIAL] = rows->has[COLUMN_INITIAL];
    return take_number(rows, 0, COLUMN_LEFT, &books->left, why) == 0
               ? take_number(rows, 0, COLUMN_INITIAL, &books->initial, why)
               : -1;
}

/* ---- [Writes] */

static int take_amount(const struct rows *rows, size_t row, enum column column, int64_t *number,
                       struct why *why) {
    if (take_number(rows, row, column, number, why) != 0)
        return -1;
    if (*number <= WRITE_MAX && *number >= -WRITE_MAX)
        return 0;
    return why_set(why, "%s, row %zu: the column %s is %" PRId64 ", and no count of units",
                   rows->query, row + 1, column_names[column], *number);
}

/* A text that fits; one that is NULL is empty. */
static int take_short_text(const struct rows *rows, size_t row, enum column column, char *to,
                           size_t size, struct why *why) {
    const char *cell = rows->items[row].cells[column];

    if (cell == NULL)
        return 0;
    if (strlen(cell) >= size)
        return why_set(why, "%s, row %zu: the column %s has more than %zu bytes", rows->query,
                       row + 1, column_names[column], size - 1);
    (void)strcpy(to, cell);
    return 0;
}

static int take_write(const struct rows *rows, size_t row, struct ledger_write *write,
                      struct why *why) {
    const char *at = rows->items[row].cells[COLUMN_AT];
    char uuid[UUID_TEXT];

    if (at != NULL)
        write->at_us = sql_time(at);
    if (rows->items[row].cells[COLUMN_TX] != NULL &&
        take_number(rows, row, COLUMN_TX, &write->tx, why) != 0)
        return -1;
    if (take_number(rows, row, COLUMN_SEQ, &write->seq, why) != 0 ||
        take_amount(rows, row, COLUMN_FOUND, &write->found, why) != 0 ||
        take_amount(rows, row, COLUMN_LEFT, &write->left, why) != 0 ||
        take_short_text(rows, row, COLUMN_ROW, write->row, sizeof write->row, why) != 0 ||
        take_short_text(rows, row, COLUMN_ORDER_ID, write->order_id, sizeof write->order_id, why) !=
            0)
        return -1;
    utf8_make_printable(write->row);
    if (uuid_parse(write->order_id, uuid) == 0)
        (void)strcpy(write->order_id, uuid); /* in the spelling of the ledger */
    return write->order_id[0] == '\0' || record_is_id(write->order_id)
               ? 0
               : why_set(why, "%s, row %zu: the column order_id is no id", rows->query, row + 1);
}

int books_take_writes(struct books *books, const struct rows *rows, struct why *why) {
    if (require(rows, COLUMN_SEQ, why) != 0 || require(rows, COLUMN_FOUND, why) != 0 ||
        require(rows, COLUMN_LEFT, why) != 0)
        return -1;
    books->has_writes = true;
    books->writes = calloc(rows->count + 1, sizeof *books->writes);
    if (books->writes == NULL)
        return why_set(why, "%s: out of memory", rows->query);
    for (; books->write_count < rows->count; books->write_count++)
        if (take_write(rows, books->write_count, &books->writes[books->write_count], why) != 0)
            return -1;
    writes_sort(books->writes, books->write_count);
    for (size_t i = 1; i < books->write_count; i++)
        if (books->writes[i - 1].seq == books->writes[i].seq &&
            strcmp(books->writes[i - 1].row, books->writes[i].row) == 0)
            return why_set(why, "%s: the column seq has %" PRId64 " a second time", rows->query,
                           books->writes[i].seq);
    return 0;
}

void books_give_writes(struct books *books, struct ledger *ledger) {
    if (!books->has_writes)
        return;
    ledger->has_writes = true;
    ledger->writes = books->writes;
    ledger->write_count = books->write_count;
    books->writes = NULL;
}

const struct books_order *books_find(const struct books *books, const char *id) {
    const struct books_order key = {.id = (char *)(uintptr_t)id};

    return books->count > 0
               ? bsearch(&key, books->orders, books->count, sizeof *books->orders, by_id)
               : NULL;
}

void books_free(struct books *books) {
    for (size_t i = 0; i < books->count; i++) {
        free(books->orders[i].id);
        free(books->orders[i].key);
        free(books->orders[i].instance);
    }
    free(books->orders);
    free(books->writes);
    *books = (struct books){0};
}
