/* Step by step. */
#include "tell.h"

#include <stdlib.h>

/* One step, and those before it above. */
static void steps_show(const struct tell *tell, size_t at, FILE *to, bool is_coloured) {
    if (is_coloured)
        fputs("\033[H\033[J", to);
    tell_heads(tell, to, is_coloured);
    for (size_t i = 0; i <= at; i++)
        tell_line(tell, i, to, is_coloured);
    fprintf(to, "\nstep %zu of %zu; Enter: on, b: back, q: end > ", at + 1, tell->count);
    fflush(to);
}

void tell_steps(const struct tell *tell, FILE *from, FILE *to) {
    const bool is_coloured = tell_is_coloured(to);
    char *line = NULL;
    size_t room = 0, at = 0;

    if (tell->count > 0)
        steps_show(tell, at, to, is_coloured);
    while (tell->count > 0 && getline(&line, &room, from) >= 0 && line[0] != 'q') {
        if (line[0] == 'b')
            at -= at > 0;
        else if (++at == tell->count)
            break;
        steps_show(tell, at, to, is_coloured);
    }
    free(line);
}
