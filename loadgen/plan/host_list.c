/* Cuts the list at its commas. ssh takes a name that begins with - for an option, so none may. */
#include "host_list.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "@._-:[]%/+";

int host_list_count(const char *hosts, size_t *count, struct why *why) {
    *count = 0;
    if (hosts[0] == '\0')
        return 0;
    for (const char *at = hosts;; at++) {
        const size_t length = strcspn(at, ",");

        if (length == 0 || length >= HOST_TEXT || at[0] == '-' || strspn(at, letters) < length)
            return why_set(why,
                           "--hosts must be names for ssh with commas between them, such as "
                           "a,user@b; \"%.40s\" is none",
                           at);
        if (++*count > HOST_LIST_MAX)
            return why_set(why, "--hosts has more than %d names", HOST_LIST_MAX);
        at += length;
        if (*at == '\0')
            return 0;
    }
}

void host_list_name(const char *hosts, size_t i, char name[HOST_TEXT]) {
    size_t length;

    for (; i > 0; i--)
        hosts += strcspn(hosts, ",") + 1;
    length = strcspn(hosts, ",");
    assert(length < HOST_TEXT);
    (void)snprintf(name, HOST_TEXT, "%.*s", (int)length, hosts);
}
