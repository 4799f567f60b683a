/* The states of an exploration as a graph. Equal states (model_hash()) are one, so schedules that
 * meet share all that follows. First come the states of the shortest schedule, then the others by
 * their number of moves. */
#include "choices.h"

#include "json_text.h"

#include <stdlib.h>
#include <string.h>

/* A state. Its way from the beginning is a move after its parent's. */
struct choices_state {
    uint64_t hash;
    size_t parent;
    struct model_move move;
    bool is_expanded, is_broken;
};

struct choices {
    struct tell *tell;
    struct model_world *world;
    struct view *view;
    json_t *states; /* a member for each state that was found */
    size_t found, expanded;
    bool has_no_room; /* it left a state out */
    struct choices_state state[CHOICES_FOUND];
    struct schedule schedule;
};

static size_t depth_of(const struct choices *all, size_t at) {
    size_t depth = 0;

    for (; at != 0; at = all->state[at].parent)
        depth++;
    return depth;
}

static void choices_write_way(struct choices *all, size_t at) {
    all->schedule.count = depth_of(all, at);
    for (size_t i = all->schedule.count; i > 0; at = all->state[at].parent)
        all->schedule.moves[--i] = all->state[at].move;
}

/* The verdict of a state: null while nothing is wrong. */
static json_t *choices_judge(struct choices *all, bool has_ended) {
    char summary[VIEW_TEXT], names[VIEW_TEXT];
    const unsigned found = view_judge(all->view, all->world) & (has_ended ? ~0U : VIEW_LASTING);

    if (found == 0)
        return json_null();
    (void)view_tell(all->view, all->world, summary);
    tell_names(found, names);
    return JSON_TEXT_OBJECT({"anomalies", json_text(names)}, {"summary", json_text(summary)});
}

/* The world is in the state after `move` from state `parent`. Returns its place; CHOICES_FOUND if
 * there is no more room. */
static size_t choices_find(struct choices *all, size_t parent, struct model_move move,
                           bool has_ended) {
    const uint64_t hash = model_hash(all->world);
    const size_t at = all->found;
    json_t *broken;

    for (size_t i = 0; i < at; i++)
        if (all->state[i].hash == hash)
            return i;
    all->has_no_room = all->has_no_room || at == CHOICES_FOUND;
    if (at == CHOICES_FOUND)
        return at;
    broken = choices_judge(all, has_ended);
    all->state[at] = (struct choices_state){
        .hash = hash, .parent = parent, .move = move, .is_broken = !json_is_null(broken)};
    json_text_append(&all->states,
                     JSON_TEXT_OBJECT({"broken", broken}, {"has_ended", json_boolean(has_ended)}));
    all->found++;
    return at;
}

/* The steps of the last move; their clock counts from the move before. */
static json_t *choices_lines(const struct choices *all, int64_t began_ms) {
    json_t *lines = json_array();

    for (size_t i = 0; i < all->tell->count; i++) {
        all->tell->steps[i].now_ms -= began_ms;
        json_text_append(&lines, tell_json_step(all->tell, i));
    }
    return lines;
}

/* Run the state's schedule with a move more. */
static bool choices_add_move(struct choices *all, size_t at, struct model_move move,
                             int64_t began_ms, json_t **moves) {
    struct model_move after[MODEL_MOVES];
    size_t count, to;

    all->schedule.moves[all->schedule.count++] = move;
    if (tell_follow(all->tell, all->world, &all->schedule, all->schedule.count - 1, after,
                    &count) != REPLAY_ENDED)
        return false;
    all->schedule.count--;
    to = choices_find(all, at, move, count == 0);
    if (to < CHOICES_FOUND)
        json_text_append(moves, JSON_TEXT_OBJECT({"to", json_integer((json_int_t)to)},
                                                 {"steps", choices_lines(all, began_ms)}));
    return true;
}

/* Find the states after this one. False: it failed. */
static bool choices_expand(struct choices *all, size_t at) {
    struct model_move next[MODEL_MOVES];
    int64_t began_ms;
    json_t *moves;
    size_t count;

    choices_write_way(all, at);
    if (all->state[at].is_expanded || all->state[at].is_broken ||
        all->schedule.count >= EXPLORE_MOVES)
        return true;
    all->state[at].is_expanded = true;
    all->expanded++;
    if (tell_follow(all->tell, all->world, &all->schedule, all->schedule.count, next, &count) !=
        REPLAY_ENDED)
        return false;
    began_ms = all->world->state.now_ms;
    moves = json_array();
    for (size_t i = 0; i < count; i++)
        if (!choices_add_move(all, at, next[i], began_ms, &moves)) {
            json_decref(moves);
            return false;
        }
    return json_object_set_new(json_array_get(all->states, at), "moves", moves) == 0;
}

/* The place of the state to which a move of state `at` leads; CHOICES_FOUND: there is none. */
static size_t choices_after(struct choices *all, size_t at, struct model_move move) {
    struct model_move after[MODEL_MOVES];
    size_t count;

    choices_write_way(all, at);
    all->schedule.moves[all->schedule.count++] = move;
    if (tell_follow(all->tell, all->world, &all->schedule, all->schedule.count, after, &count) !=
        REPLAY_ENDED)
        return CHOICES_FOUND;
    return choices_find(all, at, move, count == 0);
}

static bool choices_begin(struct choices *all) {
    struct model_move next[MODEL_MOVES];
    size_t count;

    return tell_follow(all->tell, all->world, &all->schedule, 0, next, &count) == REPLAY_ENDED &&
           choices_find(all, 0, (struct model_move){0}, count == 0) == 0;
}

static bool choices_fill(struct choices *all) {
    const struct schedule *shortest = &all->tell->explored->shortest;
    size_t at = 0;

    if (!choices_begin(all))
        return false;
    for (size_t i = 0; i < shortest->count && at < CHOICES_FOUND; i++) {
        if (!choices_expand(all, at))
            return false;
        if (!all->state[at].is_expanded)
            break; /* it is broken by now */
        at = choices_after(all, at, shortest->moves[i]);
    }
    for (at = 0; at < all->found && all->expanded < CHOICES_EXPANDED; at++)
        if (!choices_expand(all, at))
            return false;
    return !view_has_failed(all->view) && !all->tell->has_failed;
}

static bool choices_are_complete(const struct choices *all) {
    size_t closed = 0;

    for (size_t i = 0; i < all->found; i++)
        closed += all->state[i].is_expanded || all->state[i].is_broken;
    return closed == all->found && !all->has_no_room;
}

json_t *choices_json(struct tell *tell, struct model_world *world, struct view *view) {
    struct choices *all = calloc(1, sizeof *all);
    json_t *json = NULL;

    if (all == NULL)
        return NULL;
    all->tell = tell;
    all->world = world;
    all->view = view;
    all->states = json_array();
    if (choices_fill(all))
        json = JSON_TEXT_OBJECT({"is_complete", json_boolean(choices_are_complete(all))},
                                {"states", json_incref(all->states)});
    json_decref(all->states);
    free(all);
    return json;
}
