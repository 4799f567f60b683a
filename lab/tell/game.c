/* A fiber cannot be copied. So each look runs the player's schedule from its beginning: once as it
 * is, and once more for each possible move, to tell the move's effect. */
#include "game.h"

#include "utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct game {
    struct tell *tell;
    struct model_world *world;
    struct view *view;
    FILE *to;
    struct schedule shortest; /* of the explorer, up to the move that breaks it; empty: none */
    struct schedule schedule; /* the player's */
    struct model_move next[MODEL_MOVES];
    size_t count;    /* of `next`; 0: the schedule has ended */
    bool has_failed; /* no memory, or the exploration's owner has stopped it */
};

/* ---- the state */

static bool game_is_stopped(const struct game *game) {
    const struct exploration *it = game->tell->explored;

    return it->is_stopped != NULL && it->is_stopped(it->data, it);
}

/* Run the schedule. Returns its anomalies so far. */
static unsigned game_look(struct game *game, const struct schedule *schedule) {
    unsigned found;

    if (tell_follow(game->tell, game->world, schedule, 0, game->next, &game->count) !=
            REPLAY_ENDED ||
        game_is_stopped(game)) {
        game->has_failed = true;
        return 0;
    }
    found = view_judge(game->view, game->world);
    game->has_failed = view_has_failed(game->view);
    return game->count > 0 ? found & VIEW_LASTING : found;
}

static void game_say_stock(const struct game *game) {
    const struct model_state *state = &game->world->state;
    const int shards = game->world->setup.options.shards;

    fprintf(game->to, "%10s  ", shards > 1 ? "rows" : "row");
    for (int i = 0; i < shards; i++)
        fprintf(game->to, "%s%d", i > 0 ? " + " : "", state->rows[i].available);
    fprintf(game->to, " left of %d, %d sold", game->world->setup.stock, state->sold_count);
    if (shards == 1)
        fprintf(game->to, ", version %d, fence %d", state->rows[0].version, state->rows[0].fence);
    fputc('\n', game->to);
    for (int i = 0; i < shards; i++)
        if (state->rows[i].holder >= 0)
            fprintf(game->to, "%10s  a transaction of %c holds row %d\n", "",
                    'A' + state->rows[i].holder, i);
}

/* " for 500 ms": until it expires. */
static void game_say_left(const struct game *game, int64_t ends_ms, const char *otherwise) {
    if (ends_ms == 0 || ends_ms == MODEL_NEVER)
        fprintf(game->to, ", %s\n", otherwise);
    else
        fprintf(game->to, ", for %" PRId64 " ms more\n", ends_ms - game->world->state.now_ms);
}

static void game_say_locks(const struct game *game) {
    const struct model_world *world = game->world;
    char value[KV_TEXT];

    for (size_t i = 0; i < world->keys.key_count; i++) {
        const struct keys_key *key = &world->keys.keys[i];

        (void)snprintf(value, sizeof value, "%s", key->value);
        utf8_make_printable(value);
        fprintf(game->to, "%10s  \"%s\" = \"%.20s\", set by %c", "key", key->name, value,
                (char)('A' + key->owner));
        game_say_left(game, key->expires_ms, "for ever");
    }
    for (int i = 0; i < MODEL_GRANTS; i++) {
        const struct model_grant *grant = &world->state.grants[i];

        if (grant->owner == 0)
            continue;
        fprintf(game->to, "%10s  %s, held by %c", "lock",
                lock_kind_name((enum lock_kind)grant->kind), 'A' + grant->owner - 1);
        game_say_left(game, grant->ends_ms,
                      model_locks[grant->kind].end == ENDS_WITH_LEASE && grant->ends_ms == 0
                          ? "renewed while its holder runs"
                          : "until it is released");
    }
}

/* The last line that each order has. */
static void game_say_orders(const struct game *game) {
    for (int order = 0; order < game->world->setup.orders; order++) {
        const struct tell_step *last = NULL;

        for (size_t i = 0; i < game->tell->count; i++)
            if (game->tell->steps[i].actor == order)
                last = &game->tell->steps[i];
        fprintf(game->to, "%10c  %s\n", 'A' + order, last != NULL ? last->action : "has not come");
    }
}

/* ---- the menu */

/* Write the lines of the told moves as one. */
static void game_write_move(const struct tell *tell, char text[3 * TELL_ACTION]) {
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < tell->count && used < 2 * TELL_ACTION; i++) {
        const struct tell_step *step = &tell->steps[i];
        const char who[] = {(char)('A' + step->actor), ' ', '\0'};

        used += (size_t)snprintf(text + used, 3 * TELL_ACTION - used, "%s%s%s", i > 0 ? "; " : "",
                                 step->actor >= 0              ? who
                                 : step->actor == REPLAY_FAULT ? "fault: "
                                                               : "",
                                 step->action);
    }
    utf8_make_printable(text);
}

/* This ends with the steps of the whole schedule in `tell` again. */
static void game_say_moves(struct game *game) {
    struct model_move moves[MODEL_MOVES], after[MODEL_MOVES];
    const size_t count = game->count;
    char text[3 * TELL_ACTION];
    size_t after_count;

    memcpy(moves, game->next, sizeof moves);
    fputs("\nThe next move:\n", game->to);
    for (size_t i = 0; i < count && !game->has_failed; i++) {
        game->schedule.moves[game->schedule.count] = moves[i];
        game->schedule.count++;
        game->has_failed =
            tell_follow(game->tell, game->world, &game->schedule, game->schedule.count - 1, after,
                        &after_count) != REPLAY_ENDED;
        game->schedule.count--;
        game_write_move(game->tell, text);
        fprintf(game->to, "%5zu  %s\n", i + 1, text);
    }
    if (!game->has_failed)
        (void)game_look(game, &game->schedule);
}

static void game_show(struct game *game) {
    const bool is_coloured = tell_is_coloured(game->to);

    fputs(is_coloured ? "\033[H\033[J" : "\n", game->to);
    tell_heads(game->tell, game->to, is_coloured);
    for (size_t i = 0; i < game->tell->count; i++)
        tell_line(game->tell, i, game->to, is_coloured);
    fputc('\n', game->to);
    game_say_stock(game);
    game_say_locks(game);
    game_say_orders(game);
    if (game->count > 0)
        game_say_moves(game);
    else
        fprintf(game->to, "\nThis schedule holds: it has ended, and nothing is wrong.\n");
}

/* ---- a hint */

/* Explore the schedules that begin with the player's moves. */
static void game_hint(struct game *game) {
    struct exploration rest = *game->tell->explored;
    struct model_move move;

    rest.from = &game->schedule;
    if (view_explore(game->view, &rest) != 0) {
        game->has_failed = true;
        return;
    }
    if (rest.end == EXPLORE_STOPPED)
        return;
    if (rest.violated == 0 || rest.shortest.count <= game->schedule.count) {
        fprintf(game->to,
                "Nothing breaks after these moves within %d more switches: u takes the "
                "last one back.\n",
                rest.preemptions);
        return;
    }
    move = rest.shortest.moves[game->schedule.count];
    for (size_t i = 0; i < game->count; i++)
        if (game->next[i].kind == move.kind && game->next[i].who == move.who)
            fprintf(game->to, "Hint: %zu is the next move of the shortest way from here.\n", i + 1);
}

/* ---- the end */

static enum game_end game_win(struct game *game, unsigned found) {
    struct tell *tell = game->tell;
    const bool is_coloured = tell_is_coloured(game->to);
    const size_t moves = game->schedule.count;

    /* A broken world may not be an end, so the judge's words about ends are left out. */
    (void)view_tell(game->view, game->world, tell->summary);
    tell->anomalies = found;
    schedule_write(&game->schedule, tell->id);
    tell_heads(tell, game->to, is_coloured);
    for (size_t i = 0; i < tell->count; i++)
        tell_line(tell, i, game->to, is_coloured);
    tell_violation(tell, game->to);
    fprintf(game->to, "\nYou broke it in %zu move%s", moves, moves == 1 ? "" : "s");
    if (game->shortest.count > 0)
        fprintf(game->to, "; the explorer, with the fewest switches and faults, needs %zu",
                game->shortest.count);
    fprintf(game->to, ".\nAgain: %s --replay %s\n", tell->command, tell->id);
    return GAME_WON;
}

/* Keep the explorer's schedule up to the move that breaks the strategy. */
static void game_keep_shortest(struct game *game) {
    const struct schedule *whole = &game->tell->explored->shortest;

    while (!game->has_failed && game->shortest.count < whole->count) {
        game->shortest.moves[game->shortest.count] = whole->moves[game->shortest.count];
        game->shortest.count++;
        if (game_look(game, &game->shortest) != 0)
            return;
    }
}

static void game_begin(struct game *game) {
    const struct exploration *it = game->tell->explored;

    fputs("You are the scheduler. Choose the next move, again and again, until one unit is sold "
          "twice or\nanother promise breaks. A number: that move; u: take the last one back; h: a "
          "hint; q: end.\n",
          game->to);
    if (it->end == EXPLORE_COMPLETE && it->violated == 0)
        fputs("The explorer found no schedule that breaks it within this bound.\n", game->to);
    game_keep_shortest(game);
}

/* True: the line was a move, or took one back. */
static bool game_obey(struct game *game, const char *line) {
    char *end;
    const long number = strtol(line, &end, 10);

    if (line[0] == 'u' && game->schedule.count > 0) {
        game->schedule.count--;
        return true;
    }
    if (line[0] == 'h' && game->count > 0) {
        game_hint(game);
        return false;
    }
    if (end != line && number >= 1 && (size_t)number <= game->count &&
        game->schedule.count < EXPLORE_MOVES) {
        game->schedule.moves[game->schedule.count++] = game->next[number - 1];
        return true;
    }
    fprintf(game->to, "Type a number from 1 to %zu, u, h or q.\n", game->count);
    return false;
}

static enum game_end game_go_on(struct game *game, FILE *from) {
    char line[80];
    bool is_new = true;

    while (!game->has_failed) {
        if (is_new) {
            const unsigned found = game_look(game, &game->schedule);

            if (found != 0)
                return game_win(game, found);
            game_show(game);
        }
        fputs("> ", game->to);
        (void)fflush(game->to);
        if (fgets(line, sizeof line, from) == NULL)
            fputc('\n', game->to);
        if (feof(from) || line[0] == 'q')
            return GAME_LEFT;
        is_new = game_obey(game, line);
    }
    return game_is_stopped(game) ? GAME_LEFT : GAME_NO_MEMORY;
}

enum game_end game_play(struct tell *tell, struct model_world *world, struct view *view, FILE *from,
                        FILE *to) {
    struct game *game = calloc(1, sizeof *game);
    enum game_end end;

    if (game == NULL)
        return GAME_NO_MEMORY;
    game->tell = tell;
    game->world = world;
    game->view = view;
    game->to = to;
    game_begin(game);
    end = game_go_on(game, from);
    free(game);
    return end;
}
