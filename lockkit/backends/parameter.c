/* The query of a URL: the text behind its `?`, in parts that `&` separates. */
#include "parameter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parameter_take(char *url, const char *name, char *value, size_t size) {
    const size_t length = strlen(name);
    char *at = strchr(url, '?'), *from, *end;

    while (at != NULL && (strncmp(at + 1, name, length) != 0 || at[1 + length] != '='))
        at = strchr(at + 1, '&');
    if (at == NULL)
        return false;
    from = at + 1 + length + 1;
    end = from + strcspn(from, "&");
    (void)snprintf(value, size, "%.*s", (int)(end - from), from);
    if (*end == '&') /* the parts behind it move up */
        memmove(at + 1, end + 1, strlen(end + 1) + 1);
    else
        *at = '\0';
    return true;
}

bool parameter_take_number(char *url, const char *name, unsigned most, unsigned *number) {
    char text[12], *end;
    unsigned long value;

    if (!parameter_take(url, name, text, sizeof text))
        return true;
    value = strtoul(text, &end, 10);
    if (text[0] < '1' || text[0] > '9' || *end != '\0' || value > most)
        return false;
    *number = (unsigned)value;
    return true;
}

bool parameter_has_others(const char *url, const char *name) {
    const size_t length = strlen(name);

    for (const char *at = strchr(url, '?'); at != NULL && *at; at = strchr(at + 1, '&'))
        if (strncmp(at + 1, name, length) != 0 || at[1 + length] != '=')
            return true;
    return false;
}
