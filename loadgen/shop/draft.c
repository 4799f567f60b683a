/* See draft.h. */
#include "draft.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 64

extern const char draft_text[]; /* draft.shop */

static bool is_name(const char *name) {
    const size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789_-");

    return length > 0 && length <= NAME_BYTES && name[length] == '\0' && name[0] != '-';
}

/* The text, with the shop's name in the place of NAME. Returns errno, or 0. */
static int write_text(FILE *to, const char *name) {
    static const char mark[] = "\nshop NAME\n";
    const char *at = strstr(draft_text, mark);

    assert(at != NULL);
    fprintf(to, "%.*s\nshop %s\n%s", (int)(at - draft_text), draft_text, name, at + strlen(mark));
    if (fflush(to) != 0 || ferror(to)) {
        const int error = errno;

        (void)fclose(to);
        return error;
    }
    return fclose(to) == 0 ? 0 : errno;
}

int draft_write(const char *name, struct why *why) {
    char path[NAME_BYTES + sizeof ".shop"];
    FILE *to;
    int error;

    if (!is_name(name))
        return why_set(why,
                       "the name of a shop file has 1 to %d letters, digits, _ and -; it does not "
                       "begin with -",
                       NAME_BYTES);
    (void)snprintf(path, sizeof path, "%s.shop", name);
    to = fopen(path, "wxe");
    if (to == NULL)
        return why_set(why, "%s: %s%s", path, strerror(errno),
                       errno == EEXIST ? ": it stays as it is; choose another name" : "");
    error = write_text(to, name);
    if (error == 0)
        return 0;
    (void)unlink(path);
    return why_set(why, "%s: %s", path, strerror(error));
}
