/* Writes and reads the text of a schedule. */
#include "schedule.h"

#include <string.h>

/* By enum model_move_kind. */
static const char letters[] = {
    [MOVE_RUN] = 'A',   [MOVE_LOSE] = 'a',   [MOVE_PAUSE] = 'p',    [MOVE_RESUME] = 'r',
    [MOVE_CRASH] = 'k', [MOVE_EXPIRE] = 'x', [MOVE_FAILOVER] = 'o', [MOVE_LAND] = 'l',
    [MOVE_BRING] = 'w', [MOVE_RETURN] = 'u', [MOVE_DROP] = 'n',     [MOVE_BUY] = 'y'};

void schedule_write(const struct schedule *schedule, char text[SCHEDULE_TEXT]) {
    for (size_t i = 0; i < schedule->count; i++) {
        const struct model_move move = schedule->moves[i];

        if (move.kind == MOVE_RUN || move.kind == MOVE_LOSE) {
            *text++ = (char)(letters[move.kind] + move.who);
        } else {
            *text++ = letters[move.kind];
            *text++ = (char)('0' + move.who);
        }
    }
    *text = '\0';
}

static bool schedule_read_one(const char **text, struct model_move *move) {
    const char letter = *(*text)++;
    const char *found;

    if ((letter >= 'A' && letter <= 'A' + MODEL_ORDERS) ||
        (letter >= 'a' && letter <= 'a' + MODEL_ORDERS)) {
        move->kind = letter >= 'a' ? MOVE_LOSE : MOVE_RUN;
        move->who = (uint8_t)(letter - letters[move->kind]);
        return true;
    }
    found = memchr(letters, letter, sizeof letters);
    if (found == NULL || **text < '0' || **text > '9')
        return false;
    move->kind = (uint8_t)(found - letters);
    move->who = (uint8_t)(*(*text)++ - '0');
    return true;
}

int schedule_read(struct schedule *schedule, const char *text) {
    schedule->count = 0;
    while (*text != '\0') {
        if (schedule->count == SCHEDULE_MOVES ||
            !schedule_read_one(&text, &schedule->moves[schedule->count]))
            return -1;
        schedule->count++;
    }
    return 0;
}
