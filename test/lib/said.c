/* Redirects stderr to an unnamed file. */
#include "said.h"

#include "test.h"

#include <unistd.h>

static FILE *file;
static int usual;

void said_start(void) {
    file = tmpfile();
    assert_non_null(file);
    usual = dup(STDERR_FILENO);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
}

int said(const char *text) {
    static char all[65536];
    ssize_t length = pread(fileno(file), all, sizeof all - 1, 0);
    int count = 0;

    assert_true(length >= 0);
    all[length] = '\0';
    for (const char *at = all; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

void said_stop(void) {
    if (file == NULL)
        return;
    (void)dup2(usual, STDERR_FILENO);
    (void)close(usual);
    (void)fclose(file);
    file = NULL;
}
