/* The texts are those of strerror(): gcc, ld and we use the same. */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int64_t machine_wall_ms = 140000;

static const struct {
    int err;
    const char *advice;
} lacks[] = {
    {EAGAIN, "end other processes of this user, or raise `ulimit -u`"},
    {ENOSPC, "set TMPDIR to a folder with room"},
    {EDQUOT, "set TMPDIR to a folder with room"},
    {ENOMEM, "end other processes, or raise `ulimit -v`"},
    {EMFILE, "raise `ulimit -n`"},
    {ENFILE, "end other processes"},
};

static const char *find_lack(const char *text, const char **advice) {
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        const char *at = strstr(text, strerror(lacks[i].err));

        *advice = lacks[i].advice;
        if (at != NULL)
            return at;
    }
    return NULL;
}

void machine_advise(char *text, size_t size) {
    const size_t length = strlen(text);
    const char *advice;

    if (find_lack(text, &advice) != NULL)
        (void)snprintf(text + length, size - length, "; %s", advice);
}

const char *machine_reason(const char *text, size_t *length) {
    const char *advice, *begin = text + strspn(text, "\n"), *at = find_lack(begin, &advice);

    while (at != NULL && at > begin && at[-1] != '\n')
        at--;
    begin = at != NULL ? at : begin;
    *length = strcspn(begin, "\n");
    return begin;
}
