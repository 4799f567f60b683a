/* The table of states. */
#include "table.h"

#include <assert.h>
#include <stdlib.h>

#define SIZE_LEAST 4096

static struct known *table_place_of(const struct table *table, uint64_t key) {
    size_t at = (size_t)key & (table->size - 1);

    while (table->places[at].key != 0 && table->places[at].key != key)
        at = (at + 1) & (table->size - 1);
    return &table->places[at];
}

const struct known *table_find(const struct table *table, uint64_t key) {
    const struct known *place;

    if (table->size == 0)
        return NULL;
    place = table_place_of(table, key);
    return place->key == key ? place : NULL;
}

/* While the old places are copied, both are there. */
static int table_grow(struct table *table, size_t bytes) {
    struct table larger = {.size = table->size > 0 ? 2 * table->size : SIZE_LEAST};

    if ((larger.size + table->size) * sizeof *larger.places > bytes)
        return -1;
    larger.places = calloc(larger.size, sizeof *larger.places);
    if (larger.places == NULL)
        return -1;
    for (size_t i = 0; i < table->size; i++)
        if (table->places[i].key != 0)
            *table_place_of(&larger, table->places[i].key) = table->places[i];
    larger.count = table->count;
    free(table->places);
    *table = larger;
    return 0;
}

int table_add(struct table *table, const struct known *known, size_t bytes) {
    struct known *place;

    if (table->count * 4 >= table->size * 3 && table_grow(table, bytes) != 0)
        return -1;
    place = table_place_of(table, known->key);
    assert(place->key == 0);
    *place = *known;
    table->count++;
    return 0;
}

void table_free(struct table *table) {
    free(table->places);
    *table = (struct table){.places = NULL};
}
