/* Goes from the last sent request to the first. A tree (Fenwick, 1994) holds the requests that were
 * sent later, in the order of their answers, and counts how many were answered before. */
#include "overtaken.h"

#include "sorted.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct customer {
    int64_t number; /* the first member: sorted_sort() sorts by it */
    const struct record *record;
    size_t rank; /* among the answers, from 1 */
};

static bool overtaken_is_served(const struct record *record) {
    return record->outcome == RECORD_SOLD && record->sent_ns > 0;
}

static bool has_waited(const struct record *record) {
    return overtaken_is_served(record) || (record->outcome == RECORD_BUSY && record->sent_ns > 0);
}

/* By moment, and then by product. */
static void sort_by(struct customer *customers, size_t count,
                    int64_t (*moment_of)(const struct record *)) {
    for (size_t i = 0; i < count; i++)
        customers[i].number = moment_of(customers[i].record);
    sorted_sort(customers, count, sizeof *customers);
    for (size_t i = 0; i < count; i++)
        customers[i].number = customers[i].record->item;
    sorted_sort(customers, count, sizeof *customers);
}

static int64_t answer_of(const struct record *record) {
    return record->received_ns;
}

static int64_t sending_of(const struct record *record) {
    return record->sent_ns;
}

/* tree[i] counts customers of the ranks i - (i & -i) + 1 .. i. */
static void overtaken_add(size_t *tree, size_t count, size_t rank) {
    for (; rank <= count; rank += rank & (~rank + 1))
        tree[rank]++;
}

static size_t overtaken_count_before(const size_t *tree, size_t rank) {
    size_t sum = 0;

    for (rank--; rank > 0; rank -= rank & (~rank + 1))
        sum += tree[rank];
    return sum;
}

/* The most for one product. Customers of other products are not in the tree. */
static size_t most_of(const struct customer *customers, size_t first, size_t end, size_t *tree,
                      size_t count) {
    size_t later = end, most = 0;

    for (size_t i = end; i-- > first;) {
        size_t before;

        while (later > first && customers[later - 1].record->sent_ns >=
                                    customers[i].record->sent_ns + OVERTAKEN_LATER_NS)
            if (overtaken_is_served(customers[--later].record))
                overtaken_add(tree, count, customers[later].rank);
        before = overtaken_count_before(tree, customers[i].rank);
        most = before > most ? before : most;
    }
    return most;
}

static size_t find_most(struct customer *customers, size_t count, size_t *tree) {
    size_t most = 0;

    sort_by(customers, count, answer_of);
    for (size_t i = 0; i < count; i++)
        customers[i].rank = i + 1;
    sort_by(customers, count, sending_of);
    for (size_t first = 0, end; first < count; first = end) {
        size_t of_one;

        for (end = first; end < count; end++)
            if (customers[end].record->item != customers[first].record->item)
                break;
        for (size_t i = 0; i <= count; i++)
            tree[i] = 0;
        of_one = most_of(customers, first, end, tree, count);
        most = of_one > most ? of_one : most;
    }
    return most;
}

size_t overtaken_most(const struct recorder *recorder) {
    struct customer *customers = calloc(recorder->ended + 1, sizeof *customers);
    size_t *tree = calloc(recorder->ended + 2, sizeof *tree);
    size_t count = 0, most = OVERTAKEN_NOMEM;

    if (customers != NULL && tree != NULL) {
        for (size_t i = 0; i < recorder->ended; i++)
            if (has_waited(&recorder->records[i]))
                customers[count++].record = &recorder->records[i];
        most = find_most(customers, count, tree);
    }
    free(customers);
    free(tree);
    return most;
}
