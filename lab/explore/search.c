/* Searches through all schedules. */
#include "explore.h"

#include "play.h"

#include <assert.h>
#include <stdlib.h>

#define ASK_EVERY 1024 /* runs */
#define NOBODY    0xff

/* ---- The known states: a table with open addressing, by their hash. */

/* The way from a state to the nearest violation: fewest preemptions and faults, then fewest moves.
 */
struct distance {
    uint16_t cost, moves;
};
static const struct distance no_way = {UINT16_MAX, UINT16_MAX};

static bool is_nearer(struct distance a, struct distance b) {
    return a.cost != b.cost ? a.cost < b.cost : a.moves < b.moves;
}

struct known {
    uint64_t key;       /* 0: a free place */
    uint64_t schedules; /* from here to the end */
    uint64_t violated;  /* of these schedules */
    struct distance distance;
    struct model_move nearest; /* the move to take, if there is a way */
};

struct table {
    struct known *places;
    size_t count, size;
};

#define TABLE_LEAST 4096

static struct known *table_place_of(const struct table *table, uint64_t key) {
    size_t at = (size_t)key & (table->size - 1);

    while (table->places[at].key != 0 && table->places[at].key != key)
        at = (at + 1) & (table->size - 1);
    return &table->places[at];
}

/* NULL: the state is not known. */
static const struct known *table_find(const struct table *table, uint64_t key) {
    const struct known *place;

    if (table->size == 0)
        return NULL;
    place = table_place_of(table, key);
    return place->key == key ? place : NULL;
}

/* `bytes` limits both tables together, because both exist during the copy. */
static int table_grow(struct table *table, size_t bytes) {
    struct table larger = {.size = table->size > 0 ? 2 * table->size : TABLE_LEAST};

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

/* Add a state. Its key must not be there yet. 0, or -1 without memory or above `bytes`. */
static int table_add(struct table *table, const struct known *known, size_t bytes) {
    struct known *place;

    if (table->count * 4 >= table->size * 3 && table_grow(table, bytes) != 0)
        return -1;
    place = table_place_of(table, known->key);
    assert(place->key == 0);
    *place = *known;
    table->count++;
    return 0;
}

/* ---- the search */

/* A state with a choice, on the way from the beginning to the current state. */
struct choice {
    uint8_t last;
    uint16_t forced; /* moves between the choice before and this one */
    uint8_t count, at;
    struct model_move moves[MODEL_MOVES];
    struct known known; /* the results so far */
};

struct search {
    struct exploration *exploration;
    struct model_world world;
    struct table table;
    struct choice choices[SCHEDULE_MOVES];
    size_t depth;

    /* The current state of the run. */
    struct schedule schedule;
    int preemptions; /* left */
    uint8_t last;    /* the order that moved last */
    uint16_t forced;
    uint16_t cost; /* the cost of struct distance */
    struct distance nearest;
};

/* The order that moved last, if it could go on: then any other move is a preemption. */
static uint8_t who_could_go_on(const struct search *search) {
    const struct model_order *order;

    if (search->last == NOBODY)
        return NOBODY;
    order = &search->world.state.orders[search->last];
    return order->state == ORDER_RUNS && order->waits == WAITS_NOT &&
                   model_is_ready(&search->world, search->last)
               ? search->last
               : NOBODY;
}

static bool is_run(struct model_move move) {
    return move.kind == MOVE_RUN || move.kind == MOVE_LOSE || move.kind == MOVE_DROP;
}

/* A fault is not a preemption: each kind happens once at most. */
static bool is_preemption(struct model_move move, uint8_t could_go_on) {
    if (could_go_on == NOBODY)
        return false;
    if (is_run(move))
        return move.who != could_go_on;
    return move.kind == MOVE_RESUME || move.kind == MOVE_LAND || move.kind == MOVE_BRING;
}

static uint16_t cost_of(struct model_move move, uint8_t could_go_on) {
    return (
        uint16_t)(is_preemption(move, could_go_on) ||
                  (move.kind != MOVE_RUN && move.kind != MOVE_RESUME && move.kind != MOVE_BRING));
}

static int search_make(struct search *search, struct model_move move) {
    const uint8_t could_go_on = who_could_go_on(search);

    if (is_preemption(move, could_go_on))
        search->preemptions--;
    search->cost = (uint16_t)(search->cost + cost_of(move, could_go_on));
    if (is_run(move))
        search->last = move.who;
    search->schedule.moves[search->schedule.count++] = move;
    if (play_move(&search->world, move) != 0)
        return -1;
    /* If the last order cannot continue, running another one is not a preemption. */
    search->last = who_could_go_on(search);
    return 0;
}

/* The possible moves within the bound. */
static size_t find_moves(struct search *search, struct model_move moves[MODEL_MOVES]) {
    const uint8_t could_go_on = who_could_go_on(search);
    const size_t all = model_moves(&search->world, moves);
    size_t count = 0;

    assert(all <= MODEL_MOVES);
    for (size_t i = 0; i < all; i++)
        if (search->preemptions > 0 || !is_preemption(moves[i], could_go_on))
            moves[count++] = moves[i];
    return count;
}

static uint64_t search_key_of(const struct search *search) {
    uint64_t key = model_hash(&search->world);

    key ^= ((uint64_t)search->preemptions << 8 | who_could_go_on(search)) *
           UINT64_C(0xd6e8feb86659fd93);
    key ^= key >> 32;
    key *= UINT64_C(0xd6e8feb86659fd93);
    key ^= key >> 32;
    return key != 0 ? key : 1;
}

/* ---- the way back: add the results to the choices */

static void add_to_choice(struct search *search, const struct known *found, uint16_t forced) {
    struct choice *choice = &search->choices[search->depth - 1];
    const struct model_move move = choice->moves[choice->at];
    struct known *known = &choice->known;
    struct distance distance = found->distance;

    known->schedules += found->schedules;
    known->violated += found->violated;
    if (found->violated == 0)
        return;
    distance.cost = (uint16_t)(distance.cost + cost_of(move, choice->last));
    distance.moves = (uint16_t)(distance.moves + forced + 1);
    if (is_nearer(distance, known->distance)) {
        known->distance = distance;
        known->nearest = move;
    }
}

/* The run ended with `found`: go back to the last choice with a move that is left. 1: there is one.
 * 0: there is none, and the search ends. -1: the table is full. */
static int go_back(struct search *search, struct known found, uint16_t forced) {
    const bool is_naive = search->exploration->is_naive;

    while (search->depth > 0) {
        struct choice *choice = &search->choices[search->depth - 1];

        add_to_choice(search, &found, forced);
        if (++choice->at < choice->count)
            return 1;
        found = choice->known;
        forced = choice->forced;
        /* Also keep the first choice without the table: the nearest way begins there. */
        if ((!is_naive || search->depth == 1) &&
            table_add(&search->table, &found, EXPLORE_MEMORY) != 0)
            return -1;
        search->depth--;
    }
    search->exploration->schedules = found.schedules;
    search->exploration->violated = found.violated;
    return 0;
}

/* ---- a run */

static void begin_choice(struct search *search, uint64_t key, const struct model_move *moves,
                         size_t count) {
    struct choice *choice = &search->choices[search->depth++];

    choice->last = who_could_go_on(search);
    choice->forced = search->forced;
    choice->count = (uint8_t)count;
    choice->at = 0;
    for (size_t i = 0; i < count; i++)
        choice->moves[i] = moves[i];
    choice->known = (struct known){.key = key, .distance = no_way};
    search->forced = 0;
}

static int begin_run(struct search *search) {
    const struct schedule *from = search->exploration->from;
    struct model_move moves[MODEL_MOVES];

    search->schedule.count = 0;
    search->last = NOBODY;
    search->forced = 0;
    search->exploration->runs++;
    play_begin(&search->world);
    for (size_t i = 0; from != NULL && i < from->count; i++) {
        (void)model_moves(&search->world, moves); /* it may let time pass */
        if (search_make(search, from->moves[i]) != 0)
            return -1;
    }
    search->preemptions = search->exploration->preemptions;
    search->cost = 0;
    return 0;
}

/* Go from the beginning to the last choice, and take its next move. The moves between choices are
 * forced. */
static int search_make_again(struct search *search) {
    struct model_move moves[MODEL_MOVES];

    for (size_t i = 0; i < search->depth; i++) {
        const struct choice *choice = &search->choices[i];

        for (unsigned j = 0; j < choice->forced; j++) {
            const size_t count = find_moves(search, moves);

            assert(count == 1);
            if (search_make(search, moves[0]) != 0)
                return -1;
        }
        (void)model_moves(&search->world, moves); /* it may let time pass */
        if (search_make(search, choice->moves[choice->at]) != 0)
            return -1;
    }
    return 0;
}

/* Without a table, keep the schedule of the nearest violation. */
static void keep_nearest(struct search *search) {
    const struct distance distance = {search->cost, (uint16_t)search->schedule.count};

    if (!is_nearer(distance, search->nearest))
        return;
    search->nearest = distance;
    search->exploration->shortest = search->schedule;
}

static struct known search_judge(struct search *search) {
    struct exploration *exploration = search->exploration;
    const unsigned found = exploration->judge(exploration->data, &search->world);

    if (found != 0 && exploration->is_naive)
        keep_nearest(search);
    return (struct known){.schedules = 1,
                          .violated = found != 0,
                          .distance = found != 0 ? (struct distance){0, 0} : no_way};
}

/* The table keeps states with a choice. It also keeps the states before the last customer, because
 * many schedules lead to each of them. */
static bool is_to_be_known(const struct search *search, const struct model_move *moves,
                           size_t count) {
    return count > 1 || (moves[0].who == search->exploration->setup.orders &&
                         search->world.state.orders[moves[0].who].state == ORDER_TO_COME);
}

/* Go on to the end, or to a known state. 1: `found` has the results from there. 0: the schedule
 * does not end. -1: no memory. */
static int search_go_on(struct search *search, struct known *found) {
    struct model_move moves[MODEL_MOVES];

    for (;;) {
        const size_t count = find_moves(search, moves);

        if (count == 0) {
            *found = search_judge(search);
            return 1;
        }
        if (search->schedule.count == EXPLORE_MOVES)
            return 0;
        if (is_to_be_known(search, moves, count)) {
            const uint64_t key = search_key_of(search);
            const struct known *known =
                search->exploration->is_naive ? NULL : table_find(&search->table, key);

            if (known != NULL) {
                *found = *known;
                return 1;
            }
            begin_choice(search, key, moves, count);
        } else {
            search->forced++;
        }
        if (search_make(search, moves[0]) != 0)
            return -1;
    }
}

/* ---- the whole search */

/* The open choices have not added their results to the choices above them, so the counts are the
 * sum over all open choices. */
static bool search_is_stopped(const struct search *search) {
    struct exploration *exploration = search->exploration;

    if (exploration->runs % ASK_EVERY != 0 || exploration->is_stopped == NULL)
        return false;
    exploration->schedules = exploration->violated = 0;
    for (size_t i = 0; i < search->depth; i++) {
        exploration->schedules += search->choices[i].known.schedules;
        exploration->violated += search->choices[i].known.violated;
    }
    return exploration->is_stopped(exploration->data, exploration);
}

static int search_all(struct search *search) {
    struct exploration *exploration = search->exploration;
    struct known found;
    int more = 1;

    while (more == 1) {
        if (begin_run(search) != 0 || search_make_again(search) != 0)
            return -1;
        switch (search_go_on(search, &found)) {
        case -1:
            return -1;
        case 0:
            exploration->end = EXPLORE_ENDLESS;
            exploration->shortest = search->schedule;
            return 0;
        }
        if (search_is_stopped(search)) {
            exploration->end = EXPLORE_STOPPED;
            return 0;
        }
        more = go_back(search, found, search->forced);
    }
    if (more < 0)
        exploration->end = EXPLORE_MEMORY_ENDED;
    return 0;
}

/* After a stop, add up the results of the choices that are still open. */
static int search_add_up(struct search *search) {
    struct known found = {.distance = no_way};
    uint16_t forced = 0;

    while (search->depth > 0) {
        struct choice *choice = &search->choices[search->depth - 1];

        if (found.schedules > 0)
            add_to_choice(search, &found, forced);
        found = choice->known;
        forced = choice->forced;
        if (table_find(&search->table, found.key) == NULL &&
            table_add(&search->table, &found, 2 * EXPLORE_MEMORY) != 0)
            return -1;
        search->depth--;
    }
    search->exploration->schedules = found.schedules;
    search->exploration->violated = found.violated;
    return 0;
}

/* Follow the nearest way through the known states to the violation. */
static int find_shortest(struct search *search) {
    struct model_move moves[MODEL_MOVES];
    size_t count;

    if (begin_run(search) != 0)
        return -1;
    search->exploration->runs--;
    while ((count = find_moves(search, moves)) > 0) {
        struct model_move move = moves[0];

        if (is_to_be_known(search, moves, count)) {
            const struct known *known = table_find(&search->table, search_key_of(search));

            assert(known != NULL && known->violated > 0);
            move = known->nearest;
        }
        if (search_make(search, move) != 0)
            return -1;
    }
    search->exploration->shortest = search->schedule;
    return 0;
}

int explore(struct exploration *exploration) {
    struct search *search = calloc(1, sizeof *search);
    int err = -1;

    if (search == NULL)
        return -1;
    search->exploration = exploration;
    search->world.setup = exploration->setup;
    search->nearest = no_way;
    exploration->end = EXPLORE_COMPLETE;
    exploration->runs = exploration->schedules = exploration->violated = 0;
    err = search_all(search);
    if (err == 0 && search->depth > 0)
        err = search_add_up(search);
    exploration->states = search->table.count;
    if (err == 0 && exploration->violated > 0 && exploration->end != EXPLORE_ENDLESS &&
        !exploration->is_naive)
        err = find_shortest(search);
    play_end(&search->world);
    free(search->table.places);
    free(search);
    return err;
}
